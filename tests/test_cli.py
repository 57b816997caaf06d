"""The command line as a person meets it: what it prints and where, and how it takes mistakes.

Most commands run in this process, which has the kernels loaded; what only a process of its own shows
(pipes, terminals, exit codes) runs as one. `UPDATE_SNAPSHOTS=1 pytest tests/test_cli.py` rewrites the
texts in `tests/snapshots/`.
"""

from __future__ import annotations

import ast
import fcntl
import importlib
import io
import json
import os
import pty
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import termios
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from blocks import first_game, rotated
from rich.console import Console

import pickosim
from pickosim import cli
from pickosim.amounts import LANE
from pickosim.bots.catalogue import bot_source
from pickosim.bots.loading import built_in_bots
from pickosim.commands.terminal import IN_ASCII
from pickosim.games.trace import Event
from pickosim.reports.layout import IntervalGrid, grid
from pickosim.reports.page import command_again
from pickosim.reports.story import TableState
from pickosim.rule_files import PRESETS, load_rules
from pickosim.rules import SPECIALISTS
from pickosim.studies.schedule import round_robin

PROGRAM = Path(sys.executable).with_name("pickosim")
SNAPSHOTS = Path(__file__).with_name("snapshots")
COMPILING = "Compiling kernels"
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Done:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    """Nothing in the environment that changes how output looks."""
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Done:
        code = cli.run(arguments)
        told = capsys.readouterr()
        return Done(code, told.out, without_waiting(told.err))

    return run


def without_waiting(err: str) -> str:
    """Notes without the one about compiling, which depends on what this machine has compiled before."""
    return "".join(line for line in err.splitlines(True) if not line.startswith(COMPILING))


def run_program(*arguments: str, **options: Any) -> Done:
    """Run a command line as a process of its own, its output a pipe."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, **options)
    return Done(done.returncode, done.stdout, without_waiting(done.stderr))


def run_in_terminal(*arguments: str, columns: int, **environment: str) -> str:
    """What a terminal of that width gets to show."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", **environment}
    with subprocess.Popen([PROGRAM, *arguments], stdout=slave, stderr=slave, env=env) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            shown += piece
    os.close(master)
    assert process.returncode == 0
    return shown.decode().replace("\r\n", "\n")


def assert_snapshot(name: str, text: str) -> None:
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def assert_plain(text: str) -> None:
    """Fit for a pipe: no colours, nothing at the end of lines, one newline at the end."""
    assert "\x1b" not in text
    assert not [line for line in text.split("\n") if line != line.rstrip()]
    assert text.endswith("\n") and not text.endswith("\n\n")


# -------------------------------------------------------------------------------------------- rules


def test_rules(run):
    done = run("rules")
    assert (done.code, done.err) == (0, "")
    assert_plain(done.out)
    assert_snapshot("rules", done.out)


@pytest.mark.parametrize("preset", PRESETS)
def test_rules_show(run, preset):
    done = run("rules", "show", preset)
    assert (done.code, done.err) == (0, "")
    assert_plain(done.out)
    assert_snapshot(f"rules-show-{preset}", done.out)


@pytest.mark.parametrize(
    ("a", "b"),
    [("classic", "short"), ("classic", "extrawurm"), ("extrawurm", "manual-extrawurm")],
)
def test_rules_diff(run, a, b):
    done = run("rules", "diff", a, b)
    assert (done.code, done.err) == (0, "")
    assert_plain(done.out)
    assert_snapshot(f"rules-diff-{a}-{b}", done.out)


def test_rules_diff_of_equals(run):
    assert run("rules", "diff", "classic", "classic").out == "Nothing differs.\n"


def test_values_in_brackets_are_shown_as_they_are(run):
    """Not taken for markup, in which [worm, …] would be a style."""
    done = run("rules", "show", "classic", "--set", "golden_die_faces=[worm,worm,worm,1,1,1]")
    assert "[worm, worm, worm, 1, 1, 1]" in done.out
    assert "[bold]" in run("rules", "show", "classic", "--set", "title=[bold]x").out


def test_a_shown_value_can_be_set(run):
    """What `rules show` prints, `--set` takes."""
    shown = run("rules", "show", "extrawurm").out
    rows = [re.split(r"\s{2,}", line) for line in shown.splitlines()[2:]]
    sets = [word for option, value, _, _ in rows for word in ("--set", f"{option}={value}")]
    assert run("rules", "show", "classic", *sets).out == shown


@pytest.mark.parametrize("name", ["", "steal", "tiles", "tiles.11", "weasel", "dice"])
def test_rules_explain(run, name):
    done = run("rules", "explain", *name.split())
    assert (done.code, done.err) == (0, "")
    assert_plain(done.out)
    assert_snapshot(f"rules-explain-{name}".removesuffix("-"), done.out)


def test_rules_explain_as_json(run):
    steal = asdict(pickosim.explain_rule("steal"))
    assert json.loads(run("rules", "explain", "steal", "--json").out) == json.loads(
        json.dumps(steal)
    )
    names = [each["name"] for each in json.loads(run("rules", "explain", "--json").out)]
    assert names == [each.name for each in pickosim.explain_rules()]


def test_rules_as_json(run):
    assert json.loads(run("rules", "show", "extrawurm", "--json").out) == (
        pickosim.load_rules("extrawurm").as_dict()
    )
    rows = json.loads(run("rules", "diff", "classic", "short", "--json").out)
    assert {"option": "flip_returned", "a": "false", "b": "true"} in rows


# ------------------------------------------------------------------------------------ watch in words


