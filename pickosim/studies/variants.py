"""Variants of the rules: how they are written, games of all with the same dice, result tables."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product, takewhile
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass as checked_dataclass

from pickosim.amounts import expand_range, quoted, sentence, split_list
from pickosim.bots.loading import numbered
from pickosim.columns import POINTS, Frame, Row, frames_by_name
from pickosim.engine.tally import Tally, luck_of_blocks, win_parts
from pickosim.errors import PickosimError, RulesError, suggest
from pickosim.rule_files import as_arguments, complete_rules, differences, load_rules
from pickosim.rules import RuleSet
from pickosim.runs.run import Results
from pickosim.runs.tasks import Sums
from pickosim.stats.intervals import (
    FITTED_FROM,
    NO_RATE,
    Estimate,
    Rate,
    Reading,
    difference,
    grouped_counts,
    histogram_quantile,
    quantile_difference_interval,
    quantile_interval,
    rate,
)
from pickosim.studies.arms import Arm, ArmsJob, play_arm
from pickosim.studies.measures import (
    COUNTED,
    LUCK,
    MEASURES,
    SIGNIFICANCE,
    WINS,
    WORDED,
    ArmSums,
    Ints,
    Measure,
    measure_label,
    rate_columns,
    with_adjusted,
)
from pickosim.studies.options import StoredRules
from pickosim.studies.schedule import Bots, Matchup, bots_by_seat, by_bot, rotations
from pickosim.studies.views import Crossed, Dots, Drawn, Rows, View, distinct

MOST_VARIANTS = 100
"""Variants per run at most: a typing mistake should not sweep a million."""


@checked_dataclass(frozen=True)
class Variant:
    """Rules in a comparison, under their name there."""

    name: str
    rules: StoredRules


def make_variants(
    rules: Sequence[str | Path | RuleSet], sets: Sequence[str] = (), sweeps: Sequence[str] = ()
) -> list[Variant]:
    """Rule sets with options changed by `--set`, each in all combinations of what is swept.

    Rules can be followed by options of their own, e.g. `classic dice=7`. A sweep is an option with its values,
    e.g. `dice=7,8,9`, `dice=7..9` or `exact_only=[],[21,22]`. A variant is named after its rules and what is
    swept there, again `classic dice=7`; a second one of the same name is numbered, e.g. `classic#2`. A single
    variant that is swept comes after its rules without the sweep.
    """
    if isinstance(rules, str):
        raise PickosimError(f'Variants are given as a list, e.g. ["{rules}", "short"].')
    swept = [sweep_texts(sweep) for sweep in sweeps]
    options = [texts[0].partition("=")[0] for texts in swept]
    for option in options:
        if options.count(option) > 1:
            texts = [text for own in swept for text in own if text.startswith(f"{option}=")]
            values = ",".join(text.partition("=")[2] for text in texts)
            raise RulesError(
                f"{option} is swept twice; give all its values at once: --sweep {option}={values}."
            )
    if (number := len(rules) * prod(map(len, swept))) > MOST_VARIANTS:
        factors = " × ".join(str(count) for count in (len(rules), *map(len, swept)))
        raise PickosimError(
            f"{factors} makes {number:,} variants; a run can have {MOST_VARIANTS} at most."
        )
    if not number:
        raise PickosimError("There is no variant to play: name rules, e.g. classic and short.")
    settings = [(spec, texts) for spec in rules for texts in product(*swept)]
    if swept and number == 1:
        settings.insert(0, (rules[0], ()))  # the reference of the only one
    variants = [_variant(spec, sets, texts) for spec, texts in settings]
    names = numbered(variant.name for variant in variants)
    return [replace(variant, name=name) for variant, name in zip(variants, names, strict=True)]


def sweep_texts(sweep: str) -> list[str]:
    """The values of a sweep, each as `--set` takes it: `dice=7..9` is dice=7, dice=8, dice=9."""
    option, equals, values = sweep.partition("=")
    swept = [value for part in split_list(values) for value in expand_range(part)]
    if not (equals and option.strip() and all(swept)):
        raise RulesError(
            f"--sweep {sweep}: an option is swept with option=value,value, such as dice=7,8,9."
        )
    return list(dict.fromkeys(f"{option.strip()}={value}" for value in swept))


def named_variant(variants: Sequence[Variant], name: str | None) -> Variant:
    """The variant of that name; the first if none is named."""
    names = [variant.name for variant in variants]
    if name is None:
        return variants[0]
    if name not in names:
        hint = suggest(name, names) or f"; the variants are {', '.join(names)}."
        raise PickosimError(f'No variant is named "{name}"{hint}')
    return variants[names.index(name)]


def what_differs(reference: RuleSet, rules: RuleSet) -> str:
    """What differs from the reference, e.g. `option: a -> b; …`; names and titles do not count."""
    return "; ".join(
        f"{option}: {old} -> {new}"
        for option, old, new in differences(reference, rules)
        if option not in ("name", "title")
    )


def _variant(spec: str | Path | RuleSet, sets: Sequence[str], texts: Sequence[str]) -> Variant:
    """Rules with options set and some swept."""
    base, own = _with_options(spec)
    name = " ".join([load_rules(base).name, *own, *texts])
    try:
        return Variant(name, load_rules(base, [*sets, *own, *texts]))
    except RulesError as error:  # named by the option of the command line that it was written to
        message = str(error)
        for text in texts:
            message = message.replace(f"--set {text}", f"--sweep {text}")
        raise RulesError(message) from None


def _with_options(spec: str | Path | RuleSet) -> tuple[str | Path | RuleSet, list[str]]:
    """Rules, and the options written after them: `classic dice=7` is `classic` with `dice=7`."""
    if not isinstance(spec, str) or Path(spec).exists():
        return spec, []
    words = spec.split()
    options = list(takewhile(lambda word: "=" in word, reversed(words[1:])))[::-1]
    return (" ".join(words[: len(words) - len(options)]), options) if options else (spec, [])


# ---------------------------------------------------------------------------------------- games and sums

HISTOGRAMS = ("turns", "rolls")
"""Measures whose values are all counted, for percentiles."""


@dataclass(frozen=True)
class CompareJob(ArmsJob):
    """Games of one matchup under all variants; an arm per variant."""

    matchup: Matchup
    variants: tuple[RuleSet, ...]
    reference: int

    @property
    def arms(self) -> list[Arm]:
        """One per variant."""
        seats = rotations(self.matchup)
        return [Arm(self.matchup, rules, seats, luck_by=self.luck_by) for rules in self.variants]

    @property
    def in_hand(self) -> int:
        """The rotations of one variant."""
        return len(rotations(self.matchup))

    def play(self, seed: int, first: int, blocks: int) -> tuple[Sums, list[Tally]]:
        """Sums over blocks of the V values (`value_names`) of each of A variants, and of their products.

        `blocks`; `unfinished` games; `totals` (A, V), `products` (A, V, V) of a variant's values, `crossed` (A, V, V) of a
        variant's with those of the reference; histograms (A, GROUPS, T) of HISTOGRAMS.
        """
        bots, unfinished = bots_by_seat(self.matchup, first, blocks), 0
        values, histograms = list[Ints](), {name: list[Ints]() for name in HISTOGRAMS}
        for arm in self.arms:
            tally = play_arm(arm, seed, first, blocks, follow_lead=True)
            tallies = tally.by_rotation(arm.games)
            values.append(block_values(tallies, self.matchup, bots, arm.luck_by is not None))
            unfinished += int((~tally.finished).sum())
            for name, of_arms in histograms.items():
                counts = [MEASURES[name].counted(each) for each in tallies]
                of_arms.append(grouped_counts(counts, first))
        base = values[self.reference]
        return {
            "blocks": np.array(blocks, np.int64),
            "unfinished": np.array(unfinished, np.int64),
            "totals": np.stack([own.sum(axis=1) for own in values]),
            "products": np.stack([own @ own.T for own in values]),
            "crossed": np.stack([own @ base.T for own in values]),
            **{name: _stacked(of_arms) for name, of_arms in histograms.items()},
        }, []


def value_names(matchup: Matchup, judged: bool) -> tuple[str, ...]:
    """The names of the V values of a block: the counted measures, the wins (in PARTS) of every seat and of every bot of
    that name, and if games are judged their luck (in parts of LUCK_UNIT).
    """
    who = [*(f"seat {seat}" for seat in range(len(matchup))), *dict.fromkeys(matchup)]
    kinds = (WINS, LUCK) if judged else (WINS,)
    return (
        *(measure.name for measure in COUNTED),
        *(kind + name for kind in kinds for name in who),
    )


def block_values(tallies: Sequence[Tally], matchup: Matchup, bots: Bots, judged: bool) -> Ints:
    """(V, B): the values of B blocks, each added up over its games; see `value_names`.

    One tally of B games per rotation; `bots` says who sat where. Lead changes are those of games played with
    `follow_lead`, otherwise 0.
    """
    counted = np.sum([[each.counted(tally) for each in COUNTED] for tally in tallies], axis=0)
    values = [counted, _of_players([win_parts(tally.rank) for tally in tallies], matchup, bots)]
    if judged:
        luck = _of_players([tally.luck for tally in tallies], matchup, bots)
        values.append(luck_of_blocks(luck))
    return np.concatenate(values).astype(np.int64)


def _of_players(by_seat: Sequence[NDArray[Any]], matchup: Matchup, bots: Bots) -> NDArray[Any]:
    """(K, B): what each seat and then each bot of that name has in a block, from (B, P) by seat for every rotation."""
    by_place = np.sum([by_bot(own, who) for own, who in zip(by_seat, bots, strict=True)], axis=0)
    names = np.array(matchup)
    of_bots = [by_place[:, names == bot].sum(axis=1) for bot in dict.fromkeys(matchup)]
    return np.stack([*np.sum(by_seat, axis=0).T, *of_bots])


def _stacked(arrays: Sequence[Ints]) -> Ints:
    """Stacked; a histogram that ends earlier is padded with 0."""
    longest = max(array.shape[-1] for array in arrays)
    return np.stack([np.pad(array, [(0, 0), (0, longest - array.shape[-1])]) for array in arrays])


FRAMES = frames_by_name(
    Frame(
        "measures",
        "One row per number of players, variant and measure.",
        "players variant measure games value± as_won± difference± p_value p_adjusted",
        {
            "value": "The measure. `first_seat` and `skill` are without luck where games were judged, and so are their "
            "differences."
        },
    ),
    Frame(
        "seats",
        "One row per number of players, variant and seat.",
        "players variant seat games win_share± win_share_adjusted± difference±",
        formats={"difference": POINTS},
    ),
    Frame(
        "lengths",
        "One row per number of players, variant and length of a game.",
        "players variant turns games",
        {"games": "Games of that length."},
    ),
    Frame("variants", "One row per variant.", "variant differs rules note"),
)


class Side(NamedTuple):
    """A variant with one number of players: its sums, and the products of its values with the reference's."""

    variant: Variant
    sums: ArmSums
    crossed: Ints
    """(V, V)"""
    histograms: dict[str, Ints]
    """Histograms of turns and rolls, (GROUPS, T) each."""

    @property
    def columns(self) -> Row:
        """The columns that name it."""
        return {"players": self.sums.players, "variant": self.variant.name}


