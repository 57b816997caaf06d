"""Whole command lines that are made up: each ends with results or with a sentence, never with a traceback, nor hangs."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pickosim
from pickosim import cli
from pickosim.bots.catalogue import write_bot

LINES = int(os.environ.get("PICKOSIM_LINES", "1000"))
SEED = int(os.environ.get("PICKOSIM_SEED", str(time.time_ns() % 2**32)))
"""Printed with every failure: with it, the same lines are made again."""

HANGS = 120
"""Seconds for a line."""

LONG = "n" * 300
NUMBERS = ["0", "1", "2", "4", "7", "8", "-1", "1.5", "1e3", "10k", "9" * 400, "-" + "9" * 30, "nan", "inf", "1e400",
           "2-5", "5-2", "2,4", "1,,2", "0x10", "١٢", "18446744073709551615", "18446744073709551616", "1e-400"]  # fmt: skip
SHARES = [
    "0.2%",
    "1%",
    "100%",
    "0",
    "-1%",
    "nan%",
    "1e400%",
    "0.5",
    "%",
    "0,1%",
    "1,0%",
    "-1,1%",
    "0,0",
    "0,nan",
    "5,5",
]
TEXTS = ["", " ", "-", "--", "\t", "ä", "\udcff", "'", '"', "a=b", "=", ":", ",", "[", "{", "\x1b[31m", LONG, "%s", "../..",
         "/dev/null", "/", ".", "~", "*", "cmd:", "cmd:'", "cmd:false", "cmd:nothing", "all", "None", "true"]  # fmt: skip
BOTS = ["eager", "random", "threshold:target=25", "threshold:target=21..23", "threshold:target=x", "threshold:aim=1",
        "eager,random", "eagre", "bot.py", "bot.py:Bot", "bot.py:None", "bot.py:target=3", "broken.py", "fails.py", "empty.py", "folder.py",
        "none.py", "eager:a=1,a=2", "eager:=", "expected:hen=1e400", "champion", "winner:hen=nan", "#2", "eager#2"]  # fmt: skip
RULES = [
    "classic",
    "extrawurm",
    "french",
    "clasic",
    "rules.toml",
    "broken.toml",
    "none.toml",
    "folder.py",
    "rules.toml ",
]
SETS = ["dice=7", "dice=0", "dice=99999999999999999999", "dice=x", "dice", "=7", "tiles.21=5", "tiles.x=1", "tiles={}",
        "specialists.hen=nowhere", "specialists.hen={seat=0}", "specialists.hen={", "dice=[[[[", "dice=" + "[" * 5000,
        "lost_tile=removed", "turn_limit=1", "turn_limit=-1", "bratworm_ones=2", "dice=nan", "dice=1e400", "dice=true"]  # fmt: skip
RUNS = ["run", "compared", "tuned", "analysed", "forged", "none", "folder.py", "bot.py", "runs", "stopped"]  # fmt: skip
POSITIONS = [
    "22-23,25-28,31 24.30/33 1 rules classic; aside ww44; roll 1355",
    "22-30 -/24/27.31 2 rules extrawurm; on raven=23,apple=29; holds weasel/-/-; bratworms 2/1/0; turn 9; seed 7",
    "22-30 -/24 1",
    "22-30 -/24 1 rules none.toml",
    "21-36 -/-/-/-/-/-/-/- 0",
    "22 - 0 turn 9; turn 8",
    "{}",
    '{"players": ["random", "eager"]}',
    "-",
]
NAMES = ["standings", "seats", "mistakes", "settings", "apple", "weasel", "win_share", "turns", "classic", "help", "tune"]  # fmt: skip
FILES = [
    "position.json",
    "broken.json",
    "rules.toml",
    "experiment.toml",
    "bot.py",
    "run",
    "none.json",
    "/dev/null",
    "out.npz",
]
DICE = [
    "ww444",
    "2w,3x4",
    "11111111",
    "9",
    "wwwwwwwww",
    "0",
    "21-36",
    "21,22",
    "36-21",
    "99",
    "apple",
    "7,4",
    "w" * 400,
]
VALUES = {
    "BOT": BOTS, "BOT,…": BOTS, "RULES": RULES, "RUN": RUNS, "FILE": FILES, "OPTION=VALUE": SETS, "NUMBER": NUMBERS,
    "NUMBERS": NUMBERS + DICE, "SECONDS": NUMBERS, "HALF": SHARES, "LOW,HIGH": SHARES, "SHARE": SHARES, "DICE": DICE, "TILES": DICE, "TILE": DICE, "FACES": DICE, "FACE": DICE,
    "LINE|FILE|-": [*POSITIONS, *FILES], "NAME": NAMES, "NAME,…": NAMES, "MEASURE": NAMES, "COMMAND": NAMES, "BOTS": BOTS,
    "NAME=TILE,…": ["apple=22", "raven=99", "dodo=21", "apple=22,apple=23", "=", "hen=x"], "WORMS": ["1,2", "1/2", "-1", "9" * 30],
    "OPTION=VALUE,…": [*SETS, "dice=7,8", "dice=7..99", "dice=5..7,dice=8"], "TURN": NUMBERS, "FOLDER": RUNS,
    "auto|on|off": ["auto", "on", "off"], "forfeit|stop": ["forfeit", "stop"], "gone|grill": ["gone", "grill"],
    "csv,json,md": ["csv", "json,md", "csv,csv", "html"], "FILE|none": [*FILES, "none"], "OTHERS": RULES,
}  # fmt: skip
EVERYTHING = [*NUMBERS, *SHARES, *TEXTS, *BOTS, *RULES, *SETS, *RUNS, *FILES, *DICE, *POSITIONS]

SMALL = {
    "games": "4",
    "workers": "1",
    "rounds": "1",
    "test_games": "4",
    "final_games": "4",
    "seconds": "0.01",
    "max_matchups": "3",
    "chunk": "4",
}
"""What is always given, so that a line is over soon."""

FAILS = """
from pickosim import SimpleStrategy
class Fails(SimpleStrategy):
    def pick(self, turn): return max(turn.legal)
    def stop(self, turn): return turn.can_claim and 1 / (36 - turn.number) > -9
