"""Rule variants compared: every figure from the games themselves, and what is shown about them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import StringIO
from math import ceil

import numpy as np
import polars as pl
import pytest
from blocks import cyclic_orders, play_blocks, rotated
from interval_reference import (
    count_interval,
    holm,
    mean_interval,
    mean_p_value,
    scaled,
    share_interval,
)
from polars.testing import assert_frame_equal
from rich.console import Console
from scipy.stats import binom

import pickosim
from pickosim import cli
from pickosim.amounts import listed, plus_minus
from pickosim.bots.loading import split_bot_list
from pickosim.errors import PickosimError
from pickosim.games.batch import play_games
from pickosim.games.match import make_match
from pickosim.reports.layout import drawn
from pickosim.reports.page import drawn_charts
from pickosim.reports.views import as_text
from pickosim.rule_files import load_rules
from pickosim.runs.progress import Progress
from pickosim.runs.run import Results, RunStoppedError
from pickosim.stats.intervals import (
    grouped_counts,
    quantile_difference_interval,
    quantile_interval,
)
from pickosim.studies.compare import Compare, findings
from pickosim.studies.measures import MEASURES
from pickosim.studies.options import make_options
from pickosim.studies.schedule import lane
from pickosim.studies.variants import FRAMES

BOTS = ["random", "eager"]
VARIANTS = ["classic", "french", "extrawurm"]
SIZES = (2, 3, 4)
GAMES, SEED = 120, 5
PERCENTILES = [measure for measure in MEASURES if "_p" in measure]
ENDS = ("", "_low", "_high")


def compare(*args, **options) -> Results:
    """A comparison, played in this process unless the options say otherwise."""
    return pickosim.compare(*args, **{"workers": 1, **options})


def plan_compare(*args, **kwargs) -> Compare:
    """The comparison that these options ask for, with the checks that Python and the command line make."""
    study: Compare = make_options(Compare, *args, **kwargs)
    return study.checked()


@pytest.fixture(scope="module")
def compared() -> Results:
    return compare(VARIANTS, BOTS, SIZES, GAMES, SEED, set=["turn_limit=90"], reference="french")


def rows_of(results: Results, **where) -> list[dict]:
    return results.measures.filter(**where).to_dicts()


def row_of(results: Results, players: int, variant: str, measure: str) -> dict:
    (row,) = rows_of(results, players=players, variant=variant, measure=measure)
    return row


# ------------------------------------------------------------------- every figure, from single games


class Games:
    """All games of a variant with a number of players, block by block, as `pickosim.play` returns them."""

    def __init__(self, variant: str, players: int) -> None:
        self.rules = load_rules(variant, ["turn_limit=90"])
        self.players = players
        matchup = (BOTS * players)[:players]
        self.rotations = len(rotated(matchup))
        self.blocks = ceil(GAMES / self.rotations)
        first = lane(SIZES.index(players))
        played = play_blocks(matchup, self.rules, self.blocks, SEED, first)
        self.games = pl.concat(one.games for one in played)
        self.seats = pl.concat(one.seats for one in played)
        self.leads = np.concatenate(
            [self.lead_changes(matchup, rotation, first) for rotation in range(self.rotations)]
        )

    def lead_changes(self, matchup: list[str], rotation: int, first: int) -> np.ndarray:
        """(B,): those of one rotation."""
        orders, measured = cyclic_orders(matchup), np.zeros(self.blocks)
        for k, order in enumerate(orders):
            match = make_match(rotated(order)[rotation], self.rules, SEED)
            tally = play_games(match, first, self.blocks, follow_lead=True)
            measured[k :: len(orders)] = tally.counter("lead_changes")[k :: len(orders)]
        return measured

    def by_game(self, measure: str) -> np.ndarray:
        """(R, B): a number of each game."""
        scores = np.sort(self.seats["score"].to_numpy().reshape(-1, self.players), axis=1)
        wins = self.seats["win_share"].to_numpy().reshape(-1, self.players)
        eager = (self.seats["bot"] == "eager").to_numpy().reshape(-1, self.players)
        numbers = {
            "margin": scores[:, -1] - scores[:, -2],
            "ties": ((wins > 0) & (wins < 1)).any(axis=1),
            "lead_changes": self.leads,
            "unfinished": ~self.games["finished"].to_numpy(),
            "first_seat": wins[:, 0] - 1 / self.players,
            "skill": (wins * eager).sum(axis=1) / eager.sum(axis=1) * self.players,
        }
        measured = numbers[measure] if measure in numbers else self.games[measure].to_numpy()
        return np.asarray(measured, float).reshape(self.rotations, self.blocks)

    def influence(self, measure: str) -> tuple[float, np.ndarray]:
        """A measure, and how far each of the blocks moves it."""
        means = self.by_game(measure).mean(axis=0)
        if not measure.startswith("fails"):
            return means.mean(), means
        turns = self.by_game("turns").mean(axis=0)
        ratio = means.sum() / turns.sum()
        return ratio, (means - ratio * turns) / turns.mean()

    def scale(self, measure: str) -> tuple[float, float | None, float]:
        """The bounds of a measure (None: there is no upper one), and what a game moves its block's value by."""
        step = 1 / self.rotations
        if measure in ("ties", "unfinished"):
            return 0, 1, step
        if measure == "first_seat":
            return -1 / self.players, 1 - 1 / self.players, step
        if measure == "skill":
            most = self.players / (BOTS * self.players)[: self.players].count("eager")
            return 0, most, step * most
        if measure.startswith("fails"):
            return 0, 1, self.blocks / self.by_game("turns").sum()
        return 0, None, step