Pair = tuple[Side, Side]
"""A variant and the reference, with the same number of players."""


def compared(
    variants: Sequence[Variant], reference: int, matchup: Matchup, part: Sums, judged: bool
) -> list[Pair]:
    """All variants with one number of players, each with the reference."""
    names, size, blocks = value_names(matchup, judged), len(rotations(matchup)), int(part["blocks"])
    arms = [
        ArmSums(names, size, blocks, *of_arm, matchup, less_luck=judged and blocks >= FITTED_FROM)
        for of_arm in zip(part["totals"], part["products"], strict=True)
    ]
    # Who wins most by its fair share in the reference; nobody if all are the same.
    bots = list(dict.fromkeys(matchup))
    wins = [arms[reference].wins_by_fair_share(bot).value for bot in bots]
    stronger = bots[wins.index(max(wins))] if len(bots) > 1 else None
    sides = [
        Side(
            variant,
            replace(arms[number], stronger=stronger),
            part["crossed"][number],
            {name: part[name][number] for name in HISTOGRAMS},
        )
        for number, variant in enumerate(variants)
    ]
    return [(side, sides[reference]) for side in sides]


def measure_rows(pairs: Sequence[Pair]) -> list[Row]:
    """Every measure of every variant, and how far it differs from the reference's, paired by dice."""
    return with_adjusted(
        [
            {
                **side.columns,
                "measure": measure.name,
                "games": side.sums.games,
                **(_percentile if measure.percentile else _rate)(side, base, measure),
            }
            for side, base in pairs
            for measure in MEASURES.values()
            if measure.name != "skill" or side.sums.stronger
        ]
    )