"""
"""A bot that fails in the 36th turn of a game."""

LEFT_OUT = {"install_completion", "show_completion", "scheduler"}
"""Options that change the user's shell, or wait for a cluster."""

SLOW = {"bench", "train", "calibrate", "balance", "rank", "check"}
"""Commands that take seconds however small they are: with them, something is always wrong."""


def commands() -> dict[tuple[str, ...], Any]:
    """All commands by their words."""
    whole = cli.whole_command()
    found: dict[tuple[str, ...], Any] = {(): whole}
    for name in whole.commands:
        found[name,] = command = (
            cli.command_named(name) if name in cli.COMMANDS else whole.commands[name]
        )
        for part, inner in getattr(command, "commands", {}).items():
            found[name, part] = inner
    return found


def made_up(chance: random.Random, known: dict[tuple[str, ...], Any]) -> list[str]:
    """A command line of which some parts are likely to be right."""
    words = chance.choice(list(known))
    line, seldom = [*words], chance.random() < 0.5
    for parameter in known[words].params:
        name = parameter.name or ""
        if name in LEFT_OUT:
            continue
        is_argument = parameter.param_type_name == "argument"
        if name not in SMALL and chance.random() > (0.9 if is_argument else 0.15):
            continue
        flag = [] if is_argument else [chance.choice(parameter.opts)]
        if getattr(parameter, "is_flag", False):
            line += flag
            continue
        several = parameter.nargs == -1 or getattr(parameter, "multiple", False)
        for _ in range(chance.randint(1, 4) if several else 1):
            pool = VALUES.get(parameter.metavar or "", EVERYTHING)
            value = chance.choice(
                pool if chance.random() < (0.95 if seldom else 0.7) else EVERYTHING
            )
            if name in SMALL and chance.random() < 0.85:
                value = SMALL[name]
            if name in ("games", "rounds", "test_games", "final_games", "workers") and value in (
                "10k",
                "1e3",
            ):
                value = "8"
            line += [*flag, value] if flag else [value]
    if words and words[0] in SLOW:
        line.insert(
            chance.randint(len(words), len(line)), "--" + chance.choice(["nothing", "seed=x", LONG])
        )
    elif chance.random() < 0.1:
        line.insert(chance.randint(0, len(line)), chance.choice(EVERYTHING))
    return line


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with files of all kinds, right and wrong."""
    place = tmp_path_factory.mktemp("lines")
    os.chdir(place)
    write_bot(place / "bot.py")
    texts = {
        "broken.py": "def (", "empty.py": "", "fails.py": FAILS, "broken.toml": "dice = [", "broken.json": "[" * 200_000,
        "rules.toml": 'extends = "extrawurm"\ndice = 7\n', "out.npz": "no weights",
        "experiment.toml": 'kind = "tournament"\nquestion = "Who?"\n[plan]\nbots = ["eager", "random"]\ngames = 4\n',
    }  # fmt: skip
    for name, text in texts.items():
        (place / name).write_text(text, encoding="utf-8")
    (place / "folder.py").mkdir()
    pickosim.tournament(["eager", "random"], games=4, out="run", workers=1)
    pickosim.compare(["classic", "french"], ["eager"], games=4, out="compared", workers=1)
    pickosim.tune("threshold:target=21..22", against=["eager"], games=40, out="tuned", workers=1)
    pickosim.analyse("eager", games=4, out="analysed", workers=1)
    for name in ("forged", "stopped"):
        (place / name).mkdir()
    (place / "forged" / "manifest.json").write_text(
        '{"plan": {}, "kind": "x", "status": []}', "utf-8"
    )
    for name in ("manifest.json", "plan.json"):
        (place / "stopped" / name).write_bytes((place / "run" / "plan.json").read_bytes())
    position = json.dumps(pickosim.position(["eager", "random"], turn=5))
    (place / "position.json").write_text(position, encoding="utf-8")
    return place


class Hangs(BaseException):
    """A line takes too long; nothing that the command line would answer."""


def fate(line: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    """What is wrong with how a line ended; nothing if it ended as it should."""

    def hangs(number: int, frame: object) -> None:
        raise Hangs

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(HANGS)
    out = sys.stdout
    try:
        code = cli.run(line)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException as error:
        step = error.__traceback__
        while step is not None and step.tb_next is not None:
            step = step.tb_next
        where = "" if step is None else f"{step.tb_frame.f_code.co_filename}:{step.tb_lineno}"
        return f"{type(error).__name__}: {str(error)[:200]} ({where})"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        sys.stdout = out
    said = capfd.readouterr()
    if "Traceback" in said.err:
        return said.err[-300:]
    if code not in (0, 1, 2):
        return f"exit code {code}"
    if code and not said.err.strip() and not said.out.strip():
        return f"exit code {code} without a word"
    return said.err[-300:] if "the output cannot be written" in said.err else ""


def lines(number: int, seed: int) -> Iterator[list[str]]:
    chance, known = random.Random(seed), commands()
    for _ in range(number):
        yield made_up(chance, known)


@pytest.mark.long
@pytest.mark.timeout(20_000)
def test_no_line_ends_with_a_traceback(place, capfd, monkeypatch):
    monkeypatch.setattr("sys.stdin", open(os.devnull, encoding="utf-8"))  # noqa: SIM115, PTH123
    failed = {}
    for line in lines(LINES, SEED):
        os.chdir(place)
        if problem := fate(line, capfd):
            failed[shlex.join(line)[:400]] = problem
    assert not failed, f"seed {SEED}, {len(failed)} of {LINES} lines:\n" + "\n".join(
        f"{line}\n    {problem}" for line, problem in failed.items()
    )


@pytest.mark.parametrize(
    "line",
    [
        ["tune", "eager", "--within", "\udcff"],
        ["compare", "--about", "\udcff"],
        ["extend", "none", "--export", "\udcff"],
        ["analyse", "eager", "--games", "4", "--workers", "9" * 400],
    ],
)
def test_lines_that_ended_with_a_traceback(line, capfd):
    """Found by made-up lines."""
    assert not fate(line, capfd)