@pytest.fixture(scope="module")
def games() -> dict[tuple[str, int], Games]:
    return {(variant, size): Games(variant, size) for variant in VARIANTS for size in SIZES}


@pytest.mark.parametrize("measure", [m for m in MEASURES if m not in PERCENTILES])
def test_a_measure_is_that_of_its_games(compared, games, measure):
    for (variant, size), own in games.items():
        row = row_of(compared, size, variant, measure)
        value, moves = own.influence(measure)
        least, most, step = own.scale(measure)
        assert row["games"] == own.blocks * own.rotations
        measured = [row[f"value{end}"] for end in ENDS]
        if most is None:
            expected = count_interval(moves - moves.mean() + value, step=step)
        else:
            shares = (moves - moves.mean() + value - least) / (most - least)
            expected = scaled(share_interval(shares, step=step / (most - least)), least, most)
        assert measured == pytest.approx(expected, abs=1e-9)
        if variant == "french":
            assert row["difference"] is row["difference_low"] is row["p_value"] is None
            continue
        base, base_moves = games["french", size].influence(measure)
        apart = moves - base_moves
        apart += value - base - apart.mean()
        step = max(step, games["french", size].scale(measure)[2])
        measured = [row[f"difference{end}"] for end in ENDS]
        assert measured == pytest.approx(mean_interval(apart, step=step), abs=1e-9)
        assert row["p_value"] == pytest.approx(mean_p_value(apart, step=step), rel=1e-6)


@pytest.mark.parametrize("measure", PERCENTILES)
def test_a_percentile_is_that_of_its_games(compared, games, measure):
    name, percent = measure.split("_p")

    def quantile(numbers: np.ndarray, share: float) -> float:
        return np.sort(numbers.ravel())[ceil(round(share * numbers.size, 9)) - 1]

    for (variant, size), own in games.items():
        row = row_of(compared, size, variant, measure)
        numbers, base = own.by_game(name), games["french", size].by_game(name)
        share = int(percent) / 100
        assert row["value"] == quantile(numbers, share)
        low = binom.ppf(0.025, own.blocks, share) / own.blocks
        high = (binom.ppf(0.975, own.blocks, share) + 1) / own.blocks
        assert row["value_low"] == (quantile(numbers, low) if low > 0 else None)
        assert row["value_high"] == (quantile(numbers, high) if high <= 1 else None)
        assert row["p_value"] is row["p_adjusted"] is None
        if variant != "french":
            assert row["difference"] == quantile(numbers, share) - quantile(base, share)
            bounds = row["difference_low"], row["difference_high"]
            assert None in bounds or bounds[0] <= row["difference"] <= bounds[1]


