"""Python in a notebook: bots as objects, what results look like, charts, and the tour."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import polars as pl
import pytest
from nbclient import NotebookClient

import pickosim
from pickosim import POINTS, PickosimError, Progress, Strategy
from pickosim.bots.digest import code_of
from pickosim.bots.loading import load_bot

TOUR = Path(__file__).parents[1] / "examples" / "tour.ipynb"

CELL = '''
from pickosim import POINTS, Strategy

SHIFT = {shift}

def points(counts):
    return counts * POINTS + SHIFT

class Cell(Strategy):
    """Stops from `target` on."""

    target: int = 21

    def pick(self, turn):
        return turn.best(points(turn.counts))

    def stop(self, turn):
        return turn.can_claim & (turn.total >= self.target)
'''


class Bold(Strategy):
    """Takes the most points, and stops from `target` on."""

    target: int = 21

    def pick(self, turn):
        return turn.best(turn.counts * POINTS)

    def stop(self, turn):
        return turn.can_claim & (turn.total >= self.target)


@pytest.fixture(autouse=True)
def main_without_a_file(monkeypatch):
    """As in a notebook."""
    monkeypatch.delattr("__main__.__file__", raising=False)


def cell_bot(shift: int = 0) -> type[Strategy]:
    """A class as a cell of a notebook defines it."""
    names: dict[str, object] = {"__name__": "__main__"}
    exec(CELL.format(shift=shift), names)
    kind = names["Cell"]
    assert isinstance(kind, type)
    return kind


# -------------------------------------------------------------------------------------------- bots as objects


def test_names_classes_and_instances_play_the_same_games():
    by_name = pickosim.play(["threshold:target=24", "eager"], games="300", seed=3)
    threshold = type(load_bot("threshold"))
    for bot in (threshold(target=24), "threshold:target=24"):
        same = pickosim.play([bot, "eager"], games=300, seed=3)
        assert same.seats.drop("bot").equals(by_name.seats.drop("bot"))
    assert pickosim.play([threshold, "eager"], games=1).match.specs == ("threshold", "eager")


def test_a_run_with_classes_is_the_same_for_any_number_of_workers():
    bots = [Bold, Bold(target=25), "eager"]
    here, there = (
        pickosim.tournament(bots, games=600, workers=workers, chunk=100) for workers in (1, 2)
    )
    assert sorted(here.standings["bot"]) == ["Bold", "Bold:target=25", "eager"]
    for name, frame in here.frames.items():
        assert frame.equals(there.frames[name])


def test_a_class_that_was_given_has_parameters_by_text():
    pickosim.tournament([Bold, "eager"], games=8, workers=1)
    result = pickosim.tournament(["Bold:target=22..24", "eager"], games=8, workers=1)
    assert {"Bold:target=22", "Bold:target=23", "Bold:target=24"} < set(result.standings["bot"])


def test_all_studies_take_objects():
    assert pickosim.rank(Bold, games=200, workers=1).ladder.filter(bot="Bold").height == 1
    compared = pickosim.compare(["classic", "french"], bots=[Bold], games=20, workers=1)
    assert compared.manifest["plan"]["bots"] == ["Bold"]


def test_what_is_no_bot_is_refused():
    with pytest.raises(PickosimError, match=r"class of pickosim\.Strategy"):
        pickosim.play([3, "eager"])
    with pytest.raises(PickosimError, match="bots cannot be"):
        pickosim.tournament([3, "eager"])
    other = type("Bold", (Bold,), {})
    with pytest.raises(PickosimError, match="Two different classes are called Bold"):
        pickosim.tournament([Bold, other], games=8)
    with pytest.raises(PickosimError, match="another bot named eager"):
        pickosim.tournament([type("eager", (Bold,), {}), "random"], games=8)


def test_the_digest_of_a_cell_covers_what_its_code_uses():
    digests = {}
    for name, kind in (("a", cell_bot()), ("again", cell_bot()), ("b", cell_bot(shift=1))):
        results = pickosim.tournament([kind, "eager"], games=8, workers=1)
        digests[name] = results.manifest["plan"]["entrants"][0]["source"]
    assert digests["a"] == digests["again"] != digests["b"]
    assert {"Cell", "Cell.pick", "Cell.stop", "Cell.target", "points", "SHIFT"} <= set(
        code_of(cell_bot())
    )


def test_an_interrupted_run_with_a_cells_bot_says_how_to_resume_it(tmp_path):
    kind = cell_bot()
    whole = pickosim.tournament([kind, "eager"], games=600, workers=1, chunk=100)

    def stop(games, status):
        raise KeyboardInterrupt

    with pytest.raises(PickosimError, match=r"bots=\[Cell\]\) where these bots are defined"):
        pickosim.tournament(
            [kind, "eager"],
            games=600,
            workers=1,
            chunk=100,
            out=tmp_path / "run",
            progress=Progress(played=stop),
        )
    script = "import sys; from pickosim.cli import run; sys.exit(run(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "resume", str(tmp_path / "run")]
    elsewhere = subprocess.run(command, capture_output=True, text=True)
    assert elsewhere.returncode == 2
    assert "defined in Python and not in a file (Cell)" in elsewhere.stderr
    resumed = pickosim.resume(tmp_path / "run", workers=1, bots=[kind])
    assert resumed.standings.equals(whole.standings)
    with pytest.raises(PickosimError, match="has changed since the run began"):
        (tmp_path / "run" / "standings.parquet").unlink()
        pickosim.resume(tmp_path / "run", workers=1, bots=[cell_bot(shift=1)])


# ------------------------------------------------------------------------------------------------- results


@pytest.fixture(scope="module")
def results():
    return pickosim.tournament(["eager", "cautious", "random"], games=400, workers=1)


def test_results_show_their_headline_and_main_tables(results):
    html = results._repr_html_()
    assert "<code>eager</code> is first: it wins" in html
    assert "<th" in html
    assert "win share" in html
    assert f"{results.games_played:,} games." in html
    assert len(repr(results)) < 150


def test_names_are_escaped():
    kind = type("Bold", (Bold,), {})
    played = pickosim.play([kind, "eager"], games=10)
    object.__setattr__(played.match, "specs", ("<b>", "eager"))
    assert "&lt;b&gt;" in played._repr_html_()
    assert "<b>" not in played._repr_html_()


def test_charts_by_name(results):
    assert "standings" in results.charts
    spec = results.chart("standings").to_dict()
    assert all(bot in str(spec) for bot in ("eager", "cautious", "random"))
    with pytest.raises(PickosimError, match="The charts are standings"):
        results.chart("standing")


def test_charts_without_their_packages():
    script = (
        "import sys; sys.modules['altair'] = None\n"
        "import pickosim\n"
        "results = pickosim.tournament(['eager', 'random'], games=8, workers=1)\n"
        "try: results.chart('standings')\n"
        "except pickosim.PickosimError as error: print(error)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert 'pip install -e ".[report]"' in result.stdout


def test_standings_of_played_games():
    played = pickosim.play(["eager", "random"], games="1k", seed=1)
    by_seat = played.seats.group_by("seat", maintain_order=True).agg(
        pl.col("win_share").mean(), pl.col("score").mean(), pl.col("rank").mean()
    )
    shown = played.standings.select("win_share", "mean_score", "mean_rank")
    np.testing.assert_allclose(shown.to_numpy(), by_seat.drop("seat").to_numpy())
    assert repr(played) == (
        "<play: 1,000 games of eager, random; tables standings, games, seats, specialists, turns>"
    )
    assert "<td" in played._repr_html_()


def test_progress_of_play_counts_every_game():
    counted = []
    progress = Progress(played=lambda games, status: counted.append(games))
    pickosim.play(["eager", "random"], games="1k", progress=progress)
    assert sum(counted) == 1000


def test_a_bar_is_shown(capsys):
    pickosim.play(["eager", "random"], games=100, progress=True)
    assert "games/s" in capsys.readouterr().err


# ------------------------------------------------------------------------------------- what commands do


def test_bots_as_frames(tmp_path):
    assert {"eager", "random", "winner"} <= set(pickosim.list_strategies()["bot"])
    assert pickosim.show_strategy(Bold).summary.startswith("Takes the most points")
    path = pickosim.new(tmp_path / "my_bot.py")
    assert pickosim.show_strategy(str(path)).decisions
    with pytest.raises(PickosimError, match="already exists"):
        pickosim.new(path)


def test_check_of_a_cells_bot():
    result = pickosim.check(cell_bot())
    assert result.columns == ["point", "ok", "message", "odd"]
    assert result.filter(~pl.col("ok")).to_dicts() == []


# ----------------------------------------------------------------------------------------------- the tour


def test_the_tour_runs_and_shows_what_it_shows(tmp_path):
    """A new kernel gives the outputs that are stored, except for charts."""
    stored = nbformat.read(TOUR, 4)
    new = nbformat.read(TOUR, 4)
    NotebookClient(new, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    for then, now in zip(stored.cells, new.cells, strict=True):
        if then.cell_type == "code" and "chart(" not in then.source:
            assert texts(now) == texts(then), then.source


def texts(cell: nbformat.NotebookNode) -> list[str]:
    """What a cell shows, as plain text."""
    return [
        output["data"]["text/plain"]
        for output in cell.outputs
        if output.output_type == "execute_result"
    ]