def test_watch(run):
    """Two short games that have every kind of event, or end at the turn limit."""
    short = "exact_only=[] bratworms=2 tiles={21=1,22=1,23=1,24=2,25=2,26=3}"
    starts = "{canned-worm=21,sitting-hen=22,raven=23,weasel=24,golden-die=25,apple=26}"
    sets = [*short.split(), f"specialists={starts}"]
    whole = ["random", "eager", "random", "--rules", "extrawurm", "--seed", "199"]
    whole += [word for option in sets for word in ("--set", option)]
    kinds = {event["event"] for event in events_of(run("watch", *whole, "--json").out)}
    assert kinds == set(FIELDS)
    unfinished = ["random", "random", "--set", "turn_limit=3"]
    for name, arguments in (("watch", whole), ("watch-unfinished", unfinished)):
        done = run("watch", *arguments)
        assert (done.code, done.err) == (0, "")
        assert_plain(done.out)
        assert_snapshot(name, done.out)


# --------------------------------------------------------------------------- results in words, as they are


RUNS = {
    "tournament": "tournament eager random threshold:target=23..24 --games 600 --seed 2",
    "tournament-together": "tournament eager cautious thief --rules extrawurm --together --games 300",
    "tournament-points": "tournament eager cautious thief random --rules french --players 3 --games 300 "
    "--points 5,2 --precision 1%",
    "tournament-sprt": "tournament eager random --sprt 0,10%",
    "compare": "compare classic french --bots cautious,eager --players 2-3 --games 600",
}


@pytest.mark.parametrize("name", RUNS)
def test_the_results_of_a_run(run, name):
    done = run(*RUNS[name].split(), "--workers", "1", "--out", "run", "--full")
    assert done.code == 0
    assert_plain(done.out)
    assert_snapshot(name, done.out)
    again = run("resume", "run", "--full")
    assert again.out == done.out


def test_the_results_of_a_run_fit_a_terminal(run, tmp_path):
    out = str(tmp_path / "run")
    assert run(*RUNS["compare"].split(), "--workers", "1", "--out", out).code == 0
    for columns, form in ((80, "--full"), (80, "")):
        printed = run_in_terminal("resume", out, *form.split(), columns=columns)
        shown = re.sub(r"\x1b\[[\d;]*m", "", printed)
        lines = [line.rpartition("\r")[2].rstrip() for line in shown.split("\n")]
        (end,) = [k for k, line in enumerate(lines) if " games; " in line]
        assert lines[0] == "The run is finished; nothing is left to play."
        assert max(map(len, lines[:end])) <= columns
    assert_snapshot("compare-80", "\n".join(lines[1:end]) + "\n")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("strategies", "strategies"),
        ("strategies-show-expected", "strategies show expected"),
    ],
)
def test_answers(run, name, line):
    done = run(*line.split())
    assert (done.code, done.err) == (0, "")
    assert_plain(done.out)
    assert_snapshot(name, re.sub(r"built-in: .*/", "built-in: …/", done.out))


def test_reasons_name_what_was_preferred_and_the_weasels_alternative(run):
    printed = run(
        "watch", "expected", "expected", "--why", "--set", "specialists={weasel={seat=0}}"
    ).out
    reasons = [line.strip() for line in printed.splitlines() if "(worth " in line]
    assert any(
        re.fullmatch(r"stop \(worth [\d.-]+\) rather than roll on \([\d.-]+\)", r) for r in reasons
    )
    kept = [line for line in reasons if line.startswith("keep the ")]
    assert any(re.search(r"rather than the \w+ \([\d.-]+\)", line) for line in kept)
    assert any(re.search(r"(than|,|or) roll these dice again \(-?\d", line) for line in kept)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_story_ends_like_the_game(run, preset):
    arguments = ["random", "eager", "random", "--rules", preset, "--game", "4"]
    told = run("watch", *arguments).out.splitlines()
    end = json.loads(run("watch", *arguments, "--json").out.splitlines()[-1])
    assert f"The grill is empty after {end['turns']} turns." in told
    places = sorted(zip(end["ranks"], range(3), end["scores"], strict=True))
    for (rank, seat, score), line in zip(places, told[-3:], strict=True):
        assert line.startswith(f"  {rank}. ")
        assert f"(seat {seat}): {score} worm" in line


@pytest.mark.parametrize("lost_tile", ["returned", "removed", "kept"])
def test_the_story_follows_the_tiles(lost_tile):
    rules = load_rules("extrawurm", [f"lost_tile={lost_tile}", "flip_without_return=true"])
    opening, *events = pickosim.watch(["random", "eager", "random"], rules, seed=2)
    state = TableState(opening)
    for event in events:
        state.follow(event)
    assert events[-1]["finished"] and not state.grill
    assert state.stacks == events[-1]["tiles"]


# ------------------------------------------------------------------------------------- watch as JSON

FIELDS = {
    "game": "rules players seed game grill specialists bratworms",
    "roll": "turn seat dice golden",
    "reroll": "turn seat",
    "set-aside": "turn seat face count total",
    "bratworm": "turn seat from why",
    "stop": "turn seat total canned forced",
    "take": "turn seat tile",
    "steal": "turn seat tile from",
    "steal-hen": "turn seat from",
    "fail": "turn seat reason",
    "return": "turn seat tile",
    "flip": "turn tile",
    "specialist": "turn name from to",
    "end": "turns finished tiles bratworms scores apple ranks winners",
}
"""Fields of each event beside `event`, as the page on traces lists them."""

FACES = {"1", "2", "3", "4", "5", "worm"}


def is_whole(value: object) -> bool:
    return type(value) is int


def is_place(value: Any) -> bool:
    if value == "out":
        return True
    (kind,) = value
    return kind in ("seat", "tile") and is_whole(value[kind])