def seat_rows(pairs: Sequence[Pair]) -> Iterator[Row]:
    """What every seat wins, and how far that differs from the reference."""
    for side, base in pairs:
        for seat in range(side.sums.players):
            reading, other = (each.sums.win_share_of_seat(seat) for each in (side, base))
            won = side.sums.as_won.win_share_of_seat(seat)
            yield {
                **side.columns,
                "seat": seat,
                "games": side.sums.games,
                **rate_columns("win_share", rate(side.sums, won)),
                **rate_columns("win_share_adjusted", rate(side.sums, reading)),
                **rate_columns("difference", _differs(side, base, reading, other)[0]),
            }


def length_rows(pairs: Sequence[Pair]) -> Iterator[Row]:
    """How many games of each length there were."""
    for side, _ in pairs:
        for turns, games in enumerate(side.histograms["turns"].sum(axis=0)):
            if games:
                yield {**side.columns, "turns": turns, "games": int(games)}


def _rate(side: Side, base: Side, measure: Measure) -> Row:
    """A measure that is a mean, a share or a ratio, with its paired difference."""
    reading = measure.read(side.sums)
    apart, estimate = _differs(side, base, reading, measure.read(base.sums))
    has_luck = measure.derived and side.sums.less_luck
    won = rate(side.sums, measure.read(side.sums.as_won)) if has_luck else NO_RATE
    return {
        **rate_columns("value", rate(side.sums, reading)),
        **rate_columns("as_won", won),
        **rate_columns("difference", apart),
        "p_value": None if estimate is None else estimate.p_value,
    }


