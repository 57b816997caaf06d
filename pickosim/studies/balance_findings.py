"""What a balance found, in sentences: the answer first, then what holds it up and what to keep in mind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from math import sqrt
from typing import Any

import polars as pl
from scipy.stats import norm

from pickosim.rules import RuleSet
from pickosim.stats.moments import CONFIDENCE, Estimate
from pickosim.studies.sentences import BEYOND_CHANCE, is_beyond_chance, listed, plus_minus
from pickosim.studies.table_rows import Row, corrected

SHOWN_SHIFT = {
    "turns": ("a game is", "turns", 1.0, "longer", "shorter"),
    "margin": ("the winner's margin is", "worms", 1.0, "wider", "narrower"),
    "first_seat": ("the first seat's advantage is", "points", 100.0, "larger", "smaller"),
}
"""How a change of a measure is told, in which unit and scale, upwards and downwards."""


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
    """A difference of win shares with its half-width, in points, as +3.63 ± 0.15."""
    half = (row[f"{name}_high"] - row[f"{name}_low"]) / 2
    return plus_minus(100 * row[name], 100 * half, sign="+")


def level_words(row: Row) -> str:
    """A level of play and a table size."""
    return f"{row['bot']}, {row['players']} players"


def _the(specialist: str) -> str:
    return f"the {specialist.replace('-', ' ')}"


def _grouped(rows: Sequence[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _headline(worth: Sequence[Row]) -> str:
    """Who is worth most and least, over all levels and table sizes; who cannot be told from them, too."""
    means = [
        {
            "specialist": name,
            "gain": sum(row["gain"] for row in rows) / len(rows),
            "half": sqrt(sum(_half(row) ** 2 for row in rows)) / len(rows),
        }
        for name, rows in _grouped(worth, lambda row: row["specialist"]).items()
    ]
    means.sort(key=lambda row: -row["gain"])
    levels = list(dict.fromkeys(level_words(row) for row in worth))
    where = levels[0] if len(levels) == 1 else f"mean of {len(levels)} levels and table sizes"

    def number(row: Row) -> str:
        return plus_minus(100 * row["gain"], 100 * row["half"], sign="+")

    def like(end: Row) -> str:
        """That specialist, and those that are not sure to differ from it."""
        near = [row for row in means if abs(row["gain"] - end["gain"]) <= _both(row, end)]
        first = sorted(near, key=lambda row: abs(row["gain"] - end["gain"]))
        return " or ".join(f"{_the(row['specialist'])} ({number(row)})" for row in first)

    if len(means) == 1:
        return (
            f"Starting with {_the(means[0]['specialist'])} is worth {number(means[0])} points of win "
            f"share ({where})."
        )
    if abs(means[0]["gain"] - means[-1]["gain"]) <= _both(means[0], means[-1]):
        return (
            f"No specialist can be told from another by what it is worth to start with: from "
            f"{number(means[-1])} to {number(means[0])} points of win share ({where})."
        )
    return (
        f"Of {len(means)} specialists, {like(means[0])} is worth most to start with, in points of win "
        f"share, and {like(means[-1])} least ({where})."
    )


def _half(row: Row) -> float:
    """Half the interval of a gain."""
    return float(row["gain_high"] - row["gain_low"]) / 2


def _both(a: Row, b: Row) -> float:
    """Half the interval of the difference of two means that share no dice."""
    return sqrt(a["half"] ** 2 + b["half"] ** 2)


def _levels(worth: Sequence[Row]) -> Iterator[str]:
    """What is sure at each level."""
    for level, rows in _grouped(worth, level_words).items():
        sure = [row for row in rows if is_beyond_chance(row)]
        unsure = [row for row in rows if not is_beyond_chance(row)]
        said = []
        if sure:
            listing = listed([f"{_the(row['specialist'])} {points(row)}" for row in sure])
            said.append(f"beyond chance: {listing} points")
        if unsure:
            listing = listed([f"{_the(row['specialist'])} {points(row)}" for row in unsure])
            said.append(f"not told from nothing: {listing}")
        yield f"Worth to start with ({level}): {'; '.join(said)}."


def _by_level(worth: Sequence[Row]) -> Iterator[str]:
    """The specialist whose worth depends most on who plays, at the same table size, if any is sure to."""
    pairs = []
    for rows in _grouped(worth, lambda row: (row["specialist"], row["players"])).values():
        for a, b in combinations(rows, 2):
            low, high = sorted((a, b), key=lambda row: row["gain"])
            error = sqrt(_half(low) ** 2 + _half(high) ** 2) / norm.ppf(0.5 + CONFIDENCE / 2)
            apart = Estimate(high["gain"] - low["gain"], error)
            pairs.append({"apart": apart.mean, "p_value": apart.p_value, "low": low, "high": high})
    sure = [pair for pair in corrected(pairs) if is_beyond_chance(pair)]
    if sure:
        most = max(sure, key=lambda pair: pair["apart"])
        low, high = most["low"], most["high"]
        yield (
            f"It depends on who plays, beyond chance in {len(sure)} of {len(pairs)} comparisons: "
            f"{_the(high['specialist'])} is worth {points(high)} points with {level_words(high)}, and "
            f"{points(low)} with {low['bot']}."
        )


def _seen(seen: Sequence[Row], worth: Sequence[Row]) -> Iterator[str]:
    """Where what is seen misleads most: the holder's win share is furthest above even, beyond the worth."""
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
    half = (row["win_share_held_high"] - row["win_share_held_low"]) / 2
    if apart > half + (own["gain_high"] - own["gain_low"]) / 2:
        share = plus_minus(100 * row["win_share_held"], 100 * half)
        yield (
            f"Seen is not worth: whoever ends with {_the(row['specialist'])} ({level_words(row)}) wins "
            f"{share} % of games, and to start with it is worth {points(own)} points."
        )