TYPES = {
    "turn": is_whole,
    "seat": is_whole,
    "tile": is_whole,
    "total": is_whole,
    "count": is_whole,
    "seed": is_whole,
    "game": is_whole,
    "turns": is_whole,
    "face": lambda value: value in FACES,
    "golden": lambda value: value is None or value in FACES,
    "dice": lambda value: all(face in FACES for face in value) and value == sorted(value),
    "why": lambda value: value in ("double-one", "raven"),
    "reason": lambda value: value in ("no-new-face", "no-worm", "nothing-to-claim"),
    "canned": lambda value: type(value) is bool,
    "forced": lambda value: type(value) is bool,
    "finished": lambda value: type(value) is bool,
    "name": lambda value: value in SPECIALISTS,
    "to": is_place,
    "players": lambda value: all(type(name) is str for name in value),
    "grill": lambda value: all(map(is_whole, value)) and value == sorted(value),
    "apple": lambda value: value is None or is_whole(value),
    "tiles": lambda value: all(is_whole(tile) for stack in value for tile in stack),
    "scores": lambda value: all(map(is_whole, value)),
    "ranks": lambda value: all(map(is_whole, value)),
    "winners": lambda value: all(map(is_whole, value)) and value == sorted(value),
    "rules": lambda value: list(value) == list(pickosim.load_rules("classic").as_dict()),
    "specialists": lambda value: set(value) <= set(SPECIALISTS),
}


def is_origin(event: Event) -> bool:
    origin = event["from"]
    if event["event"] == "specialist":
        return is_place(origin)
    return is_whole(origin) or (event["event"] == "bratworm" and origin == "supply")


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def events_of(text: str) -> list[Event]:
    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


def test_every_event_has_exactly_its_fields(run):
    seen = set()
    for number in range(12):
        bots = ["random", "eager", "random", "random"]
        done = run("watch", *bots, "--rules", "extrawurm", "--json", "--game", str(number))
        assert (done.code, done.err) == (0, "")
        assert_plain(done.out)
        for event in events_of(done.out):
            kind = event["event"]
            seen.add(kind)
            assert list(event) == ["event", *FIELDS[kind].split()]
            assert all(TYPES[name](value) for name, value in event.items() if name in TYPES), event
            assert "from" not in event or is_origin(event)
    assert seen == set(FIELDS)


def test_the_opening_says_all_that_was_asked_for(run):
    done = run(
        "watch", "eager", "random", "--seed", "18446744073709551615", "--game", "7", "--json"
    )
    opening, *_, end = events_of(done.out)
    assert (opening["seed"], opening["game"]) == (18446744073709551615, 7)
    assert opening["players"] == ["eager", "random"]
    assert opening["rules"] == pickosim.load_rules("classic").as_dict()
    assert opening["grill"] == list(range(21, 37))
    assert (opening["specialists"], opening["bratworms"]) == ({}, 0)
    assert (end["apple"], end["bratworms"]) == (None, [0, 0])


def test_a_specialist_may_start_with_a_player(run):
    sets = ["--set", "specialists.apple={seat=1}"]
    done = run("watch", "eager", "random", "--rules", "extrawurm", *sets, "--json")
    assert events_of(done.out)[0]["specialists"]["apple"] == {"seat": 1}


# ------------------------------------------------------------------------ the same games everywhere


@pytest.mark.parametrize("rules", ["classic", "extrawurm", "manual"])
def test_watch_shows_the_games_of_a_run(run, rules):
    bots = ["random", "eager", "random"]
    played = pickosim.play(bots, rules, games=40, seed=6)
    for number in (0, 1, 17, 39):
        done = run("watch", *bots, "--rules", rules, "--seed", "6", "--game", str(number), "--json")
        events = events_of(done.out)
        end, game = events[-1], played.games.row(number, named=True)
        seats = played.seats.filter(played.seats["game"] == number)
        assert end["turns"] == game["turns"]
        assert end["scores"] == seats["score"].to_list()
        assert end["ranks"] == seats["rank"].to_list()
        assert [len(stack) for stack in end["tiles"]] == seats["tiles"].to_list()
        kinds = [event["event"] for event in events]
        assert kinds.count("steal") == game["steals"]
        assert kinds.count("flip") == game["flips"]
        assert kinds.count("roll") == game["rolls"]


def test_watch_shows_the_games_of_a_tournament(run):
    """By their numbers, and by the folder of the run."""
    bots = ["eager", "random", "cautious"]
    result = pickosim.tournament(bots, "classic", players=2, games=4, seed=6, out="fight")
    for matchup in round_robin(sorted(bots), 2)[0]:
        scores, first = dict.fromkeys(matchup, 0), first_game(matchup)
        for game in (str(first), str(first + 1)):
            for rotation, seating in enumerate(rotated(matchup)):
                done = run("watch", *seating, "--seed", "6", "--game", game, "--json")
                place = ["--game", game, "--rotation", str(rotation)]
                assert run("watch", "--from", "fight", *place, "--json").out == done.out
                for bot, score in zip(seating, events_of(done.out)[-1]["scores"], strict=True):
                    scores[bot] += score
        table = result.matchups.filter(pl.col("matchup") * LANE == first)
        means = dict(zip(table["bot"], table["mean_score"], strict=True))
        assert means == {bot: total / 4 for bot, total in scores.items()}


# --------------------------------------------------------------------------------------- tournament


