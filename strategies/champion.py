"""Plays to win, by what it has learned from games against itself."""

from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from pickosim.learning.weights import PlaysByNet, Weights, nearest, read_weights
from pickosim.rule_files import as_arguments
from pickosim.rules import RuleSet

WEIGHTS = Path(__file__).parent / "weights"
"""One file per rule set and number of players, written by `pickosim train`."""

BETTER: dict[str, tuple[int, ...]] = {
    "--rules classic": (6, 7),
    "--rules classic --set dice=7": (2,),
    "--rules classic --set dice=9": (2,),
    "--rules extrawurm": (6,),
    "--rules extrawurm --set apple_worms=1": (2,),
    "--rules extrawurm --set apple_worms=2": (2,),
    "--rules extrawurm --set apple_worms=4": (2,),
    "--rules extrawurm --set claim=exact": (2,),
    "--rules extrawurm --set steal=never": (2,),
    "--rules extrawurm-box": (2, 4),
    "--rules french": (3, 4, 6),
    "--rules manual": (2, 3),
    "--rules manual-extrawurm": (2, 4),
    "--rules short": (2, 3),
}
"""Rules, as arguments, and players that the nets were not trained for, where the champion was measured to win more than
`winner` against `expected`; the figures are in docs/champion.md.
"""

NO_BETTER: dict[str, tuple[int, ...]] = {
    "--rules extrawurm --set apple_worms=5": (2,),
    "--rules extrawurm --set apple_worms=6": (2,),
    "--rules french": (2,),
}
"""The same, where it was not."""


class Champion(PlaysByNet):
    """Maximises its chance to win the game, learned by self-play, with perfect dice play.

    A small net says the chance to win of any position. The nets were trained for certain rules and numbers of players;
    with others the nearest plays: with or without the expansion, and of as many players, or of five where there are
    more. `weights` is a file with a net of your own, see `pickosim train`.

    Origin: pickosim, see docs/champion.md.
    """

    weights: Path | None = None

    data_files: ClassVar = tuple(
        f"{WEIGHTS.name}/{path.name}" for path in sorted(WEIGHTS.glob("*.npz"))
    )

    def __post_init__(self) -> None:
        if self.weights is not None:
            read_weights(self.weights)

    def objection(self, rules: RuleSet, players: int) -> str:
        if self.weights is None:
            return ""
        objection = read_weights(self.weights).objection(players)
        return objection and f"{objection} ({self.weights})."

    def note(self, rules: RuleSet, players: int) -> str:
        net = self.weights_for(rules, players).described(rules, players)
        if not net:
            return ""
        arguments = " ".join(as_arguments(rules))
        measured = self.weights is None
        if measured and players in BETTER.get(arguments, ()):
            return f"by {net}"
        if measured and players in NO_BETTER.get(arguments, ()):
            train = f"pickosim train {arguments} --players {players} --out my_champion.npz"
            return f"by {net}, which is no better than `winner` here; to train one for these rules: {train}"
        return f"by {net}, which was not measured for these rules"

    def weights_for(self, rules: RuleSet, players: int) -> Weights:
        """The weights for a game: those that are nearest."""
        if self.weights is not None:
            return read_weights(self.weights)
        files = tuple(map(WEIGHTS.parent.joinpath, self.data_files))
        return _nearest(files, rules, players)


@lru_cache(maxsize=256)
def _nearest(files: tuple[Path, ...], rules: RuleSet, players: int) -> Weights:
    weights = nearest(map(read_weights, files), rules, players)
    assert weights is not None
    return weights