def test_p_values_are_corrected_for_all_comparisons_of_the_run(compared):
    rows = compared.measures.filter(pl.col("p_value").is_not_null())
    assert len(rows) == 2 * len(SIZES) * (len(MEASURES) - len(PERCENTILES))
    assert rows["p_adjusted"].to_list() == pytest.approx(holm(rows["p_value"].to_list()))


def test_seats_and_lengths_are_those_of_the_games(compared, games):
    for (variant, size), own in games.items():
        wins = own.seats["win_share"].to_numpy().reshape(own.rotations, own.blocks, size)
        seats = compared.seats.filter(players=size, variant=variant)
        assert seats["win_share"].to_list() == pytest.approx(list(wins.mean(axis=(0, 1))))
        first = row_of(compared, size, variant, "first_seat")
        assert seats["win_share"][0] - 1 / size == pytest.approx(first["value"])
        assert seats["difference"][0] == pytest.approx(first["difference"])
        assert seats["win_share_low"][0] - 1 / size == pytest.approx(first["value_low"])
        lengths = compared.lengths.filter(players=size, variant=variant)
        counts = own.games["turns"].value_counts().sort("turns")
        assert lengths["turns"].to_list() == counts["turns"].to_list()
        assert lengths["games"].to_list() == counts["count"].to_list()


def test_tables_have_their_columns_and_all_rows(compared):
    no_luck = ("as_won", "win_share_adjusted")
    schemas = {name: frame.without(*no_luck).schema for name, frame in FRAMES.items()}
    assert {name: dict(frame.schema) for name, frame in compared.frames.items()} == schemas
    interval = ("", "_low", "_high")
    assert list(compared.measures.columns) == [
        *("players", "variant", "measure", "games"),
        *(f"{name}{end}" for name in ("value", "difference") for end in interval),
        *("p_value", "p_adjusted"),
    ]
    assert len(compared.measures) == len(SIZES) * len(VARIANTS) * len(MEASURES)
    assert compared.variants["variant"].to_list() == VARIANTS
    assert compared.variants["differs"].to_list()[:2] == [
        "lost_tile: removed -> returned; flip_without_return: true -> false; "
        "tiebreak: shared -> highest-tile",
        "",
    ]
    for text, variant in zip(compared.variants["rules"], VARIANTS, strict=True):
        assert json.loads(text) == load_rules(variant, ["turn_limit=90"]).as_dict()


def test_unfinished_games_are_counted_and_reported(compared):
    rows = rows_of(compared, measure="unfinished")
    unfinished = sum(round(row["value"] * row["games"]) for row in rows)
    assert compared.unfinished == unfinished > 0
    assert compared.games_played == sum(row["games"] for row in rows) == 3 * 3 * 120
    assert any("turn limit" in remark and "extrawurm" in remark for remark in compared.remarks)


def test_the_stronger_bot_is_the_one_that_wins_more_in_the_reference(compared):
    assert compared.manifest["result"]["stronger"] == {"2": "eager", "3": "eager", "4": "eager"}
    for size in SIZES:
        assert row_of(compared, size, "french", "skill")["value"] > 1


# ------------------------------------------------------------------------------------ known effects


def test_variants_that_are_the_same_differ_by_nothing():
    rules = load_rules("classic")
    same = compare(["classic", "classic", rules], BOTS, 3, 300, set=["dice=8"])
    assert same.variants["variant"].to_list() == ["classic", "classic#2", "classic#3"]
    assert same.variants["differs"].to_list() == ["", "", ""]
    others = same.measures.filter(pl.col("variant") != "classic")
    for column in ("difference", "difference_low", "difference_high"):
        assert set(others[column]) == {0.0}
        seats = same.seats.filter(pl.col("variant") != "classic")
        assert set(seats[column]) == {0.0}
    tested = others.filter(~pl.col("measure").is_in(PERCENTILES))
    assert set(tested["p_value"]) == set(tested["p_adjusted"]) == {1.0}
    assert same.manifest["result"]["headline"].startswith(
        "No significant difference between classic and classic#2 and classic#3 in turns per game"
    )