def _differs(
    side: Side, base: Side, reading: Reading, other: Reading
) -> tuple[Rate, Estimate | None]:
    """How far a measure differs from the reference's, with its interval and as an estimate."""
    if side is base:
        return NO_RATE, None
    if not what_differs(base.variant.rules, side.variant.rules):
        return Rate(0.0, 0.0, 0.0), Estimate(0.0, 0.0)
    estimate = difference(side.sums, reading, base.sums, other, side.crossed)
    return Rate(estimate.mean, *estimate.interval()), estimate


def _percentile(side: Side, base: Side, measure: Measure) -> Row:
    """A percentile of turns or rolls, and how far it differs from the reference's."""
    assert measure.percentile is not None
    name, percent = measure.percentile
    blocks, quantile = side.sums.blocks, percent / 100
    own, other = side.histograms[name], base.histograms[name]
    counts, apart = own.sum(axis=0), NO_RATE
    value = int(histogram_quantile(counts, quantile))
    if side is not base:
        ends = quantile_difference_interval(own, other, quantile, blocks)
        apart = Rate(value - int(histogram_quantile(other.sum(axis=0), quantile)), *ends)
    return {
        **rate_columns("value", (value, *quantile_interval(counts, quantile, blocks))),
        **rate_columns("difference", apart),
        "p_value": None,
    }


# --------------------------------------------------------------------------------------------------- views

LONGEST_NAME = 24
"""Letters of a reference that every sentence repeats."""

MOST_LINES = 12
"""Lines of the main table of a comparison, without `--full`."""

DRAWN = ("turns", "first_seat", "skill")
"""The measures whose differences a terminal draws."""


def short(reference: str) -> str:
    """The reference by name, unless that is long to repeat."""
    return reference if len(reference) <= LONGEST_NAME else "the reference"


def _tested(results: Results) -> pl.DataFrame:
    """What is compared, the measure that was asked about first, without those in which nothing differs at all."""
    tested = results.measures.filter(pl.col("p_adjusted").is_not_null())
    differ = tested.filter((pl.col("difference") != 0).any().over("measure"))
    asked = str(results.manifest["plan"].get("about"))
    return differ.sort(pl.col("measure") != asked, maintain_order=True)


def _unchanged(results: Results) -> str:
    """The measures in which nothing differs at all."""
    largest = pl.col("difference").abs().max().over("measure")
    same = results.measures.filter(largest == 0)["measure"].unique(maintain_order=True)
    names = "; ".join(map(measure_label, same))
    return f"No difference at all, and not drawn: {names}." if names else ""


def _main_differences(results: Results) -> pl.DataFrame:
    """The differences that a terminal draws, measure by measure and variant by variant."""
    reference = results.manifest["result"]["reference"]
    rows = results.measures.filter(pl.col("variant") != reference)
    variants = list(dict.fromkeys(rows["variant"]))
    parts = [rows.filter(measure=name, variant=variant) for name in DRAWN for variant in variants]
    return pl.concat(parts) if parts else rows