def test_a_tournament_shows_tables_and_notes_the_rest(tmp_path):
    done = run_program(
        *["tournament", "eager", "random", "cautious", "--games", "200", "--workers", "2"],
        *["--seed", "5", "--out", "fight"],
        cwd=tmp_path,
    )
    assert done.code == 0
    assert_plain(done.out)
    lines = done.out.splitlines()
    standings = pickosim.tournament(["eager", "random", "cautious"], games=200, seed=5).standings
    assert lines[0].startswith(f"`{standings['bot'][0]}` is first: it wins ")
    assert lines[1:3] == ["", "Round robin, 2 players, rules classic, seed 5"]
    assert " ".join(lines[3].split()) == "bot win share 95 % interval score rank rating games"
    for line, row in zip(lines[4:7], standings.iter_rows(named=True), strict=True):
        bot, share, interval, score, rank, rating, games = re.split(r"\s{2,}", line)
        assert (bot, share) == (row["bot"], f"{100 * row['win_share']:.2f} %")
        assert re.fullmatch(r"\d+\.\d\d to \d+\.\d\d", interval)
        error = row["rating_error"]  # the anchor has none
        assert rating == f"{row['rating']:.0f}{'' if error is None else f' ± {error:.0f}'}"
        assert (score, rank) == (f"{row['mean_score']:.2f}", f"{row['mean_rank']:.3f}")
        assert games == "400"
    said = (
        r"600 games; [\d,]+ games/s. Tables in fight.\n"
        r"More: pickosim show fight --full, or --table scores\|lengths\|seats\|matchups\n"
        r"Page: pickosim report fight\n"
    )
    assert re.fullmatch(said, done.err)


# -------------------------------------------------------------------------------------------- bench

KEYS = {
    "name": str,
    "games_per_second": int,
    "workers": int,
    "games": int,
    "seconds": float,
    "luck_variance_ratio": float,
    "luck_time_ratio": float,
    "warm_up_seconds": float,
    "repeats": int,
    "machine": str,
    "cores": int,
    "system": str,
    "pickosim": str,
    "python": str,
    "numpy": str,
    "numba": str,
}


@pytest.fixture(scope="module")
def bench_rows():
    """The benchmark with a few games per case, run once: its form, not its figures."""
    bench = importlib.import_module("pickosim.bench")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "REPEATS", 1)
        patch.setattr(bench, "_games_for", lambda *_args, **_options: 64)
        return bench.run_bench(0.01)


@pytest.fixture
def short_bench(monkeypatch, bench_rows):
    """The command prints the benchmark that was run."""
    bench = importlib.import_module("pickosim.bench")
    monkeypatch.setattr(bench, "run_bench", lambda seconds: bench_rows)


def assert_bench(rows: list[dict[str, Any]]) -> None:
    cores = os.cpu_count() or 1
    cases = {(row["name"], row["workers"]) for row in rows}
    assert len(cases) == len(rows)
    for name in ("classic-2-eager", "extrawurm-2-eager", "extrawurm-4-eager"):
        assert (name, 1) in cases
    tournament = "tournament-classic-2-simple"
    assert {(tournament, 1), (tournament, cores)} <= cases
    assert {(f"classic-2-{kind}", 1) for kind in ("numpy", "python", "command")} <= cases
    assert ("extrawurm-2-numpy", 1) in cases
    for row in rows:
        assert {key: type(row[key]) for key in KEYS} == KEYS
        assert row["games_per_second"] > 0
        assert row["pickosim"] == pickosim.__version__


def test_bench_as_json(run, short_bench):
    done = run("bench", "--json", "--seconds", "0.01")
    assert (done.code, done.err) == (0, "")
    assert_bench(json.loads(done.out))


def test_bench_as_tables(run, short_bench):
    done = run("bench", "--seconds", "0.01")
    assert (done.code, done.err) == (0, "")
    assert_plain(done.out)
    lines = done.out.splitlines()
    assert lines[0] == "Best of 1 runs"
    assert " ".join(lines[1].split()) == "case workers games/s games"
    assert f"pickosim {pickosim.__version__}" in lines[-1]


@pytest.mark.long
def test_bench_for_real():
    done = run_program("bench", "--json", "--seconds", "0.2")
    assert (done.code, done.err) == (0, "")
    assert_bench(json.loads(done.out))


# ----------------------------------------------------------------------------------------- mistakes

BOT = "from pickosim import Strategy\nclass {}(Strategy):\n    target: int = 3\n"
PLAIN = (
    "    def pick(self, turn): return turn.best(turn.counts)\n"
    "    def stop(self, turn): return turn.can_claim\n"
)
FILES = {
    "syntax.py": "def f(:\n",
    "raises.py": "x = 1 / 0\n",
    "none.py": "x = 1\n",
    "two.py": BOT.format("A") + PLAIN + "class B(A):\n    pass\n",
    "half.py": BOT.format("Half"),
    "mixed.py": BOT.format("Half") + "class Whole(Half):\n" + PLAIN,
    "broken.toml": "claim = \n",
    "typo.toml": 'clam = "any-lower"\n',
    "bad.toml": "dice = 0\n",
}

