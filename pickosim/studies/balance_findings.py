"""What a balance found, in sentences: the answer first, then what holds it up and what to keep in mind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from math import sqrt
from typing import Any

import polars as pl

from pickosim.columns import Row
from pickosim.rules import RuleSet
from pickosim.stats.distributions import normal_quantile
from pickosim.stats.moments import CONFIDENCE, Estimate
from pickosim.studies.balance_results import BALANCED, TOO_STRONG, TOO_WEAK, UNDECIDED
from pickosim.studies.measures import MEASURES, with_adjusted
from pickosim.studies.sentences import (
    BEYOND_CHANCE,
    half_width,
    is_beyond_chance,
    listed,
    plus_minus,
    quoted,
    sentence,
    the,
)


def findings(
    tables: Mapping[str, pl.DataFrame], strongest: str, band: float
) -> tuple[str, list[str]]:
    """The answer in a sentence, and more sentences; the verdict is that of the strongest level of play."""
    pickups, head_start, seen, absence = (
        tables[name].to_dicts() if name in tables else []
        for name in ("pickups", "head_start", "seen", "absence")
    )
    sentences = [
        *_verdicts(pickups, strongest),
        *_by_level(pickups),
        *_phases(tables["pickups_by"].to_dicts(), strongest),
        *_head_start(head_start),
        *_seen(seen, pickups),
        *_absence(absence),
        *(_sensitivity(tables["sensitivity"]) if "sensitivity" in tables else []),
        *(_suggestion(tables["suggestion"].to_dicts()) if "suggestion" in tables else []),
    ]
    asked = [row for row in pickups if row["gain"] is not None]
    return _headline(asked, strongest, band) if asked else _only_head_start(head_start), sentences


def points(row: Row, name: str = "gain") -> str:
    """A difference of win shares with half its interval, in points, e.g. +3.63 ± 0.15."""
    return plus_minus(100 * row[name], 100 * half_width(row, name), sign="+")


def level_words(row: Row) -> str:
    """A level of play and a number of players."""
    return f"{quoted(row['bot'])}, {row['players']} players"


def _grouped(rows: Sequence[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


# ------------------------------------------------------------------------------------------ verdicts


def _headline(pickups: Sequence[Row], strongest: str, band: float) -> str:
    """Which specialists are too strong, too weak or balanced, at the strongest level of play."""
    rows = asked_level(pickups, strongest)
    where = level_words(rows[0])
    if len(rows) == 1:
        return f"A pick-up of {the(rows[0]['specialist'])} is worth {points(rows[0])} points of win share ({where})."
    mean = sum(row["gain"] for row in rows) / len(rows)
    by_verdict = _grouped(rows, lambda row: row["verdict"])
    said = []
    for verdict in (TOO_STRONG, TOO_WEAK, BALANCED, UNDECIDED):
        if verdict in by_verdict:
            found = by_verdict[verdict]
            names = listed([_with_worth(row) for row in found])
            said.append(sentence(f"{verdict}: {names}"))
    if len(by_verdict) == 1 and BALANCED in by_verdict:
        names = listed([_with_worth(row) for row in rows])
        said = [f"No specialist is too strong or too weak: {names}."]
    return (
        f"{' '.join(said)} Points of win share per pick-up ({where}); the mean of all is {100 * mean:+.2f}, and "
        f"within ± {100 * band:g} of it is balanced."
    )


def _with_worth(row: Row) -> str:
    """A specialist with what a pick-up is worth."""
    return f"{the(row['specialist'])} ({points(row)})"


def asked_level(rows: Sequence[Row], strongest: str) -> list[Row]:
    """The rows of the strongest level of play, with four players or else the first number of them."""
    own = [row for row in rows if row["bot"] == strongest]
    sizes = [row["players"] for row in own]
    size = 4 if 4 in sizes else sizes[0]
    return [row for row in own if row["players"] == size]


def _verdicts(pickups: Sequence[Row], strongest: str) -> Iterator[str]:
    """How many more games would tell; where levels and numbers of players disagree; what is handed out."""
    rows = [row for row in pickups if row["verdict"] is not None]
    if not rows:
        return
    first = asked_level(rows, strongest)
    undecided = [row for row in first if row["verdict"] == UNDECIDED]
    if undecided:
        listing = listed([f"{the(row['specialist'])} {_more(row)}" for row in undecided])
        yield f"Undecided ({level_words(first[0])}), more games that would tell: {listing}."
    others = [row for row in rows if row not in first]
    for row in first:
        known = row["verdict"]
        against = [
            other
            for other in others
            if other["specialist"] == row["specialist"]
            and UNDECIDED not in (known, other["verdict"])
            and other["verdict"] != known
        ]
        if against:
            listing = listed([f"{other['verdict']} with {level_words(other)}" for other in against])
            yield (
                f"Levels disagree about {the(row['specialist'])}: {known} with {level_words(row)}, {listing}."
            )
    most = max(first, key=lambda row: row["handed_out"])
    number = plus_minus(100 * most["handed_out"], 100 * half_width(most, "handed_out"), sign="+")
    yield (
        f"Over a whole game ({level_words(most)}), {the(most['specialist'])} hands out most: {number} points, by "
        f"{most['pick_ups']:.2f} pick-ups."
    )


def _more(row: Row) -> str:
    """How many more games would tell."""
    more = row["more_games"]
    return "beyond reach, as it is at the edge of the band" if more is None else f"about {more:,}"


def _phases(rows: Sequence[Row], strongest: str) -> Iterator[str]:
    """The phase in which a pick-up is worth most, if that is surely more than in another."""
    own = [row for row in rows if row["by"] == "phase" and row["bot"] == strongest]
    if not own:
        return
    groups = _grouped(asked_level(own, strongest), lambda row: row["specialist"])
    found = []
    for phases in groups.values():
        low, high = (end(phases, key=lambda row: row["gain"]) for end in (min, max))
        if high["gain_low"] > low["gain_high"]:
            found.append((high["gain_low"] - low["gain_high"], low, high))
    if found:
        _, low, high = max(found, key=lambda one: one[0])
        yield (
            f"By phase, {the(high['specialist'])} differs most ({level_words(high)}): {points(high)} points per "
            f"pick-up with {high['group']}, and {points(low)} with {low['group']}."
        )


# --------------------------------------------------------------------------------------- other views


def _only_head_start(rows: Sequence[Row]) -> str:
    """The answer if no specialist is in the rules, so that nobody can gain any."""
    names = listed([f"{the(row['specialist'])} {points(row)} ({level_words(row)})" for row in rows])
    return f"No specialist is in the rules, so only a head start can be weighed, in points of win share: {names}."


def _head_start(rows: Sequence[Row]) -> Iterator[str]:
    """What starting with a specialist gains at each level."""
    for level, found in _grouped(rows, level_words).items():
        clear = [row for row in found if is_beyond_chance(row)]
        unclear = [row for row in found if not is_beyond_chance(row)]
        said = []
        if clear:
            listing = listed([f"{the(row['specialist'])} {points(row)}" for row in clear])
            said.append(f"beyond chance: {listing} points")
        if unclear:
            listing = listed([f"{the(row['specialist'])} {points(row)}" for row in unclear])
            said.append(f"not distinguishable from zero: {listing}")
        yield f"Head start, a seat begins the game with it ({level}): {'; '.join(said)}."


def _by_level(pickups: Sequence[Row]) -> Iterator[str]:
    """The specialist whose worth depends most on who plays, with the same number of players, if any does."""
    pairs = []
    known = [row for row in pickups if row["gain"] is not None]
    for rows in _grouped(known, lambda row: (row["specialist"], row["players"])).values():
        for a, b in combinations(rows, 2):
            low, high = sorted((a, b), key=lambda row: row["gain"])
            halves = half_width(low, "gain"), half_width(high, "gain")
            error = sqrt(halves[0] ** 2 + halves[1] ** 2) / normal_quantile(0.5 + CONFIDENCE / 2)
            apart = Estimate(high["gain"] - low["gain"], error)
            pairs.append({"apart": apart.mean, "p_value": apart.p_value, "low": low, "high": high})
    clear = [pair for pair in with_adjusted(pairs) if is_beyond_chance(pair)]
    if clear:
        most = max(clear, key=lambda pair: pair["apart"])
        low, high = most["low"], most["high"]
        yield (
            f"The worth depends on who plays, beyond chance in {len(clear)} of {len(pairs)} comparisons: a "
            f"pick-up of {the(high['specialist'])} is worth {points(high)} points with {level_words(high)}, and "
            f"{points(low)} with {quoted(low['bot'])}."
        )


def _seen(seen: Sequence[Row], pickups: Sequence[Row]) -> Iterator[str]:
    """Where the association misleads most: the holder's win share is furthest above even, beyond the worth."""
    gains = {(level_words(row), row["specialist"]): row for row in pickups}
    found = []
    for row in seen:
        own = gains.get((level_words(row), row["specialist"]))
        if own is not None and None not in (own["gain"], row["win_share_held"]):
            above = row["win_share_held"] - 1 / row["players"]
            found.append((above - own["gain"], row, own))
    if not found:
        return
    apart, row, own = max(found, key=lambda one: one[0])
    half = half_width(row, "win_share_held")
    if apart > half + half_width(own, "gain"):
        share = plus_minus(100 * row["win_share_held"], 100 * half)
        yield (
            f"Holders of {the(row['specialist'])} at the end ({level_words(row)}) win {share} % of games; that "
            f"is an association, not its effect: a pick-up is worth {points(own)} points."
        )


