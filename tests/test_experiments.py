"""Experiments as files: what they may say, how mistakes are told, and that the shipped ones still answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from pictures import CHARTS

import pickosim
from pickosim import cli
from pickosim.bots.loading import built_in_bots
from pickosim.errors import PickosimError
from pickosim.reports.page import drawn_charts
from pickosim.rules import SPECIALISTS
from pickosim.runs.folder import RunFolder
from pickosim.studies.experiments import load_experiment, play_experiment

SHIPPED = sorted((Path(__file__).parents[1] / "experiments").glob("*.toml"))

GOOD = """\
question = "Which is better?"
study = "tournament"
bots = ["eager", "random"]
games = "1k"
seed = 3
report = ["standings"]
"""


def test_an_experiment_is_what_its_command_would_be(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("which.toml").write_text(GOOD, encoding="utf-8")
    results = pickosim.experiment("which.toml", out="run")
    same = pickosim.tournament(["eager", "random"], games=1_000, seed=3)
    for name, table in same.frames.items():
        assert results.frames[name].equals(table)
    manifest = RunFolder(Path("run")).manifest()
    assert manifest["question"] == "Which is better?"
    assert manifest["experiment"] == "which.toml"
    assert [path.name for path in Path("run").glob("*.md")] == ["standings.md"]


def test_the_command_takes_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("which.toml").write_text(GOOD, encoding="utf-8")
    assert cli.run(["run", "which.toml", "--games", "200", "--workers", "1"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("Which is better?\n\n`eager` is first: it wins ")
    assert "200 games; " in told.err
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("which-")
    assert RunFolder(folder).manifest()["command"].startswith("pickosim run which.toml")


MISTAKES = {
    "bots = ": "line 3: not valid TOML: Invalid value",
    "bots = 7": "line 3: bots cannot be 7; e.g. bots = ['eager', 'random']",
    "bot = []": 'line 3: There is no option "bot"; did you mean "bots"? The options are question, study',
    'bots = ["egaer", "random"]': 'no bot named "egaer"; did you mean "eager"?',
}


@pytest.mark.parametrize("line", MISTAKES, ids=lambda line: line or "nothing")
def test_a_mistake_in_a_file_gets_line_key_and_remedy(tmp_path, capsys, line):
    path = tmp_path / "wrong.toml"
    path.write_text(GOOD.replace('bots = ["eager", "random"]', line), encoding="utf-8")
    assert cli.run(["run", str(path)]) == 2
    assert MISTAKES[line] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            '"tournament"',
            '"tourney"',
            "line 2: study is one of tournament, rank, tune, compare, balance, train, analyse, calibrate, not",
        ),
        ("question =", "#", 'line 1: The question is missing; e.g. question = "Which'),
        ('report = ["standings"]', 'report = ["standing"]', "line 6: A tournament has no table"),
        ("seed = 3", 'seed = "3"', "line 5: seed cannot be '3'; e.g. seed = 1"),
        ("seed = 3", "sweep = []", 'line 5: There is no option "sweep"'),
        ("seed = 3", "workers = 2", 'line 5: There is no option "workers"'),
        ('"1k"', '"many"', "line 4: Write games as a whole number above 0"),
        ('"eager", "random"', '"eagr", "random"', "line 3: There is no bot named"),
        ('"eager", "random"', '"eager"', "wrong.toml: A game of 2 needs 2 bots"),
        ("seed = 3", 'set = ["dicee=7"]', 'wrong.toml: --set dicee=7: unknown option "dicee"'),
        ("seed = 3", 'rules = "clasic"', "line 5: no preset is named"),
        ("seed = 3", 'precision = "3"', "line 5: A precision must be above 0 and below 1"),
        ("seed = 3", 'sprt = "much"', "line 5: No sequential test"),
    ],
)
def test_other_mistakes(tmp_path, old, new, said):
    path = tmp_path / "wrong.toml"
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(PickosimError) as caught:
        pickosim.experiment(path)
    assert said in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    (tmp_path / "ladder.toml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(PickosimError, match=r'cannot be read: .*; did you mean "ladder\.toml"\?'):
        load_experiment(tmp_path / "lader.toml")


# --------------------------------------------------------------------------- what the shipped ones say


def measured(
    results: pickosim.Results, measure: str, variant: str, players: int
) -> dict[str, float]:
    row = results.measures.row(
        by_predicate=(pl.col("measure") == measure)
        & (pl.col("variant") == variant)
        & (pl.col("players") == players),
        named=True,
    )
    return dict(row)


def ladder(results: pickosim.Results) -> None:
    order = results.standings["bot"].to_list()
    assert set(order[:3]) == {"champion", "winner", "expected"}
    assert order[-1] == "random"


def rule_sets(results: pickosim.Results) -> None:
    assert results.variants["variant"].to_list()[0] == "classic"
    assert results.variants.height == 7
    for players in (2, 4):
        assert measured(results, "turns", "short", players)["difference"] < 0
        assert measured(results, "turns", "extrawurm", players)["difference"] > 0
        assert measured(results, "skill", "extrawurm", players)["difference_low"] > 0


def readings(results: pickosim.Results) -> None:
    assert results.variants.height == 13
    for players in (2, 4):
        removed, returned = (
            measured(results, "turns", variant, players)["value"]
            for variant in ("french", "french lost_tile=returned flip_returned=true")
        )
        assert removed < 0.85 * returned
        assert measured(results, "steals", "classic steal=never", players)["value"] == 0


def specialists(results: pickosim.Results) -> None:
    assert results.pickups["specialist"].n_unique() == 6
    assert results.pickups["bot"].n_unique() >= 2


def specialists_boxed(results: pickosim.Results) -> None:
    assert sorted(results.pickups["specialist"].unique()) == sorted(set(SPECIALISTS) - {"apple"})


def settings(results: pickosim.Results) -> None:
    options = set(results.sensitivity["option"])
    assert {"apple_worms", "bratworms", "golden_die_faces"} <= options
    supply = results.sensitivity.filter(pl.col("option") == "bratworms")
    columns = supply.group_by("setting", maintain_order=True)
    none, *_, most = columns.agg(pl.col("pick_ups").mean(), pl.col("gain").mean()).rows()
    assert none[1:] == (0, None), "without bratworms the raven has nothing to give"
    assert most[1] > 0 < most[2]


def first_seat(results: pickosim.Results) -> None:
    assert sorted(results.measures["players"].unique()) == [2, 3, 4, 5, 6, 7]
    totals = results.seats.group_by("players", "variant").agg(pl.col("win_share").sum())
    assert totals["win_share"].to_list() == pytest.approx([1.0] * 12)
    first = results.measures.filter(pl.col("measure") == "first_seat")["value"]
    assert first.mean() > 0, "who begins wins more than an even share"
    assert results.manifest["result"]["headline"].startswith("Compared with an even share")


def flipping(results: pickosim.Results) -> None:
    (variant,) = set(results.variants["variant"]) - {results.manifest["result"]["reference"]}
    for players in (2, 3, 4, 5):
        row = measured(results, "turns", variant, players)
        assert row["difference_high"] < 0


def ceiling(results: pickosim.Results) -> None:
    against = results.pairs.filter(pl.col("bot") == "champion")
    assert against.height == len(built_in_bots()) - 1
    ahead = dict(against.select("rival", "ahead").rows())
    assert min(ahead, key=ahead.__getitem__) in ("winner", "expected")
    assert all(ahead[bot] > 0.6 for bot in ahead if bot not in ("winner", "expected"))


def skill(results: pickosim.Results) -> None:
    for players in (2, 4):
        assert measured(results, "skill", "extrawurm", players)["value_low"] > 1


def lead(results: pickosim.Results) -> None:
    late = results.by_lead.filter(pl.col("worms_left") == "0 to 4").sort("lead")
    assert late["predicted"].is_sorted()
    early = results.by_lead.filter((pl.col("worms_left") == "30 to 34") & (pl.col("lead") == 3))
    assert 0.5 < early["predicted"].item() < late.filter(pl.col("lead") == 3)["predicted"].item()


def luck_classic(results: pickosim.Results) -> None:
    assert luck_against_expected(results) > 300


def luck_extrawurm(results: pickosim.Results) -> None:
    assert luck_against_expected(results) < 100


def luck_against_expected(results: pickosim.Results) -> int:
    """The games until the champion leads the collector; between good bots nearly all of a game is dice."""
    assert results.luck.height == 3
    assert results.luck["dice_share"].min() > 0.9
    pair = (pl.col("bot") == "champion") & (pl.col("rival") == "expected")
    return results.luck.filter(pair)["games_to_lead"].item()


HEADLINES: dict[str, tuple[str, Callable[[pickosim.Results], None]]] = {
    "ladder": ("600", ladder),
    "rule_sets": ("400", rule_sets),
    "readings": ("400", readings),
    "specialists": ("60", specialists),
    "specialists_boxed": ("100", specialists_boxed),
    "specialists_settings": ("160", settings),
    "first_seat": ("2k", first_seat),
    "flipping": ("4k", flipping),
    "ceiling_classic": ("600", ceiling),
    "ceiling_extrawurm": ("600", ceiling),
    "skill": ("2k", skill),
    "lead": ("1k", lead),
    "luck_classic": ("200", luck_classic),
    "luck_extrawurm": ("200", luck_extrawurm),
}


FEWER: dict[str, dict[str, tuple[str, ...]]] = {"specialists_settings": {"bots": ("eager",)}}
"""What makes the longest ones shorter; `specialists` is played with several bots."""


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_experiment_still_says_what_was_found(path, tmp_path):
    games, headline = HEADLINES[path.stem]
    shorter = FEWER.get(path.stem, {})
    loaded = load_experiment(path, games=games, workers=1, out=tmp_path / "run", **shorter)
    results = play_experiment(loaded)
    headline(results)
    findings = path.with_suffix(".md").read_text(encoding="utf-8")
    assert f"pickosim run experiments/{path.name}" in findings
    assert load_experiment(path).question in findings.replace("\n", " ")
    assert f"]({path.stem}.svg)" in findings
    assert CHARTS[path.stem] in drawn_charts(results)
    for name in load_experiment(path).report:
        assert (tmp_path / "run" / f"{name}.md").exists()