MISTAKES = {
    "watch eagr random": 'no bot named "eagr"; did you mean "eager"? The bots are ',
    "watch eager zzzzzz": 'no bot named "zzzzzz". The bots are ',
    "watch eager threshold:targt=3": 'no parameter "targt"; did you mean "target"?',
    "watch eager threshold:target=x": 'target must be a whole number, not "x".',
    "watch eager threshold:target": '"target" is not valid; write NAME:parameter=value',
    "watch eager missing.py": "missing.py cannot be read: No such file or directory.",
    "watch eager syntax.py": "syntax.py, line 1 does not load: SyntaxError: ",
    "watch eager raises.py": "raises.py, line 1 does not load: ZeroDivisionError: division by zero.",
    "watch eager none.py": "none.py has no subclass of pickosim.Strategy;",
    "watch eager two.py": "several strategy classes (A, B); choose one, e.g. two.py:A.",
    "watch eager two.py:C": 'no strategy class "C" (it has A, B',
    "watch eager two.py:A:target=": 'target must be a whole number, not "".',
    "watch eager half.py": "Half lacks the method pick() and stop().",
    "watch eager mixed.py:Half": "Half lacks the method pick() and stop().",
    "watch eager": "2 to 7 players can play, not 1.",
    "watch" + 8 * " eager": "2 to 7 players can play, not 8.",
    "watch": "Name the bots to watch, a run with --from, or a position with --from-position: one of them.",
    "watch eager random --game -1": "there is no game -1.",
    "watch eager random --game 4611686018427387904": "there is no game 4611686018427387904.",
    "watch eager random --game x": "Invalid value for '--game'",
    "watch eager random --seed -1": "The seed must be a whole number from 0 to 2^64 - 1, not -1.",
    "watch eager random --seed 18446744073709551616": "not 18446744073709551616.",
    "watch eager random --seed 1.5": "Invalid value for '--seed'",
    "watch eager random --sed 1": 'There is no option "--sed"; did you mean "--seed"?',
    "watch eager random --rules": "Option '--rules' requires an argument.",
    "watch eager random --rules clasic": 'no preset is named "clasic"; did you mean "classic"?',
    "watch eager random --rules missing.toml": "missing.toml: the file does not exist.",
    "watch eager random --rules broken.toml": "broken.toml: the file is not valid TOML: ",
    "watch eager random --rules typo.toml": 'unknown option "clam"; did you mean "claim"?',
    "watch eager random --rules bad.toml": "dice must be a whole number from 1 to 12, not 0.",
    "watch eager random --rules folder": "folder: this is a folder, not a rule file.",
    "watch eager random --set claim": "write option=value, such as claim=any-lower.",
    "watch eager random --set clam=x": 'unknown option "clam"; did you mean "claim"?',
    "watch eager random --set claim=any": 'claim must be "next-lower", "any-lower" or "exact", not "any"',
    "watch eager random --set tiles={}": "there are no tiles; at least one is needed.",
    "watch eager random --set specialists.apple={seat=2}": "with 2 players the seats are 0 to 1.",
    "watch eager random --why --json": "--why is printed as text",
    "tournament eager": "A game of 2 needs 2 bots, and only 1 is entered;",
    "tournament eager random --players 8": "2 to 7 players can play, not 8.",
    "tournament eager random --players 1": "2 to 7 players can play, not 1.",
    "tournament eager random --games 0": 'Write games as a whole number above 0, e.g. 20000, 250k or 1M, not "0".',
    "tournament eager random --workers 0": "Workers are a whole number from 1 on, not 0.",
    "tournament eager random --seed -1": "The seed must be a whole number",
    "tournament eager random --precision 5": "A precision must be above 0 and below 1, e.g. 0.2% or 0.002",
    "tournament eager random --points 7,5,3,1": "4 numbers of points are too many for games of 2",
    "tournament eager random --points 1,2": "place 2 would get 2 and place 1 1.",
    "tournament eager random --points 1,1": "The first place must get more points than the last, not 1 and 1.",
    "tournament eager random --points win": 'Write points as numbers, the first place first, e.g. 7,5,3,1, not "win".',
    "tournament eager random --sprt 1%,0": "the lower one first",
    "tournament eager random thief --sprt 0,1%": "3 bots in games of 2 make 3: name 2 bots, or play --together",
    "tournament eager random --sprt 0,1% --precision 1%": "by --sprt or by --precision, not by both",
    "tournament eager random --focus egaer": 'no bot named "egaer"; did you mean "eager"?',
    "tournament eager random --together --players 2": "no other number of players",
    "tournament eager threshold:target=30..21": 'The range "30..21" must go from a smaller to a larger number',
    "tournament eager random --export xls": 'exported to csv, json, md, not to "xls"',
    "tournament eager random --csv --json": "printed as JSON, as CSV or in full: choose one",
    "tournament eager random --backend dask": "needs the address of a cluster",
    "tournament eager random --backend cloud": "backend cannot be 'cloud'; e.g. backend = 'dask'",
    "tournament eager random --out bad.toml": "bad.toml is a file; choose a folder with --out.",
    "resume nowhere": "nowhere is not a run folder",
    "watch --from nowhere": "nowhere is not a run folder",
    "watch --from nowhere --seed 4": "--seed cannot be combined with --from: the run has its own.",
    "watch --from nowhere --set dice=7": "--set cannot be combined with --from",
    "watch eager random --rotation 1": "--rotation goes only with --from.",
    "tournament eager random --games 1,5k": '250k or 1M, not "1,5k"',
    "tournament eager random --sprt -60%,60%": "no bot can win -10.0% of the games",
    "balance --specialists": "Option '--specialists' requires an argument.",
    "compare classic short --about fun": "A headline is about turns, first_seat, skill",
    "resume bad.toml": "bad.toml/manifest.json cannot be read: Not a directory.",
    "tournament eager syntax.py": "syntax.py, line 1 does not load",
    "tournament eager random --rules nowhere": 'no preset is named "nowhere"; the presets are ',
    "rules show": "Missing argument 'RULES'. See `pickosim rules show --help`.",
    "rules show clasic": 'did you mean "classic"?',
    "rules show classic --set x": "write option=value",
    "rules diff classic": "Missing argument 'OTHERS'.",
    "rules explain stael": 'no option or specialist is named "stael"; did you mean "steal"?',
    "rules explain x": 'no option or specialist is named "x"; `pickosim rules explain` lists them all.',
    "rules explain specialists.wesel": 'unknown specialist "wesel"; did you mean "weasel"?',
    "rules explain tiles.100": 'unknown tile "100"; tiles have values from 1 to 99.',
    "rules dif classic short": "No such command 'dif'. Did you mean 'diff'?",
    "rules classic": "No such command 'classic'. To show one: `pickosim rules show classic`. See",
    "bench --seconds 0": "Invalid value for '--seconds'",
    "bench --seconds inf": "Invalid value for '--seconds'",
    "bench fast": "Got unexpected extra argument",
    "wach": "No such command 'wach'. Did you mean 'watch'?",
    "play eager random": "No such command 'play'. One game: `pickosim watch eager thief`; many: `pick",
    "sweep": "No such command 'sweep'. The best value of a parameter: `pickosim tune thr",
    "analyze": "No such command 'analyze'. Did you mean 'analyse'?",
    "check cmd:python3 bot.py": "(bot.py). Put a bot's command in quotes: 'cmd:python3 bot.py'. See",
    "tournament cmd:python3 bot.py": "it names no file: put the whole command in quotes",
    "--nope": 'There is no option "--nope".',
}