def test_fewer_tiles_and_the_short_rules_shorten_the_game():
    few = load_rules("classic").with_options(
        {"name": "few", "tiles": {"21": 1, "22": 1, "25": 2, "29": 3, "33": 4}}
    )
    results = compare(["classic", "short", few], BOTS, "2,4", 1000)
    for size in (2, 4):
        for variant in ("short", "few"):
            row = row_of(results, size, variant, "turns")
            assert row["difference_high"] < 0
            assert row["p_adjusted"] < 0.001
        assert (
            row_of(results, size, "few", "turns")["value"]
            < row_of(results, size, "short", "turns")["value"]
        )
    assert re.search(r"games are [\d.]+ to [\d.]+ % shorter .* in short", results.headline)
    assert "longer" not in results.headline


def test_pairing_by_dice_narrows_the_difference():
    """Two variants that mostly play alike differ by far less than their own intervals are wide."""
    results = compare(["classic", "short"], ["eager"], 2, 2000)
    row = row_of(results, 2, "short", "turns")
    base = row_of(results, 2, "classic", "turns")
    unpaired = np.hypot(row["value_high"] - row["value"], base["value_high"] - base["value"])
    assert row["difference_high"] - row["difference"] < 0.7 * unpaired


def test_a_share_that_never_differed_is_not_called_certain():
    """Different rules, and no block that ends otherwise."""
    results = compare(["classic", "manual"], ["eager"], 2, 400, set=["turn_limit=3"])
    row = row_of(results, 2, "manual", "unfinished")
    measured = tuple(row[f"difference{end}"] for end in ENDS)
    assert (row["value"], row["p_value"]) == (1.0, 1.0)
    assert measured == pytest.approx(mean_interval(np.zeros(400), step=1))
    assert measured[1] < measured[0] == 0 < measured[2]


def test_the_difference_of_two_quantiles_is_paired_and_covers_the_truth():
    """Games that share most of their length: the truth is covered, by intervals a third as wide as unpaired."""
    rng = np.random.default_rng(4)
    covered, width, unpaired = 0, 0.0, 0.0
    for _ in range(200):
        common = rng.gamma(9, 10, 3200)
        own = (common + rng.normal(6.5, 3, 3200)).clip(0).astype(np.uint32)
        base = common.astype(np.uint32)
        counts = [grouped_counts([of], 0) for of in (own, base)]
        low, high = quantile_difference_interval(*counts, 0.5, 3200)
        covered += low <= 6.5 <= high
        width += high - low
        sides = [quantile_interval(np.bincount(of), 0.5, 3200) for of in (own, base)]
        unpaired += (sides[0][1] - sides[1][0]) - (sides[0][0] - sides[1][1])
    assert covered / 200 > 0.9
    assert width < unpaired / 3


def test_the_headline_answers_what_is_asked():
    measured = compare(["classic", "french"], ["eager"], "2,3", 4000, about="first_seat")
    result = measured.manifest["result"]
    headline, first = result["headline"], result["sentences"][0]
    assert headline.startswith("Compared with an even share, the first seat wins (points): +")
    for variant in ("classic", "french"):
        row = row_of(measured, 2, variant, "first_seat")
        assert f"{100 * row['value']:+.1f} ± " in headline
        assert f"players in {variant}" in headline
    assert "significant" in headline or "could be chance" in headline
    # What is asked about does not differ significantly here: the first sentence says what does differ.
    assert first.startswith("Compared with classic, games are 38.2 to 40.0 % shorter")
    assert first.endswith(" in french (depending on the number of players).")
    with pytest.raises(PickosimError, match=r'A headline is about turns, .*did you mean "margin"'):
        compare(["classic", "french"], ["eager"], about="margn")


