"""The analysis of a bot: everything adds up, and the costliest decisions are found again."""

from __future__ import annotations

import polars as pl
import pytest

import pickosim
from pickosim.engine.tally import LUCK_ONE
from pickosim.errors import PickosimError
from pickosim.games.judge import judge_of
from pickosim.games.match import make_match
from pickosim.games.trace import traced_game
from pickosim.reports.story import story
from pickosim.studies.analyse import Analyse, _mistake_rows, _situation_rows
from pickosim.studies.study import play_study


@pytest.fixture(scope="module", params=[("eager", "classic"), ("random", "extrawurm")], ids=str)
def analysed(request):
    bot, rules = request.param
    return pickosim.analyse(bot, rules=rules, games=120, seed=3, workers=1)


def test_kinds_and_situations_add_up_to_all(analysed):
    mistakes, situations = analysed.mistakes, analysed.situations
    whole = mistakes.filter(pl.col("mistake") == "in all")
    for parts in (
        mistakes.filter(pl.col("mistake") != "in all"),
        *(rows for _, rows in situations.group_by("by")),
    ):
        for name in ("points", "per_game"):
            assert parts[name].sum() == pytest.approx(whole[name][0], abs=1e-6)
    for row in mistakes.iter_rows(named=True):
        assert row["points"] == pytest.approx(row["per_game"] * row["points_each"])
    assert whole["points"][0] > 0.2
    assert "± 0.0 %" not in analysed.headline and "± 0 %" not in analysed.headline


def test_the_costliest_decisions_are_found_in_their_games(analysed):
    """The game that a row names has that mistake, in that turn and at that cost."""
    rows = analysed.decisions.to_dicts()
    assert [row["cost"] for row in rows] == sorted((row["cost"] for row in rows), reverse=True)
    for row in rows[:3]:
        words = row["command"].split()
        bots = words[2:4]
        rules = words[words.index("--rules") + 1]
        assert words[-2:] == ["--judge", "champion"]
        match = make_match(bots, rules, int(words[words.index("--seed") + 1]))
        events, _ = traced_game(match, row["game"], judge=judge_of("champion", match.rules, 2))
        verdicts = [event for event in events if event["event"] == "verdict"]
        (verdict,) = [one for one in verdicts if one["turn"] == row["turn"]]
        costs = {(chosen, best): cost for cost, _, chosen, best in verdict["mistakes"]}
        assert costs[row["chosen"], row["better"]] == pytest.approx(row["cost"], abs=1e-6)
        text = "\n".join(line.plain for line in story(events))
        assert f"{row['chosen']} rather than {row['better']} {-100 * row['cost']:.1f}" in text
        assert "In points of win chance:" in text
        plain, _ = traced_game(match, row["game"])
        assert plain == [event for event in events if event["event"] != "verdict"]


def test_it_is_said_who_gains():
    """With an output per player; what the judge's net knows of the mover alone says nothing of rivals."""
    found = pickosim.analyse("thief", players=3, games=90, seed=1, workers=1)
    gains = found.situations.filter(pl.col("by") == "who gains")
    assert gains["group"].to_list() == ["moves next", "moves in 2 turns"]
    assert gains["points"].sum() == pytest.approx(found.mistakes["points"][-1], abs=1e-4)
    assert abs(gains["points"][0] - gains["points"][1]) > 0.01
    assert any("goes to the rival who moves next" in remark for remark in found.remarks)
    assert any(remark.startswith("How wins add up, in %: 33.3 + luck") for remark in found.remarks)
    alone = pickosim.analyse("thief", rules="extrawurm", players=5, games=20, seed=1, workers=1)
    assert "who gains" not in alone.situations["by"].to_list()


@pytest.mark.parametrize("players", [2, 3])
def test_wins_are_luck_less_errors_plus_inconsistency(players):
    study = Analyse("thief", against="winner", players=players, games=200, seed=1, workers=1)
    study = study.checked()
    (task,) = study.stage(0, [])
    sums, _ = task.play({}, save_games=False)
    mean = {
        name: sums[name][0, 0] / LUCK_ONE / sums["blocks"]
        for name in ("won", "luck", "error", "rivals", "drift")
    }
    assert mean["won"] == pytest.approx(
        1 / players + mean["luck"] - mean["error"] + mean["rivals"] + mean["drift"], abs=1e-6
    )
    assert mean["error"] > 0.05
    assert players > 2 or mean["error"] > mean["rivals"] > 0.005
    assert len(list(_mistake_rows(sums))) > 5 and len(list(_situation_rows(sums))) > 10


def test_the_champion_gives_nothing_away_and_chunks_change_nothing():
    whole, parts = (
        play_study(Analyse("champion", against="eager", games=60, workers=1, chunk=chunk).checked())
        for chunk in (None, 7)
    )
    assert whole.mistakes["points"].abs().max() < 1e-4
    assert len(whole.decisions) == 0
    for name, frame in whole.frames.items():
        assert frame.equals(parts.frames[name])


def test_a_judge_says_what_positions_are_worth():
    with pytest.raises(PickosimError, match="cannot judge; champion can"):
        pickosim.analyse("random", judge="eager", games=10)