def _absence(rows: Sequence[Row]) -> Iterator[str]:
    """The largest change that is beyond chance, per measure."""
    for measure, found in _grouped(rows, lambda row: row["measure"]).items():
        known = MEASURES[measure]
        assert known.wording is not None
        clear = [row for row in found if is_beyond_chance(row)]
        if not clear:
            continue
        row = max(clear, key=lambda row: abs(row["difference"]))
        scale = known.scale
        number = plus_minus(scale * abs(row["difference"]), scale * half_width(row, "difference"))
        template = known.wording.more if row["difference"] > 0 else known.wording.less
        yield sentence(
            f"the largest change of {known.wording.noun}: without {the(row['specialist'])} "
            f"({level_words(row)}), {template.format(n=number)} ({_value(scale * row['value'])} as given)"
        )


def _value(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _sensitivity(sensitivity: pl.DataFrame) -> Iterator[str]:
    """What a pick-up is worth at both ends of each number; of all tiles, where it is worth most and least."""
    rows = [row for row in sensitivity.to_dicts() if row["gain"] is not None]
    numbers = [row for row in rows if "." not in row["option"]]
    for (specialist, option), found in _grouped(
        numbers, lambda row: (row["specialist"], row["option"])
    ).items():
        for level, ends in _grouped(found, level_words).items():
            low, high = (end(ends, key=lambda row: row["gain"]) for end in (min, max))
            if any(map(is_beyond_chance, ends)):
                yield (
                    f"By {option}, a pick-up of {the(specialist)} ({level}) is worth from "
                    f"{points(low)} ({option}={low['setting']}) to {points(high)} points "
                    f"({option}={high['setting']})."
                )
            else:
                yield (
                    f"By {option}, what a pick-up of {the(specialist)} is worth ({level}) differs "
                    "nowhere beyond chance from that with the value as given: "
                    f"{points(low)} to {points(high)} points."
                )
    tiles = [row for row in rows if "." in row["option"]]
    for level, found in _grouped(tiles, level_words).items():
        row = min(found, key=lambda row: row["pick_ups"])
        clear = [row for row in found if is_beyond_chance(row)]
        others = sum(not row["as_given"] for row in found)
        told = f"differs beyond chance from that as given in {len(clear)} of {others} cases"
        if clear:
            most = max(clear, key=lambda row: abs(row["difference"]))
            told += (
                f", most for {the(most['specialist'])} on {most['setting']} ({points(most)} points)"
            )
        yield (
            f"By starting tile, what a pick-up is worth ({level}) {told}; pick-ups are fewest for "
            f"{the(row['specialist'])} on {row['setting']}: {row['pick_ups']:.2f} per game."
        )


def _suggestion(rows: Sequence[Row]) -> Iterator[str]:
    """The best setting, how certain that is, and what fewer changes would do."""
    given = next(row for row in rows if row["changes"] == 0)
    best = rows[0]
    spread = f"{_spread(given)} points"
    if best is given:
        yield (
            f"No setting that was played in full brings the specialists closer together than the rules "
            f"as given do (spread {spread}; chance that they are the best of {len(rows)} finalists: "
            f"{_percent(given['chance_best'])})."
        )
        return
    surely = best["difference_high"] < 0
    yield (
        f"Pick-ups are worth most nearly the same with {best['setting']}: spread "
        f"{_spread(best)} points against {spread} as given. The difference, paired by dice, is "
        f"{100 * best['difference']:+.2f} ({100 * best['difference_low']:+.2f} to "
        f"{100 * best['difference_high']:+.2f}): {'beyond' if surely else 'not beyond'} chance. The "
        f"chance that it is the best of {len(rows)} finalists: {_percent(best['chance_best'])}."
    )
    yield (
        f"What it costs: there, a pick-up is worth {100 * best['mean_gain']:+.2f} points "
        f"({100 * given['mean_gain']:+.2f} as given), and there are {best['pick_ups']:.2f} per game and specialist "
        f"({given['pick_ups']:.2f} as given); means over specialists."
    )
    fewer = [row for row in rows if 0 < row["changes"] < best["changes"]]
    for changes, found in sorted(_grouped(fewer, lambda row: row["changes"]).items()):
        row = min(found, key=lambda row: row["spread"])
        yield (
            f"With {changes} {'change' if changes == 1 else 'changes'} only: {row['setting']}, spread "
            f"{_spread(row)} points."
        )


def _spread(row: Row) -> str:
    """A spread with its interval, in points."""
    ends = f"{100 * row['spread_low']:.2f} to {100 * row['spread_high']:.2f}"
    return f"{100 * row['spread']:.2f} ({ends})"


def _percent(chance: float) -> str:
    return (
        "under 1 %" if chance < 0.01 else "over 99 %" if chance > 0.99 else f"{100 * chance:.0f} %"
    )


def remarks_of(
    specialists: Sequence[str], rules: RuleSet, control: str, sensitivity: bool, suggest: bool
) -> Iterator[str]:
    """How the figures are meant."""
    instead = (
        "with the specialist gone" if control == "gone" else "with the specialist back on the grill"
    )
    yield (
        f"A pick-up is weighed by playing the game on twice from that moment: as it is, and {instead}, the former "
        "one kept. Everything before is the same, and so are the dice to come: the difference is what the pick-up "
        "causes. A head start is causal too, but about the beginning of a game; absence is about the game and not "
        "about a player; seen is an association, as players who do well get more specialists."
    )
    yield (
        "Gains in win share are relative to rivals. The gain in score is the player's own: a specialist can "
        "bring rivals as much once it is theirs, and then it does not change who wins."
    )
    if "raven" in specialists:
        yield (
            "Nobody ever owns the raven: a pick-up is its pay, and without it the bratworm stays where it was. To start "
            "with it is to have had its visit, a bratworm from the supply."
        )
    missing = [name for name in specialists if name not in rules.specialists]
    if missing:
        yield (
            f"Not in the rules {rules.name}, so only a head start is measured: "
            f"{listed([the(name) for name in missing])}."
        )
    if sensitivity:
        yield (
            "By starting tile and number, other games are played by the changed rules and branched at every pick-up; a "
            "specialist that stood on that tile changes places with it."
        )
    if suggest:
        yield (
            "The spread of a setting is the standard deviation between specialists of what a pick-up is worth, with "
            "the part that chance adds removed. Options were moved one at a time, and the best combinations guessed "
            "from that. The finalists were ranked by some games and measured by others, so that luck in being chosen "
            "does not count; rank 1 need not show the smallest spread then."
        )
    yield (
        "Verdicts are corrected for the number of specialists: all intervals from the mean of a level hold together "
        f"with 95 %. * beyond chance: p below {BEYOND_CHANCE:g} after correction for all comparisons of its table "
        "(Holm). Other intervals are of 95 %, each for itself."
    )
