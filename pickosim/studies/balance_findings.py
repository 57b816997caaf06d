"""How a balance is shown: what was found, in sentences, the answer first; and the views of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import hypot
from typing import Any

import polars as pl

from pickosim.amounts import amount_text, listed, quoted, sentence
from pickosim.columns import Row
from pickosim.runs.run import Results
from pickosim.stats.distributions import normal_quantile
from pickosim.stats.intervals import CONFIDENCE, Estimate, simultaneous
from pickosim.studies.ladder import strength, strongest
from pickosim.studies.measures import (
    SIGNIFICANCE,
    half_width,
    is_significant,
    value_text,
    with_adjusted,
)
from pickosim.studies.pickup_worths import (
    BALANCED,
    FRAMES,
    GROUPS,
    LEVEL,
    POWER,
    TOO_STRONG,
    TOO_WEAK,
    UNDECIDED,
    rounded_up,
)
from pickosim.studies.views import Crossed, Dots, Drawn, Lines, Rows, View, distinct

EVERYBODY = {2: "both", 3: "all three", 4: "all four", 5: "all five", 6: "all six", 7: "all seven"}
"""All players of a game."""

NO_PICKUP = "Nobody gained any of these specialists in these games."


def findings(
    tables: Mapping[str, pl.DataFrame], strongest: str, band: float
) -> tuple[str, list[str]]:
    """The answer in a sentence, and more sentences; the verdict is that of the strongest level of play."""
    pickups = tables["pickups"].to_dicts()
    sentences = [
        *_verdicts(pickups, strongest),
        *_by_level(pickups),
        *_phases(tables["pickups_by"].to_dicts(), strongest),
        *_holders(pickups),
        *(_sensitivity(tables["sensitivity"]) if "sensitivity" in tables else []),
    ]
    gained = [row for row in pickups if row["gain"] is not None]
    return _headline(gained, strongest, band) if gained else NO_PICKUP, sentences


def the(specialist: str) -> str:
    """A specialist in a sentence."""
    return f"the {specialist.replace('-', ' ')}"


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
    """Who plays, which specialists are too strong, too weak or balanced then, and what was judged."""
    rows = asked_level(pickups, strongest)
    who = _who_plays(rows[0])
    judged = [row for row in rows if row["verdict"] is not None]
    if not judged:
        (row, *_) = rows
        return f"A pick-up of {the(row['specialist'])} is worth {value_text(row, 'gain')} points of win share when {who}."
    by_verdict = _grouped(judged, lambda row: row["verdict"])
    verdicts = [
        f"{listed([_with_difference(row) for row in own])} {'is' if len(own) == 1 else 'are'} {verdict}"
        for verdict in (TOO_STRONG, TOO_WEAK, BALANCED, UNDECIDED)
        if (own := by_verdict.get(verdict))
    ]
    centres = {round(row["gain"] - row["from_others"], 9) for row in judged}
    against = "the mean without the highest and the lowest" if len(judged) > 3 else "the others"
    mean = f" ({100 * centres.pop():+.2f})" if len(centres) == 1 else ""
    return (
        f"When {who}: {'; '.join(verdicts)}. Points of win share per pick-up, compared with {against}{mean}; within "
        f"± {100 * band:g} is balanced."
    )


def _who_plays(row: Row) -> str:
    """The bot that takes all seats, and how good it is."""
    words = strength(row["bot"])
    return (
        f"{EVERYBODY[row['players']]} play like {quoted(row['bot'])}{f', {words}' if words else ''}"
    )


def _with_difference(row: Row) -> str:
    """A specialist with the difference that was judged, and its corrected interval."""
    return f"{the(row['specialist'])} ({value_text(row, 'from_others')})"


def asked_level(rows: Sequence[Row], strongest: str) -> list[Row]:
    """The rows of the strongest level of play, with four players or else the first number of them."""
    own = [row for row in rows if row["bot"] == strongest]
    sizes = [row["players"] for row in own]
    size = 4 if 4 in sizes else sizes[0]
    return [row for row in own if row["players"] == size]


def _verdicts(pickups: Sequence[Row], strongest: str) -> Iterator[str]:
    """How many more games would decide; where bots and numbers of players disagree."""
    rows = [row for row in pickups if row["verdict"] is not None]
    if not rows:
        return
    first = asked_level(rows, strongest)
    yield from _undecided([row for row in first if row["verdict"] == UNDECIDED])
    decided = [row for row in rows if row["verdict"] != UNDECIDED]
    against = []
    for row in first:
        others = [
            f"{other['verdict']} with {level_words(other)}"
            for other in decided
            if other["specialist"] == row["specialist"] and other["verdict"] != row["verdict"]
        ]
        if others and row in decided:
            against.append(f"{the(row['specialist'])} is {row['verdict']}, but {listed(others)}")
    if against:
        yield f"With {level_words(first[0])}, {'; '.join(against)}."


def _undecided(rows: Sequence[Row]) -> Iterator[str]:
    """What to play for a verdict on specialists that have none yet."""
    within_reach = [row for row in rows if row["more_games"] is not None]
    wanted: list[str] = []
    for row in sorted(within_reach, key=lambda row: row["more_games"]):
        more, total = row["more_games"], rounded_up(row["games"] + row["more_games"])
        play = f"{more:,}" if wanted else f"play about {more:,} more games"
        wanted.append(f"on {the(row['specialist'])}, {play}: `--games {amount_text(total)}`")
    if wanted:
        yield f"To decide {'; '.join(wanted)} (a verdict in about {100 * POWER:.0f} % of such runs)."
    edge = [the(row["specialist"]) for row in rows if row["more_games"] is None]
    if edge:
        verb = "is" if len(edge) == 1 else "are"
        yield sentence(
            f"{listed(edge)} {verb} at the edge of the band, where no number of games decides"
        )


def _phases(rows: Sequence[Row], strongest: str) -> Iterator[str]:
    """The phase in which a pick-up is worth most, if that is significantly more than in another.

    Intervals are widened so that those of all phases hold together, however they depend on each other (Bonferroni);
    so phases whose intervals do not overlap differ.
    """
    own = [row for row in rows if row["by"] == "phase" and row["bot"] == strongest]
    if not own:
        return
    own = asked_level(own, strongest)
    wider = _quantile(simultaneous(CONFIDENCE, len(own))) / _quantile(CONFIDENCE)
    for name in ("gain_low", "gain_high"):
        own = [row | {name: row["gain"] + wider * (row[name] - row["gain"])} for row in own]
    apart = []
    for phases in _grouped(own, lambda row: row["specialist"]).values():
        low, high = _ends(phases)
        if high["gain_low"] > low["gain_high"]:
            apart.append((high["gain_low"] - low["gain_high"], low, high))
    if apart:
        _, low, high = max(apart, key=lambda pair: pair[0])
        yield (
            f"By phase, {the(high['specialist'])} differs most ({level_words(high)}): {value_text(high, 'gain')} points per "
            f"pick-up with {high['group']}, and {value_text(low, 'gain')} with {low['group']}."
        )


def _quantile(confidence: float) -> float:
    return normal_quantile(0.5 + confidence / 2)


def _ends(rows: Sequence[Row]) -> tuple[Row, Row]:
    """The rows where a pick-up is worth least and most."""
    ordered = sorted(rows, key=lambda row: row["gain"])
    return ordered[0], next(row for row in ordered if row["gain"] == ordered[-1]["gain"])


def _by_level(pickups: Sequence[Row]) -> Iterator[str]:
    """The specialist whose worth depends most on who plays, with the same number of players, if any does."""
    pairs = []
    known = [row for row in pickups if row["gain"] is not None]
    for rows in _grouped(known, lambda row: (row["specialist"], row["players"])).values():
        for low, high in map(_ends, combinations(rows, 2)):
            error = hypot(half_width(low, "gain"), half_width(high, "gain")) / _quantile(CONFIDENCE)
            apart = Estimate(high["gain"] - low["gain"], error)
            pairs.append({"apart": apart.mean, "p_value": apart.p_value, "low": low, "high": high})
    clear = [pair for pair in with_adjusted(pairs) if is_significant(pair)]
    if clear:
        most = max(clear, key=lambda pair: pair["apart"])
        low, high = most["low"], most["high"]
        yield (
            f"The worth depends on who plays, significantly in {len(clear)} of {len(pairs)} comparisons: a "
            f"pick-up of {the(high['specialist'])} is worth {value_text(high, 'gain')} points with {level_words(high)}, and "
            f"{value_text(low, 'gain')} with {quoted(low['bot'])}."
        )


def _holders(pickups: Sequence[Row]) -> Iterator[str]:
    """Where the association misleads most: what holders win above even is furthest above the worth of a pick-up."""
    rows = [row for row in pickups if None not in (row["gain"], row["held_above_even"])]
    if not rows:
        return
    row = max(rows, key=lambda row: row["held_above_even"] - row["gain"])
    apart = row["held_above_even"] - row["gain"]
    if apart > half_width(row, "held_above_even") + half_width(row, "gain"):
        yield (
            f"Players who hold {the(row['specialist'])} at the end ({level_words(row)}) win "
            f"{value_text(row, 'held_above_even')} points compared with an even share; that is an association, not its "
            f"effect: a pick-up is worth {value_text(row, 'gain')} points."
        )


def _sensitivity(sensitivity: pl.DataFrame) -> Iterator[str]:
    """What a pick-up is worth at both ends of each number; of all tiles, where it is worth most and least."""
    rows = [row for row in sensitivity.to_dicts() if row["gain"] is not None]
    numbers = [row for row in rows if "." not in row["option"]]
    for (specialist, option), of_option in _grouped(
        numbers, lambda row: (row["specialist"], row["option"])
    ).items():
        for level, settings in _grouped(of_option, level_words).items():
            low, high = _ends(settings)
            least, greatest = value_text(low, "gain"), value_text(high, "gain")
            if any(map(is_significant, settings)):
                yield (
                    f"By {option}, a pick-up of {the(specialist)} ({level}) is worth from {least} "
                    f"({option}={low['setting']}) to {greatest} points ({option}={high['setting']})."
                )
            else:
                yield (
                    f"By {option}, what a pick-up of {the(specialist)} is worth ({level}) differs nowhere significantly "
                    f"from that with the value as given: {least} to {greatest} points."
                )
    tiles = [row for row in rows if "." in row["option"]]
    for level, settings in _grouped(tiles, level_words).items():
        row = min(settings, key=lambda row: row["pick_ups"])
        clear = [row for row in settings if is_significant(row)]
        others = sum(not row["as_given"] for row in settings)
        differs = f"differs significantly from that as given in {len(clear)} of {others} cases"
        if clear:
            most = max(clear, key=lambda row: abs(row["difference"]))
            differs += f", most for {the(most['specialist'])} on {most['setting']} ({value_text(most, 'gain')} points)"
        yield (
            f"By starting tile, what a pick-up is worth ({level}) {differs}; pick-ups are fewest for "
            f"{the(row['specialist'])} on {row['setting']}: {row['pick_ups']:.2f} per game."
        )


def remarks_of(specialists: Sequence[str], control: str, sensitivity: bool) -> Iterator[str]:
    """How the figures are meant."""
    instead = (
        "with the specialist gone" if control == "gone" else "with the specialist back on the grill"
    )
    raven = " The raven is never held; a pick-up is the bratworm it pays."
    yield (
        "A pick-up is measured by playing the game on twice from that moment with the same dice: as it is, and "
        f"{instead}, the former one kept.{raven if 'raven' in specialists else ''}"
    )
    if sensitivity:
        yield (
            "By starting tile and number, other games are played by the changed rules and branched at every pick-up; a "
            "specialist that stood on that tile changes places with it."
        )
    yield (
        "The verdicts with a bot hold together with 95 %: their intervals are corrected for the number of specialists. "
        f"* significant: p below {SIGNIFICANCE:g}, corrected for all comparisons of its table (Holm). Other "
        "intervals are 95 % each."
    )


# --------------------------------------------------------------------------------------------------- views

LEVEL_WORDS = "({bot}, {players} players)"
"""A level of play in a title."""


def _by_worth(results: Results) -> pl.DataFrame:
    """Pick-ups in the order of what they are worth over all levels, the greatest first."""
    return _ordered(results, results.pickups)


def _ordered(results: Results, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows about specialists in the order of what a pick-up of them is worth, the greatest first."""
    order = (
        results.pickups.group_by("specialist", maintain_order=True)
        .agg(pl.col("gain").mean())
        .sort("gain", descending=True, nulls_last=True, maintain_order=True)["specialist"]
    )
    place = pl.col("specialist").replace_strict(order, pl.int_range(len(order), eager=True))
    return rows.sort(place, maintain_order=True)