@pytest.mark.parametrize(
    ("about", "beginning", "scale"),
    [
        ("turns", "Games take (turns): ", 1),
        ("first_seat", "Compared with an even share, the first seat wins (points): ", 100),
        ("skill", "`eager` wins (times its fair share): ", 1),
        ("margin", "The winner leads by (worms): ", 1),
        ("lead_changes", "The lead changes (times per game): ", 1),
        ("ties", "Games with a shared first place are (% of all): ", 100),
    ],
)
def test_a_headline_has_the_values_of_the_measure_it_is_about(compared, about, beginning, scale):
    stronger = dict.fromkeys(SIZES, "eager")
    headline, *_ = findings(compared.measures, "french", stronger, about)
    assert headline.startswith(beginning)
    parts = headline.removeprefix(beginning).removesuffix(".").split("; ")
    for variant, part in zip(VARIANTS, parts[: len(VARIANTS)], strict=True):
        sizes = []
        for size in SIZES:
            row = row_of(compared, size, variant, about)
            half = scale * (row["value_high"] - row["value_low"]) / 2
            sign = "+" if about == "first_seat" else ""
            sizes.append(f"{plus_minus(scale * row['value'], half, sign)} with {size}")
        assert part == f"{listed(sizes)} players in {variant}"
    assert len(parts) == len(VARIANTS) + (about == "first_seat")


def test_differences_in_both_directions_are_worded_apart(compared):
    """With one number of players games are longer, with another shorter, with a third there is no telling."""
    signs = {2: 1.0, 3: -1.0, 4: 1.0}
    sign = pl.col("players").replace_strict(signs)
    largest = pl.col("difference").abs()
    measures = compared.measures.filter(~pl.col("measure").is_in(PERCENTILES)).with_columns(
        p_adjusted=pl.when(pl.col("players") < 4).then(pl.lit(0.01)).otherwise(pl.lit(1.0)),
        difference=sign * largest,
        value=pl.lit(100.0) + sign * largest,
    )
    headline, _, lines = findings(measures, "french", dict.fromkeys(SIZES, "eager"))
    turns = {
        size: measures.row(
            by_predicate=(pl.col("players") == size)
            & (pl.col("variant") == "classic")
            & (pl.col("measure") == "turns"),
            named=True,
        )
        for size in SIZES
    }
    amounts = {
        size: plus_minus(
            abs(row["difference"]), (row["difference_high"] - row["difference_low"]) / 2
        )
        for size, row in turns.items()
    }
    assert lines["classic"][0] == (
        f"games are {amounts[2]} turns longer (2 players); games are {amounts[3]} turns shorter (3 players); "
        f"could be chance: +{amounts[4]} (4 players)"
    )
    more, less = abs(turns[2]["difference"]), abs(turns[3]["difference"])
    assert f"games are {more:.1f} % longer or {less:.1f} % shorter in classic" in headline
    assert headline.endswith(" (depending on the number of players).")


def test_a_quantile_lies_in_its_interval_as_often_as_said():
    """Even where games of a block are the same game twice, so that they tell no more than one."""
    chance = np.random.default_rng(7)
    inside = 0
    for _ in range(400):
        blocks = chance.geometric(0.1, 150)
        low, high = quantile_interval(np.bincount(np.repeat(blocks, 2)), 0.5, 150)
        inside += low <= 7 <= high  # the median: 1 - 0.9 ** 7 > 0.5 > 1 - 0.9 ** 6
    assert inside >= 380


# ------------------------------------------------------------------------------------- seats, bots


def test_with_one_bot_there_is_no_word_on_skill():
    results = compare(["classic", "short"], ["eager"], "2-3", 100)
    assert "skill" not in set(results.measures["measure"])
    assert set(results.measures["games"]) == {100}
    assert results.manifest["result"]["stronger"] == {}
    assert any("skill is not measured" in remark for remark in results.remarks)


def test_the_seats_are_filled_over_and_over():
    study = plan_compare(["classic", "short"], ["eager", "random", "eager"], "2-5")
    assert list(study.matchups) == [
        ("eager", "random"),
        ("eager", "random", "eager"),
        ("eager", "random", "eager", "eager"),
        ("eager", "random", "eager", "eager", "random"),
    ]
    assert [entrant.name for entrant in study.entrants] == ["eager", "random"]


