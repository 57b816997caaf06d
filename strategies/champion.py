"""Plays to win, by what it has learned from games against itself."""

from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

from pickosim.bots.loading import load_bot
from pickosim.bots.view import After, FloatArray
from pickosim.learning.weights import Weights, chances_after, read_weights
from pickosim.rule_files import as_arguments
from pickosim.rules import RuleSet
from pickosim.solver.valuation import Valuation

WEIGHTS = Path(__file__).parent / "weights"
"""One file per rule set and number of players, written by `pickosim train`."""


class Champion(Valuation):
    """Maximises its chance to win the game, learned by self-play, with perfect dice play.

    A small net says the chance to win of any position. Its weights are for certain rules and numbers of players;
    `weights` is a file for others, see `pickosim train`. Without weights it does not play, or plays like `winner` if
    that is named as `fallback`.

    Origin: pickosim, see docs/champion.md.
    """

    weights: Path | None = None
    fallback: Literal["none", "winner"] = "none"

    data_files: ClassVar = tuple(
        f"{WEIGHTS.name}/{path.name}" for path in sorted(WEIGHTS.glob("*.npz"))
    )
    values_are_win_chances: ClassVar = True

    def __post_init__(self) -> None:
        if self.weights is not None:
            read_weights(self.weights)

    def value(self, after: After) -> FloatArray:
        weights = self.weights_for(after.rules, after.players)
        if weights is None:
            instead = load_bot(self.fallback)
            assert isinstance(instead, Valuation)
            return instead.value(after)
        return chances_after(after, weights.net)

    def objection(self, rules: RuleSet, players: int) -> str:
        if self.weights_for(rules, players) is not None or self.fallback == "winner":
            return ""
        if self.weights is not None:
            return f"{read_weights(self.weights).objection(rules, players)} ({self.weights})."
        given = " ".join(as_arguments(rules))
        near = [
            weights.objection(rules, players)
            for weights in map(read_weights, self._files())
            if (weights.rules.name, weights.players) == (rules.name, players)
        ]
        missing = f"it has no weights for the rules {rules.name} with {players} players"
        return (
            f"{near[0] if near else missing}. To train weights for that: "
            f"pickosim train {given} --players {players} --out my_champion.npz; then play "
            "champion:weights=my_champion.npz. Or let it play like winner: champion:fallback=winner."
        )

    def weights_for(self, rules: RuleSet, players: int) -> Weights | None:
        """The weights for a game, or None."""
        return _fitting(self._files(), rules, players)

    def _files(self) -> tuple[Path, ...]:
        """The files to look for weights in."""
        if self.weights is not None:
            return (self.weights,)
        return tuple(map(WEIGHTS.parent.joinpath, self.data_files))


@lru_cache(maxsize=256)
def _fitting(files: tuple[Path, ...], rules: RuleSet, players: int) -> Weights | None:
    for file in files:
        weights = read_weights(file)
        if not weights.objection(rules, players):
            return weights
    return None
