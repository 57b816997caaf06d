"""README and docs/: every command works, shown output is what the command prints, and every link leads somewhere."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from shown import CHECKOUT, Command, commands, comparable, printed, write_files

import pickosim
from pickosim.amounts import LANE
from pickosim.bots.catalogue import write_bot

PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]

SMALL = {
    "tournament": ["--games", "8", "--workers", "1"],
    "extend": ["--games", "8", "--workers", "1"],
    "rank": ["--games", "40", "--workers", "1"],
    "tune": ["--games", "8", "--workers", "1"],
    "analyse": ["--games", "8", "--workers", "1"],
    "compare": ["--games", "8", "--players", "2", "--workers", "1"],
    "balance": ["--games", "20", "--players", "2", "--workers", "1"],
    "run": ["--games", "8", "--workers", "1"],
    "calibrate": ["--games", "8", "--workers", "1"],
    "train": [
        "--games",
        "40",
        "--rounds",
        "1",
        "--test-games",
        "16",
        "--final-games",
        "16",
        "--workers",
        "1",
    ],
}
"""A command takes the last value of an option: what is appended makes it short."""

ELSEWHERE = {"bench", "check"}
"""Commands that take long even so: `test_cli.py` and `test_authoring.py` run them."""


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> Path:
    """A small run, which documents call RUN."""
    folder = tmp_path_factory.mktemp("pages") / "RUN"
    pickosim.tournament(["eager", "random", "thief"], games=4, out=folder, workers=1)
    return folder


def prepare(page: Path, played: Path) -> None:
    """Put into the current folder what a page speaks of: RUN, experiments, strategies, my_bot.py."""
    shutil.copytree(played, "RUN")
    for folder in ("experiments", "strategies"):
        Path(folder).symlink_to(CHECKOUT / folder)
    text = page.read_text(encoding="utf-8")
    write_files(text)
    if "$ pickosim new" in text:
        return  # the first command writes my_bot.py
    own = re.search(r"```python\n([^`]*class MyBot\b.*?def pick.*?)```", text, re.S)
    if own:
        Path("my_bot.py").write_text(own[1], encoding="utf-8")
    else:
        write_bot(Path("my_bot.py"))


def is_new(text: str) -> bool:
    """Whether a command has not been run on another page, with the same files."""
    about = [
        text,
        *(Path(name).read_text() for name in ["my_bot.py"] if name in text and Path(name).exists()),
    ]
    known = tuple(about) in _done
    _done.add(tuple(about))
    return not known


_done: set[tuple[str, ...]] = set()


def number_of_a_game() -> str:
    return str(pl.read_parquet("RUN/matchups.parquet")["matchup"][0] * LANE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_every_command_works_and_prints_what_is_shown(page, played, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    prepare(page, played)
    for command in commands(page.read_text(encoding="utf-8")):
        if command.words[0] in ELSEWHERE and command.shown is None:
            continue
        if not is_new(command.text):
            continue
        text = command.text.replace("GAME", number_of_a_game())
        exact = command.shown is not None and not command.smaller
        run = Command(command.line, text)
        code, lines, notes = printed(run, [] if exact else SMALL.get(run.words[0], []))
        where = f"{page.name}, line {command.line + 1}: {text}"
        assert code == 0, f"{where}\n{notes}"
        if exact:
            assert comparable(lines) == comparable(command.shown), where
        elif command.shown is not None:
            assert first_words(lines[0]) == first_words(command.shown[0]), where


def first_words(line: str) -> list[str]:
    """The bot and the verb: the place that follows depends on how many games are played."""
    return line.split()[:2]


def test_commands_are_found():
    text = "    pickosim a  # why\n\n```console\n$ pickosim b 'c d'\n1\n2\n$ pickosim e\n```\n<!-- not run: x -->\n\n    pickosim f\n## g\n    pickosim h\n"
    found = list(commands(text))
    assert [command.words for command in found] == [["a"], ["b", "c d"], ["e"], ["h"]]
    assert [command.shown for command in found] == [None, ("1", "2"), (), None]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_every_link_leads_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_index_names_every_page():
    index = (CHECKOUT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (CHECKOUT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"]({page.name})" in index, page.name


def test_the_readme_is_short():
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    assert len(text.split("\n")) <= 200
