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


def findings(tables: Mapping[str, pl.DataFrame]) -> tuple[str, list[str]]:
    """The answer in a sentence, and more sentences."""
    worth = tables["worth"].to_dicts()
    sentences = [
        *_levels(worth),
        *_by_level(worth),
        *_seen(tables["seen"].to_dicts(), worth),
        *_absence(tables["absence"].to_dicts()),
        *(_sensitivity(tables["sensitivity"]) if "sensitivity" in tables else []),
        *(_suggestion(tables["suggestion"].to_dicts()) if "suggestion" in tables else []),
    ]
    return _headline(worth), sentences


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


def _headline(worth: Sequence[Row]) -> str:
    """Which specialists are worth most and least, over all levels and numbers of players."""
    means = [
        {
            "specialist": name,
            "gain": sum(row["gain"] for row in rows) / len(rows),
            "half": sqrt(sum(half_width(row, "gain") ** 2 for row in rows)) / len(rows),
        }
        for name, rows in _grouped(worth, lambda row: row["specialist"]).items()
    ]
    means.sort(key=lambda row: -row["gain"])
    levels = list(dict.fromkeys(level_words(row) for row in worth))
    where = (
        levels[0] if len(levels) == 1 else f"mean of {len(levels)} levels and numbers of players"
    )

    def number(row: Row) -> str:
        return plus_minus(100 * row["gain"], 100 * row["half"], sign="+")

    def like(end: Row, other: Row) -> str:
        """That specialist, and those not distinguishable from it but from the other end."""
        near = [
            row
            for row in means
            if row is end
            or (
                _distance(row, end) <= _both(row, end) and _distance(row, other) > _both(row, other)
            )
        ]
        first = sorted(near, key=lambda row: _distance(row, end))
        return " or ".join(f"{the(row['specialist'])} ({number(row)})" for row in first)

    if len(means) == 1:
        return (
            f"Starting with {the(means[0]['specialist'])} is worth {number(means[0])} points of win "
            f"share ({where})."
        )
    if _distance(means[0], means[-1]) <= _both(means[0], means[-1]):
        return (
            f"No specialist is distinguishable from another by what starting with it is worth: "
            f"{number(means[-1])} to {number(means[0])} points of win share ({where})."
        )
    return (
        f"Of {len(means)} specialists, starting with {like(means[0], means[-1])} is worth most, in points of win share, "
        f"and with {like(means[-1], means[0])} least ({where})."
    )


def _distance(a: Row, b: Row) -> float:
    return abs(float(a["gain"] - b["gain"]))


def _both(a: Row, b: Row) -> float:
    """Half the interval of the difference of two means that share no dice."""
    return sqrt(a["half"] ** 2 + b["half"] ** 2)


def _levels(worth: Sequence[Row]) -> Iterator[str]:
    """What is beyond chance at each level."""
    for level, rows in _grouped(worth, level_words).items():
        clear = [row for row in rows if is_beyond_chance(row)]
        unclear = [row for row in rows if not is_beyond_chance(row)]
        said = []
        if clear:
            listing = listed([f"{the(row['specialist'])} {points(row)}" for row in clear])
            said.append(f"beyond chance: {listing} points")
        if unclear:
            listing = listed([f"{the(row['specialist'])} {points(row)}" for row in unclear])
            said.append(f"not distinguishable from zero: {listing}")
        yield f"Worth of starting with it ({level}): {'; '.join(said)}."


def _by_level(worth: Sequence[Row]) -> Iterator[str]:
    """The specialist whose worth depends most on who plays, with the same number of players, if any does."""
    pairs = []
    for rows in _grouped(worth, lambda row: (row["specialist"], row["players"])).values():
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
            f"The worth depends on who plays, beyond chance in {len(clear)} of {len(pairs)} comparisons: starting "
            f"with {the(high['specialist'])} is worth {points(high)} points with {level_words(high)}, and "
            f"{points(low)} with {quoted(low['bot'])}."
        )