def test_a_mistake_is_answered_with_one_sentence(run, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "folder").mkdir()
    for line, words in MISTAKES.items():
        done = run(*line.split())
        assert (done.code, done.out) == (2, ""), line
        assert done.err.startswith("pickosim: ") and done.err.endswith("\n"), line
        assert done.err.count("\n") == 1, f"{line}: one line"
        assert words in done.err


def test_a_bot_that_errs_is_told_after_the_game_so_far(run, tmp_path):
    body = PLAIN.replace("turn.best(turn.counts)", "turn.best(turn.counts) * 0 + 7")
    (tmp_path / "wrong.py").write_text(BOT.format("Wrong") + body, encoding="utf-8")
    done = run("watch", "eager", "wrong.py:target=5", "--game", "3")
    assert done.code == 2
    assert "Turn 2: wrong.py:target=5 (seat 1)" in done.out
    assert done.err.count("\n") == 1
    assert "pick() returned 7; legal: " in done.err
    assert "To see that game: pickosim watch eager wrong.py:target=5 " in done.err


def test_a_mistake_ends_the_process_with_2():
    done = run_program("watch", "eager", "random", "--sed", "1")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("pickosim: ") and done.err.count("\n") == 1


@pytest.mark.parametrize("meant", sorted(set(cli.MEANT.values())))
def test_what_is_suggested_in_place_of_an_unknown_command_exists(meant, run):
    for line in re.findall("`pickosim ([^`]+)`", meant):
        assert run(*line.split(), "--help").code == 0