def _difference_title(results: Results, rows: Sequence[Row]) -> str:
    bots = set(results.manifest["result"].get("stronger", {}).values())
    bot = quoted(*bots) if len(bots) == 1 else "the stronger bot"
    reference = short(results.manifest["result"]["reference"])
    label = measure_label(rows[0]["measure"], bot)
    return sentence(f"{label}: difference from {reference}").rstrip(".")


def _variants(results: Results) -> pl.DataFrame:
    """The variants, with the arguments that give their rules."""
    reference = results.manifest["result"]["reference"]
    return pl.DataFrame(
        {
            "variant": row["variant"],
            "differs": "the reference"
            if row["variant"] == reference
            else row["differs"] or "nothing",
            "rules": shlex.join(as_arguments(complete_rules(json.loads(row["rules"])))),
            "note": row["note"],
        }
        for row in results.variants.to_dicts()
    )


def _lines(results: Results) -> pl.DataFrame:
    """All measures, each with the line of a table that it stands in; no hens where nobody has one."""
    stronger = results.manifest["result"].get("stronger", {})
    shown = results.measures.filter(
        (pl.col("measure") != "hen_steals") | (pl.col("value") > 0).any().over("players", "measure")
    )
    labels = [
        measure_label(measure, quoted(stronger.get(str(players), "")))
        for measure, players in shown.select("measure", "players").rows()
    ]
    return shown.with_columns(line=pl.Series(labels, dtype=pl.String))


def _main_lines(results: Results) -> pl.DataFrame:
    """The measures that sentences are about: as many as a screen has room for, each for all numbers of players."""
    rows = _lines(results)
    sizes = rows["players"].n_unique()
    if sizes > 1:
        rows = rows.with_columns(line=pl.format("{} ({} players)", "line", "players"))
    main = [measure.name for measure in WORDED if measure.name in set(rows["measure"])]
    return pl.concat([rows.filter(measure=name) for name in main[: MOST_LINES // sizes]])


def _side_by_side(rows: Rows, each: str = "") -> Crossed:
    """A line per measure and a column per variant, the reference first."""

    def order(results: Results, rows: Sequence[Row]) -> tuple[list[Any], list[Any]]:
        reference = results.manifest["result"]["reference"]
        variants = sorted(distinct(rows, "variant"), key=lambda name: name != reference)
        return distinct(rows, "line"), variants

    title = "{players} players, {games} games per variant"
    return Crossed("line", "variant", "value", order, title, "", errors=True, each=each, rows=rows)


VIEWS = (
    View(
        FRAMES["measures"],
        "What a variant changes",
        "Difference from the reference, both with the same dice, with 95 % intervals; every small chart has its own "
        f"scale; points are percentage points. A full dot is significant (p below {SIGNIFICANCE:g}, corrected for "
        "the number of comparisons), a hollow one could be chance.",
        remark=_unchanged,
        name="effects",
        chart=Dots(
            "difference",
            "variant",
            "difference from the reference",
            panel="measure",
            group="players",
            at=0,
            tested=True,
            own_scales=True,
            rows=_tested,
        ),
        text=(
            "variants",
            _side_by_side(_lines, each="players"),
            "marks",
            Drawn(
                _difference_title,
                "variant players difference",
                "difference",
                {"difference": "difference "},
                each="measure",
                rows=_main_differences,
            ),
        ),
        brief=("variants", _side_by_side(_main_lines), "marks"),
        leads=True,
    ),
    View(
        FRAMES["lengths"],
        "Length of a game",
        "The dot is the median; half of all games lie in the bar, nine in ten on the line.",
        chart="variant_lengths",
    ),
    View(
        FRAMES["seats"],
        "Seats",
        "What a seat wins above or below an even share, with 95 % intervals; without luck, where games were judged. Seat 0 "
        "begins.",
        chart=lambda results: Dots(
            "win_share_adjusted" if "win_share_adjusted" in results.seats.columns else "win_share",
            "variant",
            "points above an even share",
            panel="players",
            group="seat",
            at=0,
            above="even",
            rows=lambda results: results.seats.with_columns(even=1 / pl.col("players")),
        ),
    ),
    View(
        FRAMES["variants"],
        "The variants",
        "What each differs in from the reference, and how it is asked for.",
        rows=_variants,
        is_open=True,
    ),
)