def _judged(results: Results) -> pl.DataFrame:
    """The same with what their verdicts are about: the worth that each is compared with, and the band around it."""
    return _by_worth(results).with_columns(
        centre=pl.col("gain") - pl.col("from_others"),
        nothing=pl.col("from_others") - pl.col("gain"),
        band=pl.lit(results.manifest["plan"]["band"]),
        words=pl.format(
            "{}: a pick-up is worth {} points",
            "verdict",
            pl.col("gain").map_elements(lambda gain: f"{100 * gain:+.2f}", pl.String),
        ),
    )


def _worth_chart(results: Results) -> Dots:
    """What pick-ups are worth, with the intervals that were judged; without verdicts, with their own."""
    worth = Dots("gain", "specialist", "points of win share", panel=LEVEL, at=0, rows=_by_worth)
    if results.pickups["verdict"].is_null().all():
        return replace(worth, tested=True)
    return replace(
        worth,
        value="from_others",
        above="nothing",
        at="centre",
        band="band",
        remark="words",
        rows=_judged,
    )


def _of_groups(by: str, title: str, words: str, *text: Crossed) -> View:
    """Pick-ups told apart by phase, standing or former specialist."""
    return View(
        FRAMES["pickups_by"],
        title,
        f"What a pick-up is worth in points of win share, {words}; bars are 95 % intervals.",
        name=f"pickups-by-{by}",
        rows=lambda results: results.pickups_by.filter(by=by),
        chart=Dots(
            "gain",
            "group",
            "points of win share",
            panel="specialist",
            group=LEVEL,
            at=0,
            rows=lambda results: _ordered(results, results.pickups_by.filter(by=by)),
        ),
        text=text,
    )