def test_the_package_can_be_run_as_a_module():
    command = [sys.executable, "-m", "pickosim", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{pickosim.__version__}\n", "")


# ------------------------------------------------------------------------------ pipes and terminals


def test_without_a_command_there_is_help_which_is_plain_in_a_pipe():
    done = run_program()
    assert (done.code, done.err) == (2, "")
    assert_plain(done.out)
    for command in ("rules", "watch", "tournament", "bench"):
        (line,) = (line for line in done.out.splitlines() if line.split()[:1] == [command])
        assert line.endswith("."), "the whole sentence"
    assert run_program("--help").out == done.out


@pytest.mark.parametrize("line", ["rules show extrawurm", "watch eager random --json"])
def test_a_reader_who_has_read_enough_may_go(line):
    command = f"{PROGRAM} {line} | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, without_waiting(done.stderr)) == (0, "")
    assert done.stdout.count("\n") == 1


def test_a_reader_who_never_came_is_no_error():
    command = f"{PROGRAM} rules | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    """A finished run."""
    folder = tmp_path_factory.mktemp("kept") / "run"
    pickosim.tournament(["eager", "random"], games=20, workers=1, out=folder)
    return folder


@pytest.mark.parametrize(
    ("options", "forced"), [([], {"FORCE_COLOR": "1"}), (["--csv"], {}), (["--json"], {})], ids=str
)
def test_a_reader_who_has_gone_is_no_error_after_a_run(kept, options, forced):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [PROGRAM, "show", kept, *options],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **forced},
    )
    os.close(writer)
    assert done.returncode == 0
    assert "Error" not in done.stderr


def in_encoding(text: str, encoding: str) -> str:
    """A text with ASCII forms of what an encoding lacks."""
    return "".join(sign if sign.encode(encoding, "ignore") else IN_ASCII[sign] for sign in text)


@pytest.mark.parametrize("encoding", ["ascii", "cp437"])
def test_output_is_readable_in_any_encoding(kept, encoding, run):
    done = subprocess.run(
        [PROGRAM, "show", kept],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        check=True,
    )
    whole = run("show", str(kept)).out
    assert not whole.isascii()
    assert done.stdout.decode(encoding) == in_encoding(whole, encoding)


def test_games_are_not_lost_to_an_encoding_and_neither_are_names(tmp_path):
    (tmp_path / "größe.py").write_text(bot_source(tmp_path / "größe.py"), encoding="utf-8")
    line = "tournament größe.py eager --games 20 --workers 1 --out run"
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"}
    done = run_program(*line.split(), cwd=tmp_path, env=env)
    assert done.code == 0, done.err
    assert "gr\\xf6\\xdfe.py" in done.out
    shown = run_program("show", "run", "--json", cwd=tmp_path, env=env).out
    assert {row["bot"] for row in json.loads(shown)["standings"]} == {"größe.py", "eager"}


def test_every_sign_of_our_texts_has_an_ascii_form():
    signs: set[str] = set()
    for path in Path(pickosim.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = list(ast.walk(tree))
        docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and node not in docstrings:
                signs |= set(node.value if isinstance(node.value, str) else "")
    ours = {sign for sign in signs if sign.isprintable() and not sign.isascii()}
    assert ours <= set(IN_ASCII)


def test_a_run_whose_name_is_not_utf8_hides_no_other(kept, run, tmp_path):
    for name in (b"good", b"\xff", b"\xfe broken"):
        shutil.copytree(os.fsencode(kept), os.path.join(os.fsencode(tmp_path), b"runs", name))  # noqa: PTH118
    (tmp_path / os.fsdecode(b"runs/\xfe broken/manifest.json")).write_text("{")
    listed = run("runs", "--json")
    assert (listed.code, listed.err) == (0, "")
    status = {row["run"]: row["status"] for row in json.loads(listed.out)}
    assert status == {
        "runs/good": "finished",
        "runs/\\xff": "finished",
        "runs/\\xfe broken": "unreadable",
    }
    assert all(name in run_program("runs", cwd=tmp_path).out for name in status)
    shown = run_program("show", os.fsdecode(b"runs/\xff"), cwd=tmp_path)
    assert (shown.code, "Tables in runs/\\xff.\n" in shown.err) == (0, True)


def test_a_pipe_gets_whole_lines_whatever_the_width(run, monkeypatch):
    wide = run("rules", "show", "extrawurm").out
    monkeypatch.setenv("COLUMNS", "40")
    assert run("rules", "show", "extrawurm").out == wide


def test_a_terminal_gets_lines_that_fit():
    shown = run_in_terminal("rules", "show", "extrawurm", columns=60)
    assert "\x1b[1m" in shown
    lines = [line.rstrip() for line in ESCAPE.sub("", shown).splitlines()]
    assert max(map(len, lines)) <= 60
    assert "golden-die=27" in ESCAPE.sub("", shown), "broken between words only"


def test_a_story_in_a_terminal():
    arguments = ["watch", "eager", "random", "--rules", "extrawurm"]
    shown = run_in_terminal(*arguments, columns=80)
    assert "\x1b[32m" in shown, "green for what succeeds"
    lines = ESCAPE.sub("", shown).splitlines()
    assert all(len(line) <= 80 for line in lines)
    start = next(n for n, line in enumerate(lines) if line.startswith("    grill: "))
    assert lines[start + 1].startswith("    27(golden-die)"), "goes on under its beginning"
    words = " ".join(ESCAPE.sub("", shown).split())
    piped = " ".join(run_program(*arguments).out.split())
    assert words.endswith(piped), "the same words as in a pipe"


def test_no_color_is_respected_and_a_terminal_named_dumb_gets_plain_text():
    shown = run_in_terminal("watch", "eager", "random", columns=80, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", shown)
    assert "\x1b" not in run_in_terminal("rules", columns=80, TERM="dumb")


# ------------------------------------------------------------------------------------------- kept runs


def test_runs_are_listed_and_shown_again_as_they_finished(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shown = []
    for form in ([], ["--csv"], ["--json"]):
        played = ["tournament", "eager", "random", "--games", "20", "--workers", "1", *form]
        assert cli.run([*played, "--out", "runs/a b"] if not form else played) == 0
        done = capsys.readouterr()
        if not form:
            assert cli.run(["show", "runs/a b"]) == 0
            assert capsys.readouterr() == done, "the note on standard error, too"
        else:
            assert cli.run(["show", "runs/a b", *form]) == 0
            again = capsys.readouterr().out
            if form == ["--csv"]:
                assert again == done.out
            else:
                assert json.loads(again)["standings"] == json.loads(done.out)["standings"]
        shown.append(done.out)
    Path("runs/broken").mkdir()
    Path("runs/broken/manifest.json").write_text("{", encoding="utf-8")
    assert cli.run(["runs", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    by_run = {row["run"]: row for row in rows}
    assert rows == pickosim.list_runs("runs").to_dicts() and len(rows) == 4
    assert by_run["runs/broken"]["status"] == "unreadable"
    first = by_run["runs/a b"]
    assert (first["kind"], first["status"], first["games"]) == ("tournament", "finished", 20)
    assert first["headline"] == shown[0].splitlines()[0]
    assert cli.run(["runs"]) == 0
    listed = capsys.readouterr().out
    assert_plain(listed)
    assert first["headline"] in listed and "unreadable" in listed
    assert cli.run(["runs", "elsewhere"]) == 0
    assert capsys.readouterr().out == ""


def test_one_screen_by_default_and_all_or_one_table_on_request(kept, run):
    short = run("show", str(kept))
    full = run("show", str(kept), "--full")
    assert set(short.out.splitlines()) < set(full.out.splitlines())
    assert ("By seat" in short.out, "By seat" in full.out) == (False, True)
    assert ("--table" in short.err, "--table" in full.err) == (True, False)
    seats = json.loads(run("show", str(kept), "--json").out)["seats"]
    assert json.loads(run("show", str(kept), "--table", "seats", "--json").out) == seats
    csv = run("show", str(kept), "--table", "seats", "--csv").out.splitlines()
    text = run("show", str(kept), "--table", "seats").out.splitlines()
    assert len(csv) == len(text) - 1 == len(seats) + 1
    wrong = run("show", str(kept), "--table", "seat")
    assert wrong.code == 2 and 'did you mean "seats"?' in wrong.err
    assert run("show", str(kept), "--full", "--csv").code == 2


def test_a_tournament_of_ten_bots_fits_a_screen(tmp_path):
    bots = ["threshold:target=21..29", "eager"]
    out = str(tmp_path / "run")
    pickosim.tournament(bots, games=20, out=out, workers=1)
    shown = run_in_terminal("show", out, columns=100)
    assert len(shown.splitlines()) <= 40


def test_a_comparison_of_three_variants_fits_a_screen(tmp_path):
    out = str(tmp_path / "run")
    rules = ["classic", "short", "french"]
    result = pickosim.compare(rules, ["expected", "eager"], games=200, out=out, workers=1).manifest[
        "result"
    ]
    assert sum(map(len, result["by_variant"].values())) > 5
    lines = run_in_terminal("show", out, columns=100).splitlines()
    assert len(lines) <= 40
    assert sum("- " in line for line in lines) == 5
    assert all(
        any(f"{name} compared with classic:" in line for line in lines) for name in rules[1:]
    )


def test_all_names_the_built_in_bots_and_a_focus_enters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {"games": 2, "workers": 1, "chunk": 1}
    entered = pickosim.tournament(["all", "eager"], **options).standings["bot"].to_list()
    assert sorted(entered) == sorted([*built_in_bots(), "eager#2"])
    gauntlet = pickosim.tournament(["eager", "thief"], focus="random", **options)
    assert {"random"} < {*gauntlet.standings["bot"]} == {"eager", "thief", "random"}
    assert all("random" in bots for bots in gauntlet.manifest["plan"]["matchups"])
    for option, said in (({"focus": "all"}, "The focus is one bot"), ({"focus": "egaer"}, "eager")):
        with pytest.raises(pickosim.PickosimError, match=said):
            pickosim.tournament(["eager", "thief"], **option)
    with pytest.raises(pickosim.PickosimError, match=r"Name one bot, e\.g\. winner"):
        pickosim.rank("threshold:target=21..23")


def test_the_command_to_run_it_again_leaves_the_folder_of_this_run_alone():
    kept = ["pickosim", "tournament", "my bots/it's.py", "eager", "--set", "tiles={21=1}"]
    for folder in (
        ["--out", "runs/a b"],
        ["--out=runs/a b", "--workers=1"],
        ["--workers", "2"],
        [],
    ):
        command = shlex.join([*kept[:3], *folder, *kept[3:]])
        assert shlex.split(command_again(command)) == kept


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_table_breaks_no_number_and_no_name(width):
    """Columns that do not fit come in a table of their own, with the names again."""
    names = ["threshold:target=25", "late-worms"]
    numbers = [f"{number:,} ± 12.5 %" for number in (1_234_567, 12, 800_000, 3)]
    columns = [("bot", "left"), *((f"column {k}", "right") for k in range(4)), ("text", "left")]
    rows = [(name, *numbers, "some words that may be broken") for name in names]
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(grid("A title", columns, rows))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    for name in names:
        found = " ".join(line for line in lines if name in line)
        assert all(number in found for number in numbers)
    assert all(any(heading in line for line in lines) for heading, _ in columns)


def test_no_cell_and_no_drawing_is_cut():
    """Of a comparison, whose label and reference leave no room for another column, and of drawn intervals."""
    for width in range(57, 100):
        assert_nothing_is_cut(width)


def assert_nothing_is_cut(width):
    label = "first seat, points above even (2 players)"
    compared = grid(
        "Compared",
        [("", "left"), ("a", "right"), ("b", "right"), ("verdict", "left")],
        [(label, "28.75 ± 0.18", "17.72 ± 0.06*", "too strong")],
        2,
    )
    ends = [(3.9, 3.1, 4.7), (-0.1, -0.9, 0.7)]
    rows = [
        ["raven", "+3.9 ± 0.8*", "too strong", "+3.30"],
        ["weasel", "-0.1 ± 0.8", "undecided", "-0.74"],
    ]
    headings = [("", "left"), ("points", "right"), ("verdict", "left"), ("vs others", "right")]
    for shown in (compared, IntervalGrid("Drawn", headings, rows, 2, ends)):
        console = Console(width=width, file=io.StringIO())
        with console.capture() as captured:
            console.print(shown)
        lines = captured.get().splitlines()
        assert max(map(len, lines)) <= width
        cells = [label, "28.75 ± 0.18", "17.72 ± 0.06*", "too"]
        if shown is not compared:
            cells = [*(cell for row in rows for cell in row if cell != "too strong"), "too"]
            drawings = [line for line in lines if "●" in line]
            assert len(drawings) == 2
            assert all(line.count("─") >= 1 for line in drawings)
            assert any("raven" in line for line in drawings)
        assert all(any(cell in line for line in lines) for cell in cells), captured.get()


def test_ctrl_c_after_the_command_is_over_ends_the_process_without_a_traceback():
    """Python may still be waiting for workers then; it goes through what is registered for its end."""
    code = (
        "import atexit, os, signal, sys; from pickosim.cli import main; sys.argv[1:] = ['--version']; "
        "atexit.register(os.kill, os.getpid(), signal.SIGINT); main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")


def test_a_short_text_leaves_out_columns_that_do_not_fit():
    columns = [("bot", "left"), ("win share", "right"), ("games", "right")]
    whole = grid("Standings", columns, [("eager", "50.00 %", "1,800")])
    for shown, has_games in ((whole, True), (replace(whole, is_whole=False), False)):
        console = Console(width=18, file=io.StringIO())
        with console.capture() as captured:
            console.print(shown)
        assert "50.00 %" in captured.get()
        assert ("1,800" in captured.get()) is has_games


def test_a_gauntlet_of_two_players_has_no_cross_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arguments = ["tournament", "eager", "random", "thief", "--games", "4", "--workers", "1"]
    for focus, is_crossed in (([], True), (["--focus", "thief"], False)):
        assert cli.run([*arguments, *focus]) == 0
        assert ("Finishes ahead of" in capsys.readouterr().out) is is_crossed