def _seen(seen: Sequence[Row], worth: Sequence[Row]) -> Iterator[str]:
    """Where the association misleads most: the holder's win share is furthest above even, beyond the worth."""
    gains = {(level_words(row), row["specialist"]): row for row in worth}
    found = []
    for row in seen:
        own = gains.get((level_words(row), row["specialist"]))
        if own is not None and row["win_share_held"] is not None:
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
            f"is an association, not its effect: starting with it is worth {points(own)} points."
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
    """The numbers: worth to a starter at both ends. The tiles: where the take-up is lowest."""
    rows = sensitivity.to_dicts()
    numbers = [row for row in rows if row["gain_of"] == "starter"]
    for (specialist, option), found in _grouped(
        numbers, lambda row: (row["specialist"], row["option"])
    ).items():
        for level, ends in _grouped(found, level_words).items():
            low, high = (end(ends, key=lambda row: row["gain"]) for end in (min, max))
            if any(map(is_beyond_chance, ends)):
                yield (
                    f"By {option}, starting with {the(specialist)} ({level}) is worth from "
                    f"{points(low)} ({option}={low['setting']}) to {points(high)} points "
                    f"({option}={high['setting']})."
                )
            else:
                yield (
                    f"By {option}, what starting with {the(specialist)} is worth ({level}) differs "
                    "nowhere beyond chance from that with the value as given: "
                    f"{points(low)} to {points(high)} points."
                )
    tiles = [row for row in rows if row["gain_of"] != "starter" and row["take_up"] is not None]
    for level, found in _grouped(tiles, level_words).items():
        row = min(found, key=lambda row: row["take_up"])
        yield (
            f"By starting tile, take-up ({level}) is lowest for {the(row['specialist'])} on "
            f"{row['setting']}: somebody takes it in {100 * row['take_up']:.1f} % of games."
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
        f"What specialists bring their first takers is closest together with {best['setting']}: spread "
        f"{_spread(best)} points against {spread} as given. The difference, paired by dice, is "
        f"{100 * best['difference']:+.2f} ({100 * best['difference_low']:+.2f} to "
        f"{100 * best['difference_high']:+.2f}): {'beyond' if surely else 'not beyond'} chance. The "
        f"chance that it is the best of {len(rows)} finalists: {_percent(best['chance_best'])}."
    )
    yield (
        f"What it costs: there, a specialist brings its first taker {100 * best['mean_gain']:+.2f} points per "
        f"game ({100 * given['mean_gain']:+.2f} as given), and one is taken at all in "
        f"{100 * best['take_up']:.0f} % of games ({100 * given['take_up']:.0f} % as given); means over "
        "specialists."
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
    specialists: Sequence[str], rules: RuleSet, sensitivity: bool, suggest: bool
) -> Iterator[str]:
    """How the figures are meant."""
    yield (
        "Worth is causal: the same dice with and without, and nothing else changed. Seen is an "
        "association: players who do well get more specialists. Absence is causal, about the game and "
        "not about a player."
    )
    yield (
        "The gain in win share is relative to rivals. The gain in score is the starter's own: a specialist can "
        "bring rivals as much once it is theirs, and then it does not change who wins."
    )
    if "raven" in specialists:
        yield (
            "Nobody ever owns the raven: to start with it is to have had its visit, a bratworm from the "
            "supply, and the raven goes on to the lowest free tile."
        )
    missing = [name for name in specialists if name not in rules.specialists]
    if missing:
        yield (
            f"Not in the rules {rules.name}, so only their worth is measured: "
            f"{listed([the(name) for name in missing])}."
        )
    if sensitivity or suggest:
        yield (
            "What a specialist is worth to a starter does not depend on the tile where it would have "
            "stood. By starting tile, the gain is therefore that of whoever takes it first, against the "
            "same seat and dice without it. That is not quite causal: who comes to take it can depend on "
            "its being there, above all with bots that play for specialists, and with many specialists "
            "that take each other's places. A specialist that stood on that tile changes places with it."
        )
    if sensitivity:
        yield "By number, the gain is that of a starter, and its difference to the rules as given is paired."
    if suggest:
        yield (
            "The suggestion compares what specialists bring per game to whoever takes them first; their "
            "spread is the standard deviation between specialists, with the part that chance adds removed. "
            "Options were moved one at a time, and the best combinations guessed from that. The "
            "finalists were ranked by some games and measured by others, so that luck in being chosen does "
            "not count; rank 1 need not show the smallest spread then."
        )
    yield (
        f"* beyond chance: p below {BEYOND_CHANCE:g} after correction for all comparisons of its table "
        "(Holm). Intervals are of 95 %, each for itself."
    )