def test_games_are_rounded_up_to_blocks_and_said_so():
    results = compare(["classic", "short"], ["eager", "random", "thief"], "2-3", 100)
    assert set(results.measures.filter(players=2)["games"]) == {100}
    assert set(results.measures.filter(players=3)["games"]) == {102}
    assert (
        "100 games per variant are not a whole number of blocks everywhere: rounded up to 102 with 3 players."
        in results.remarks
    )
    assert "In games of 2, only `eager` and `random` play." in results.remarks
    assert any(
        remark.startswith("With only 34 blocks (games with the same dice), ")
        for remark in results.remarks
    )


def test_bots_in_a_text_are_separated_by_commas():
    rules = ["classic", "short"]
    assert plan_compare(rules, "eager, random") == plan_compare(rules, ["eager", "random"])
    assert split_bot_list("expected,eager") == ["expected", "eager"]
    assert split_bot_list("threshold:target=25, eager") == ["threshold:target=25", "eager"]
    assert split_bot_list("a.py:Mine:x=1,y=2,eager") == ["a.py:Mine:x=1,y=2", "eager"]


# ----------------------------------------------------------------------------------------- as a run


def same_tables(a: Results, b: Results) -> None:
    assert a.frames.keys() == b.frames.keys()
    for name in a.frames:
        assert_frame_equal(a.frames[name], b.frames[name], check_exact=True)


@pytest.mark.parametrize("options", [{"chunk": 25}, {"chunk": 40, "workers": 2}])
def test_chunks_and_workers_change_nothing(compared, options, only_workers):
    again = compare(
        VARIANTS, BOTS, SIZES, GAMES, SEED, set=["turn_limit=90"], reference="french", **options
    )
    same_tables(again, compared)
    assert again.manifest["result"] == compared.manifest["result"]


def test_a_plan_survives_json(tmp_path):
    path = tmp_path / "nine.toml"
    path.write_text("dice = 9\n")
    study = plan_compare(
        ["extrawurm", path, load_rules("short")],
        ["eager", "random", "eager"],
        "2,4",
        500,
        3,
        sweep=["dice=7,8"],
    )
    again = Compare.from_plan(json.loads(json.dumps(study.plan)))
    assert again == study
    assert (again.plan, again.variants) == (study.plan, study.variants)
    assert replace(study, seed=4).plan != study.plan


def test_an_interrupted_run_ends_as_if_nothing_had_happened(compared, tmp_path):
    def stop(games, status):
        raise KeyboardInterrupt

    with pytest.raises(RunStoppedError, match="pickosim resume"):
        compare(
            VARIANTS,
            BOTS,
            SIZES,
            GAMES,
            SEED,
            set=["turn_limit=90"],
            reference="french",
            chunk=50,
            out=tmp_path / "run",
            progress=Progress(played=stop),
        )
    resumed = pickosim.resume(tmp_path / "run")
    same_tables(resumed, compared)
    result = resumed.manifest["result"]
    assert result["sentences"] == compared.manifest["result"]["sentences"]