def _absence(rows: Sequence[Row]) -> Iterator[str]:
    """The largest change that is beyond chance, measure by measure."""
    for measure, found in _grouped(rows, lambda row: row["measure"]).items():
        words, unit, scale, more, less = SHOWN_SHIFT[measure]
        sure = [row for row in found if is_beyond_chance(row)]
        if not sure:
            continue
        row = max(sure, key=lambda row: abs(row["difference"]))
        half = scale * (row["difference_high"] - row["difference_low"]) / 2
        number = plus_minus(scale * abs(row["difference"]), half)
        direction = more if row["difference"] > 0 else less
        yield (
            f"Missed most: without {_the(row['specialist'])} ({level_words(row)}), {words} {number} "
            f"{unit} {direction} ({_value(scale * row['value'])} as given)."
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
                    f"By {option}, starting with {_the(specialist)} ({level}) is worth from "
                    f"{points(low)} ({option}={low['setting']}) to {points(high)} points "
                    f"({option}={high['setting']})."
                )
            else:
                yield (
                    f"By {option}, what starting with {_the(specialist)} is worth ({level}) differs "
                    "nowhere beyond chance from that with the value as given: "
                    f"{points(low)} to {points(high)} points."
                )
    tiles = [row for row in rows if row["gain_of"] != "starter" and row["take_up"] is not None]
    for level, found in _grouped(tiles, level_words).items():
        row = min(found, key=lambda row: row["take_up"])
        yield (
            f"By starting tile, take-up ({level}) is lowest for {_the(row['specialist'])} on "
            f"{row['setting']}: somebody takes it in {100 * row['take_up']:.1f} % of games."
        )


def _suggestion(rows: Sequence[Row]) -> Iterator[str]:
    """The best setting, how sure that is, and what fewer changes would do."""
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
        f"What it costs: there, a specialist brings its first taker {100 * best['mean_gain']:+.2f} points a "
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
        "association: who does well gets more specialists. Absence is causal, about the game and "
        "not about a player."
    )
    yield (
        "Win share is what is gained on rivals. Worms are the starter's own: a specialist can bring rivals "
        "as many, once it is theirs, and then they win nobody a game."
    )
    if "raven" in specialists:
        yield (
            "Nobody ever owns the raven: to start with it is to have had its visit, a bratworm from the "
            "supply, and the raven goes on to the lowest free tile."
        )
    missing = [name for name in specialists if name not in rules.specialists]
    if missing:
        yield (
            f"Not in the rules {rules.name}, and therefore only weighed, neither seen nor missed: "
            f"{listed([_the(name) for name in missing])}."
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
            "The suggestion compares what specialists bring to whoever takes them first, a game; their "
            "spread is the standard deviation between specialists, what chance adds to it taken off. "
            "Options were moved one at a time, and the best combinations guessed from that. The "
            "finalists were ranked by some games and measured by others, so that luck in being chosen does "
            "not count; rank 1 need not show the smallest spread then."
        )
    yield (
        f"* beyond chance: p below {BEYOND_CHANCE:g} after correction for all comparisons of its table "
        "(Benjamini and Yekutieli). Intervals are of 95 %, each for itself."
    )