def _groups_in_order(results: Results, rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    present = distinct(rows, "group")
    return [group for _, group in GROUPS if group in present], distinct(rows, "specialist")


def _tiles(results: Results) -> pl.DataFrame:
    """Settings of starting tiles."""
    return results.sensitivity.filter(pl.col("option").str.starts_with("specialists."))


def _numbers(results: Results) -> pl.DataFrame:
    """Settings of numbers in the rules."""
    return results.sensitivity.filter(~pl.col("option").str.starts_with("specialists."))


def _number_title(results: Results, rows: Sequence[Row]) -> str:
    name = rows[0]["specialist"].replace("-", " ").capitalize()
    return f"{name} by {{option}}: worth of a pick-up {LEVEL_WORDS}".format(**rows[0])


def _of_settings(what: str, rows: Rows, *text: Crossed | Drawn) -> Iterator[View]:
    """The worth and the number of pick-ups by setting, as lines."""
    name = what.split()[-1]
    where = "All else is as in the rules, whose own setting has a ring"
    lines = Lines(
        "gain",
        "setting",
        "points of win share",
        panel="specialist option",
        group=LEVEL,
        at=0,
        ringed="as_given",
        called="option setting",
        rows=lambda results: _ordered(results, rows(results)),
    )
    yield View(
        FRAMES["sensitivity"],
        f"Worth by {what}",
        f"What a pick-up is worth, in win share. {where}; bars are 95 % intervals.",
        name=f"worth-by-{name}",
        rows=rows,
        chart=lines,
        text=text,
    )
    yield View(
        FRAMES["sensitivity"],
        f"Pick-ups by {what}",
        f"How often per game a player gains the specialist (the raven: is paid by it). {where}.",
        name=f"pick-ups-by-{name}",
        columns=f"{LEVEL} specialist option setting games pick_ups",
        rows=rows,
        chart=replace(lines, value="pick_ups", axis="pick-ups per game", at=None),
    )


def _asked(results: Results) -> pl.DataFrame:
    """The rows that the headline is about."""
    pickups = results.pickups
    (first, *_) = asked_level(pickups.to_dicts(), strongest(distinct(pickups.to_dicts(), "bot")))
    return pickups.filter(bot=first["bot"], players=first["players"])


_WORTHS = Drawn(
    f"What a pick-up is worth {LEVEL_WORDS}: points of win share, {{games}} games",
    "specialist gain verdict from_others score_gain pick_ups",
    "gain",
    {
        "gain": "points ",
        "from_others": "vs others",
        "score_gain": "worms",
        "pick_ups": "per game",
    },
    each=LEVEL,
)

VIEWS = (
    View(
        FRAMES["pickups"],
        "What a pick-up is worth",
        "Ordinary games, branched whenever a player gains the specialist: played on as they are, and without it, with "
        "the same dice. The difference in that player's win share is what the pick-up causes. The upright line is what it "
        "is compared with: the mean of all specialists without the highest and the lowest (with fewer than four: the "
        "mean of the others); the shaded band around it is what counts as balanced. Bars are the intervals of that "
        "difference, corrected for the number of specialists: the verdict is too strong or too weak where a bar lies "
        "outside the band, and balanced where it lies inside. The table also says what players who hold the specialist "
        "at the end win above an even share. This is an association, not what the specialist is worth: players who are "
        "winning anyway get more of them.",
        key="Dots: what a pick-up adds to the win share of the player. Upright line: the mean of the other specialists that "
        "it is compared with; shaded: what counts as balanced. Bars: 95 % intervals of that difference, corrected for the "
        "number of specialists.",
        columns=f"specialist gain± verdict from_others± {LEVEL} pick_ups± score_gain± held_above_even± more_games "
        "p_value p_adjusted games",
        chart=_worth_chart,
        text=(_WORTHS,),
        brief=(replace(_WORTHS, rows=_asked),),
        is_open=True,
        leads=True,
    ),
    View(
        FRAMES["pickups"],
        "A pick-up in worms",
        "The same games: what a pick-up adds to the score of the player. A specialist can bring rivals as much once it is "
        "theirs, and then it does not change who wins.",
        name="pickups-score",
        columns=f"{LEVEL} specialist games score_gain±",
        chart=Dots(
            "score_gain", "specialist", "worms at the end", panel=LEVEL, at=0, rows=_by_worth
        ),
    ),
    _of_groups(
        "phase",
        "A pick-up by phase",
        "by the tiles left on the grill after the pick-up",
        Crossed(
            "group",
            "specialist",
            "gain",
            _groups_in_order,
            f"Pick-ups by phase, standing and former specialist, points of win share {LEVEL_WORDS}\n"
            "95 %: ± {error:.2g} at most",
            "gained",
            each=LEVEL,
            rows=lambda results: results.pickups_by,
        ),
    ),
    _of_groups("standing", "A pick-up by standing", "by how the player stood before, by score"),
    _of_groups(
        "former",
        "A pick-up by what was held",
        "by whether the player held another specialist before",
    ),
    *_of_settings(
        "starting tile",
        _tiles,
        Crossed(
            "setting",
            "specialist",
            "gain",
            lambda results, rows: (
                sorted(distinct(rows, "setting"), key=int),
                distinct(rows, "specialist"),
            ),
            f"Worth of a pick-up by starting tile, points of win share {LEVEL_WORDS}\n"
            "95 %: ± {error:.2g} at most; {games} games each; ° as given",
            "tile",
            is_number=True,
            each=LEVEL,
            marked="as_given",
        ),
    ),
    *_of_settings(
        "number",
        _numbers,
        Drawn(
            _number_title,
            "setting gain pick_ups games",
            "gain",
            {"setting": "° as given", "gain": "points", "pick_ups": "per game"},
            each=f"{LEVEL} specialist option",
            marked="as_given",
        ),
    ),
)