def test_a_run_whose_rules_have_changed_is_not_resumed(tmp_path):
    def stop(games, status):
        raise KeyboardInterrupt

    path = tmp_path / "mine.toml"
    path.write_text("dice = 9\n")
    with pytest.raises(RunStoppedError):
        compare(["classic", path], ["eager"], out=tmp_path / "run", progress=Progress(played=stop))
    path.write_text("dice = 7\n")
    with pytest.raises(
        PickosimError, match="have changed since the run began: dice was 9 and is 7"
    ):
        pickosim.resume(tmp_path / "run")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": "french"}, 'No variant is named "french"; the variants are classic, short.'),
        ({"bots": []}, "Name at least one bot to play."),
        ({"bots": 3}, "bots cannot be 3; e.g. bots = ['expected', 'eager']."),
        ({"rules": "classic"}, "rules cannot be 'classic'; e.g. rules = ['classic', 'short']."),
        ({"bots": ["eger"]}, 'There is no bot named "eger"; did you mean "eager"?'),
        ({"players": "1-2"}, "2 to 7 players can play, not 1."),
        ({"players": "many"}, 'Players: write e.g. 4, 2-5 or 2,4,7, not "many".'),
        (
            {"rules": ["classic", "extrawurm"], "sweep": ["specialists.apple={seat = 3}"]},
            "classic specialists.apple={seat = 3}: specialists.apple starts with seat 3",
        ),
        ({"games": "few"}, "Write games as a whole number"),
        ({"seed": -1}, "The seed must be a whole number"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(PickosimError) as caught:
        plan_compare(**{"rules": ["classic", "short"], "players": 2, **options})
    assert message in str(caught.value)


# ------------------------------------------------------------------------------------------ in words


def test_lines_say_what_changed_by_how_much_and_whether_significantly(compared):
    result = compared.manifest["result"]
    assert result["headline"].startswith("Compared with french, games are ")
    turns = row_of(compared, 3, "extrawurm", "turns")
    half = (turns["difference_high"] - turns["difference_low"]) / 2
    (line,) = [line for line in result["by_variant"]["extrawurm"] if line.startswith("games are ")]
    assert f"{plus_minus(turns['difference'], half)} (3 players)" in line
    assert " turns longer (2 players), " in line
    assert "shorter" not in line
    assert list(result["by_variant"]) == ["classic", "extrawurm"]
    assert all(2 <= len(lines) <= 7 for lines in result["by_variant"].values())


def test_every_worded_measure_has_one_sentence_per_variant(compared):
    """Either by how much it differs, or that it does not significantly."""
    for variant in ("classic", "extrawurm"):
        lines = compared.manifest["result"]["by_variant"][variant]
        for changed, alike, measure in (
            ("games are", "turns per game (", "turns"),
            ("the first seat wins", "the first seat's win share (", "first_seat"),
            ("`eager`'s win share", "`eager`'s win share relative to fair (", "skill"),
            ("the winner's margin is", "the winner's margin (", "margin"),
            ("the lead changes", "lead changes (", "lead_changes"),
            ("ties are", "ties (", "ties"),
        ):
            rows = rows_of(compared, variant=variant, measure=measure)
            differs = any(row["p_adjusted"] < 0.05 for row in rows)
            assert sum(line.startswith(changed) for line in lines) == differs
            assert sum(alike in line for line in lines if line.startswith("no ")) == (not differs)


def test_many_variants_get_one_sentence_per_measure():
    results = compare(
        ["classic"], BOTS, "2-3", 60, sweep=["dice=6..10", "claim=next-lower,any-lower"]
    )
    sentences = results.manifest["result"]["sentences"]
    assert len(results.variants) == 10
    assert len(sentences) == 6
    assert "of 9 variants differ significantly from the reference in turns per game" in sentences[0]


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (34.2134, 0.0312, "34.21 ± 0.03"),
        (34.2134, 0.0149, "34.213 ± 0.015"),
        (1234.5, 31.2, "1,234 ± 31"),
        (-0.04, 0.3, "-0.04 ± 0.30"),
        (-0.5, 2.2, "-0.5 ± 2.2"),
        (0.0, 0.3, "0.0 ± 0.3"),
        (0.0, 0.0, "0"),
        (2.5, float("inf"), "2.5 ± ?"),
    ],
)
def test_numbers_have_as_many_places_as_their_error(value, half, text):
    assert plus_minus(value, half) == text


def test_lists():
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"


def test_no_difference_is_bounded_by_what_the_intervals_allow(compared):
    measures = compared.measures.filter(pl.col("measure") == "turns").with_columns(
        p_adjusted=pl.when(pl.col("p_value").is_not_null()).then(1.0)
    )
    others = [
        measures.with_columns(measure=pl.lit(name))
        for name in ("first_seat", "skill", "margin", "lead_changes", "ties")
    ]
    headline, _, lines = findings(
        pl.concat([measures, *others]), "french", {2: "eager", 3: "eager", 4: "eager"}
    )
    assert headline.startswith("No significant difference between french and classic and extra")
    bounds = measures.filter(variant="classic").select("difference_low", "difference_high")
    reach = np.abs(bounds.drop_nulls().to_numpy()).max()
    shown = float(lines["classic"][0].split("turns per game (± ")[1].split(" turns)")[0])
    assert reach <= shown < 1.11 * reach


def test_a_single_variant_is_measured_and_compared_with_nothing():
    results = compare(["classic"], BOTS, "2-3", 60)
    result = results.manifest["result"]
    assert result["headline"].startswith("Games take (turns): ")
    assert result["headline"].endswith(" players in classic.")
    assert (result["sentences"], result["by_variant"]) == ([], {})
    assert results.measures["difference"].null_count() == len(results.measures)
    assert "effects" not in drawn_charts(results)
    console = Console(width=80, file=StringIO())
    console.print(*as_text(results), sep="\n")
    assert "± is half the 95 % interval.\n" in console.file.getvalue()


def test_a_single_swept_value_is_compared_with_the_rules_as_they_are():
    study = plan_compare(sweep=["dice=9"])
    assert [variant.name for variant in study.variants] == ["classic", "classic dice=9"]
    assert [variant.rules.dice for variant in study.variants] == [8, 9]
    assert study.base.name == "classic"


def test_a_single_block_tells_nothing_of_differences():
    results = compare(["classic", "short"], BOTS, 2, 1)
    row = row_of(results, 2, "short", "turns")
    assert (row["games"], row["p_value"]) == (2, 1.0)
    assert row["difference_high"] == float("inf")
    console = Console(width=80, file=StringIO())
    console.print(*as_text(results), sep="\n")
    assert "turns per game (unknown with so few games)" in " ".join(console.file.getvalue().split())


def test_an_interval_as_text():
    assert drawn(0.0, -1.0, 1.0, -2.0, 2.0, 9) == "  ──●──"
    assert drawn(-1.0, -2.0, 0.0, -2.0, 2.0, 9) == "──●─┼"
    assert drawn(1.5, 1.0, 2.0, -2.0, 2.0, 9) == "    │ ─●─"
    assert drawn(0.0, 0.0, 0.0, 0.0, 0.0, 5) == "●"


@pytest.mark.parametrize("width", [80, 120, 400])
def test_words_fit_the_terminal(compared, width):
    console = Console(width=width, file=StringIO(), highlight=False, markup=False)
    console.print(*as_text(compared), sep="\n")
    printed = console.file.getvalue()
    lines = printed.split("\n")
    assert max(map(len, lines)) <= width
    assert [line for line in lines if "turns, 95 % of games" in line]
    for number in ("turns", "steals", "margin", "first_seat"):
        for row in rows_of(compared, measure=number):
            scale = 100 if number == "first_seat" else 1
            value, low, high = (scale * row[k] for k in ("value", "value_low", "value_high"))
            assert plus_minus(value, (high - low) / 2) in printed
    assert all(f"{size} players, 120 games per variant" in printed for size in SIZES)


def test_the_command(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    command = "compare classic --sweep dice=7,8 --set steal=must --bots eager,random --players 2-3"
    arguments = [*command.split(), "--reference", "classic dice=8", "--games", "100"]
    arguments += ["--workers", "1", "--out", "run", "--export", "csv,json,md", "--full"]
    assert cli.run(arguments) == 0
    out, err = capsys.readouterr()
    assert "classic dice=7  dice: 8 -> 7" in out
    assert "2 players, 100 games per variant" in out
    assert "404 games; " in err
    for name in FRAMES:
        for kind in ("parquet", "csv", "json", "md"):
            assert (tmp_path / "run" / f"{name}.{kind}").exists()
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["command"].startswith(f"pickosim {command} --reference 'classic dice=8'")
    assert cli.run(["resume", "run", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["manifest"]["result"]["headline"] in out
    assert {row["variant"] for row in printed["measures"]} == {"classic dice=7", "classic dice=8"}
    assert cli.run(["resume", "run", "--csv"]) == 0
    assert capsys.readouterr().out == (tmp_path / "run" / "measures.csv").read_text()


def test_a_mistake_on_the_command_line(capsys):
    assert cli.run(["compare", "classic", "--sweep", "dice=7,80"]) == 2
    assert (
        capsys.readouterr()
        .err.strip()
        .endswith("pickosim: --sweep dice=80: dice must be a whole number from 1 to 12, not 80.")
    )
