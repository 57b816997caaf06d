"""Bots that are programs: the same games through the pipe, and a sentence for every way to fail."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_conformance import QUICKER, executor, wrong  # noqa: F401

import pickosim
from pickosim.bots import command
from pickosim.bots.catalogue import describe
from pickosim.bots.command import answers_in
from pickosim.bots.loading import (
    check_bot_sources,
    command_of,
    expand,
    load_bot,
    make_entrants,
    parts_of,
    spec_of,
    split_bot_list,
)
from pickosim.bots.view import METHODS
from pickosim.cli import run
from pickosim.errors import AnswerError, BotError, StrategyError
from pickosim.games.batch import play_games
from pickosim.games.check import MEMORY, Finding, check_bot, first_difference
from pickosim.games.match import make_match
from pickosim.rule_files import PRESETS, load_rules

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/protocol.md").read_text(encoding="utf-8")
MY_BOT = PAGE.partition("```python\n")[2].partition("```")[0]
PYTHON = shlex.quote(sys.executable)

NUMBERS = ("pick", "claim", "rob")

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def eager_in_c(tmp_path_factory) -> str:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    program = tmp_path_factory.mktemp("c") / "eager"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "-o", program, ROOT / "examples/eager.c"], check=True)
    return f"cmd:{shlex.quote(str(program))}"


def example(name: str) -> str:
    return f"cmd:{shlex.quote(str(ROOT / 'examples' / name))}"


def written(*changes: tuple[str, str], name: str = "my_bot.py") -> str:
    """The spec of the page's bot, with some changes."""
    text = MY_BOT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    Path(name).write_text(text, encoding="utf-8")
    return f"cmd:{PYTHON} {name}"


def differ(bot: str, other: str, rules: str, players: int, games: int) -> int | None:
    own, known = (
        play_games(make_match([each, *["eager"] * (players - 1)], rules, 3), 0, games)
        for each in (bot, other)
    )
    return first_difference(own, known)


# ---------------------------------------------------------------------------------------- the same games


@pytest.mark.parametrize("preset", PRESETS)
def test_eager_in_c_plays_the_same_games(preset, eager_in_c):
    for players in range(2, 8):
        assert differ(eager_in_c, "eager", preset, players, 5) is None


@needs_node
def test_eager_and_random_in_javascript_play_the_same_games():
    assert differ(example("eager.js"), "eager", "classic", 2, 20) is None
    assert differ(example("random.js"), "random", "extrawurm", 4, 20) is None


LOG = (
    "        answers =",
    "        open('log', 'a').write(f'{message[\"games\"]}\\n')\n        answers =",
)
"""The program notes about how many games it is asked."""


def test_a_program_that_says_what_it_reads_is_asked_once_about_games_that_are_alike():
    rules = load_rules("classic", ["turn_limit=40"])
    results, asked = [], []
    for field in ("fields", "reads"):
        bot = written(('"reads"', f'"{field}"'), LOG, name=f"{field}.py")
        results.append(play_games(make_match([bot, "eager", "thief"], rules, 3), 0, 600))
        asked.append(sum(map(int, Path("log").read_text().split())))
        Path("log").unlink()
    assert first_difference(*results) is None
    assert asked[1] < asked[0] / 3


def test_workers_make_no_difference(only_workers):
    bots = [written(), f"{written()}:target=23", "eager"]
    one, two = (pickosim.tournament(bots, games=200, workers=workers) for workers in (1, 2))
    assert one.standings.equals(two.standings)
    assert one.pairs.equals(two.pairs)


def test_the_check_is_the_compliance_test(executor):  # noqa: F811
    def findings(bot: str) -> dict[str, Finding]:
        return {finding.point: finding for finding in check_bot(bot, QUICKER, executor)}

    assert wrong(findings(written())) == []
    forgetful = written(
        ('"reads"', '"fields"'),
        ("for line in", "asked = 0\nfor line in"),
        ("        answers =", "        asked += 1\n        answers ="),
        (">= target\n", ">= target and asked % 5 > 0\n"),
    )
    assert MEMORY in wrong(findings(forgetful))


# ----------------------------------------------------------------------------------------- the protocol


TEE = """\
import subprocess, sys
bot = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for line in sys.stdin:
    with open(sys.argv[1], "a") as log:
        log.write("> " + line)
        bot.stdin.write(line)
        bot.stdin.flush()
        if '"type":"begin"' not in line:
            answer = bot.stdout.readline()
            log.write("< " + answer)
            log.flush()
            print(answer, end="", flush=True)
"""


def test_the_session_of_the_page_is_what_is_said(capsys):
    written()
    Path("tee.py").write_text(TEE, encoding="utf-8")
    tee = f"cmd:{PYTHON} tee.py log {PYTHON} my_bot.py:target=24"
    load_bot(tee)  # this says hello, too
    Path("log").unlink()
    assert run(["watch", tee, "eager", "--seed", "1"]) == 0
    said = Path("log").read_text(encoding="utf-8")
    said = re.sub(r'"rules":\{.*\}\}$', '"rules":{…}}', said, flags=re.MULTILINE)
    page = PAGE.partition("## A session")[2].partition("```\n")[2].partition("\n```")[0]
    version = re.compile(r'"pickosim":"[^"]*"')
    assert len(page.splitlines()) > 6
    assert version.sub("", said).startswith(version.sub("", page))


def test_begin_and_ask_carry_all_that_the_page_lists():
    written(
        ('    "reads": ["counts", "legal", "total", "can_claim"],\n', '    "randoms": 2,\n'),
        ("    message = json.loads(line)\n", "    message = json.loads(line)\n    log(line)\n"),
        (
            "for line in",
            "def log(line):\n    with open('log', 'a') as file: file.write(line)\n\nfor line in",
        ),
    )
    pickosim.play([f"cmd:{PYTHON} my_bot.py", "eager"], rules="extrawurm", games=5, seed=2)
    messages = [json.loads(line) for line in Path("log").read_text().splitlines()]
    begin = next(message for message in messages if message["type"] == "begin")
    asks = [message for message in messages if message["type"] == "ask"]
    section = {
        name: set(re.findall(r"^\|(.*?)\|", text, re.MULTILINE))
        for name, text in re.findall(r"### `?(\w+)`?.*?\n(.*?)(?=\n##|\Z)", PAGE, re.DOTALL)
    }
    named = {name: set(re.findall(r"`(\w+)`", " ".join(rows))) for name, rows in section.items()}
    assert set(begin) == {"type", *named["begin"]}
    shown = {name for ask in asks for name in ask}
    assert shown | {"new_specialist"} == {
        *("type", "method", "seat", "games", "random"),
        *named["Fields"],
    }
    assert all(
        len(value) == ask["games"]
        for ask in asks
        for value in ask.values()
        if isinstance(value, list)
    )
    assert {len(numbers) for ask in asks for numbers in ask["random"]} == {2}


# ------------------------------------------------------------------------------------------ ways to fail


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("        answers =", "        sys.exit(3)\n        answers =", "pick() was not answered: the program ended with exit code 3"),
        ("        answers =", "        import os; os.kill(os.getpid(), 9)\n        answers =", "the program was ended by signal 9"),
        ('json.dumps({"answers": answers})', '"oh dear"', "pick() printed 'oh dear', which is not JSON"),
        ('json.dumps({"answers": answers})', "'[1]'", "pick() printed '[1]', which is not a JSON object"),
        ('{"answers": answers}', '{"answer": answers}', 'which has no list "answers"'),
        ('{"answers": answers}', '{"answers": answers[1:]}', "pick() returned 0 answers for 1 games"),
        ('{"answers": answers}', '{"answers": [str(a) for a in answers]}', "its answers are whole numbers"),
        ('{"answers": answers}', '{"answers": [10**30 for a in answers]}', "which is no option"),
        ('{"answers": answers}', '{"answers": [0 for a in answers]}', "pick() returned 0; legal: "),
        ('{"answers": answers}', '{"error": "no idea"}', "answered with an error: 'no idea'"),
        ("return ask[", "return 0 and ask[", "stop() returned 0; its answers are true or false"),
        ('print(json.dumps({"answers": answers})', 'print("x" * 10**7, end=""); print(json.dumps({"answers": answers})', "bytes: 'xxx"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_sentence_with_the_game(old, new, said):
    bot = written((old, new))
    with pytest.raises(StrategyError) as caught:
        pickosim.play([bot, "eager"], games=20)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{bot}: ")
    assert re.search(
        r"\(game \d+, turn \d+, seat 0\)\. To see that game: pickosim watch", str(caught.value)
    )


@pytest.mark.parametrize("method", METHODS)
def test_truths_are_no_numbers_and_numbers_no_truths(method):
    """Python takes `true` for 1: it would be a face, or the first rival."""
    right, wrong = ("1", ["true", "1.0"]) if method in NUMBERS else ("true", ["1", "0"])
    assert answers_in(f'{{"answers":[{right},{right}]}}'.encode(), method, 2).tolist() == [1, 1]
    for one in [*wrong, "null", '"1"', "[1]"]:
        for answers in (f"[{one}]", f"[{right},{one}]"):
            with pytest.raises(AnswerError, match=f"returned {re.escape(one)}; its answers are"):
                answers_in(f'{{"answers":{answers}}}'.encode(), method, answers.count(",") + 1)


def test_a_second_line_for_an_answer_is_a_mistake():
    with pytest.raises(StrategyError, match=r"printed|answers for"):
        pickosim.play([written(('answers}), flush=True', 'answers}), "{}", sep=chr(10), flush=True')), "eager"], games=20)  # fmt: skip


def test_a_program_that_hangs_is_reported_and_ended():
    bot = written(
        ("        answers =", "        if message['method'] == 'stop': import time; time.sleep(1000)\n        answers =")
    )  # fmt: skip
    with pytest.raises(StrategyError, match=r"stop\(\) has not answered within 4 seconds; --ans"):
        pickosim.play([bot, "eager"], games=20, answer_seconds=4)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("cmd:", "name the program after cmd:, e.g. cmd:./my_bot"),
        ("cmd:'./bot", "the command has an open quote"),
        ("cmd:./nowhere", "cmd:./nowhere does not load: there is no file ./nowhere."),
        ("cmd:no-such-program", 'there is no program "no-such-program"'),
        ("cmd:./plain", "it is not executable; try `chmod +x ./plain`"),
        ("cmd:headless", "it is in this folder and not on the PATH; write cmd:./headless."),
        (
            "cmd:python3",
            "it names no file: put the whole command in quotes, e.g. 'cmd:python3 my_bot'.",
        ),
        ("cmd:/usr/bin/node", "it names no file: put the whole command in quotes"),
        (
            "headless",
            "headless is neither a bot's name nor a Python file. If it is a program: cmd:./headless",
        ),
        ("cmd:./headless", "it cannot be started: Exec format error."),
        ("cmd:true", "it ended with exit code 0."),
        ("cmd:echo hi", "it printed 'hi', which is not JSON."),
        ("cmd:cat", 'it has an unknown field "pickosim" in its hello'),
        (f"cmd:{PYTHON} my_bot.py:tarket=3", 'no parameter "tarket"; did you mean "target"?'),
        (f"cmd:{PYTHON} my_bot.py:target=x", 'target must be a whole number, not "x".'),
    ],
)
def test_a_program_that_does_not_load_is_reported(spec, said):
    written()
    Path("plain").write_text("")
    Path("headless").write_text("no program")
    Path("headless").chmod(0o755)
    with pytest.raises(BotError) as caught:
        load_bot(spec)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"protocol": 1', '"protocol": 2', "it speaks protocol 2; this pickosim speaks 1."),
        ('"protocol": 1', '"protocol": True', "it speaks protocol true; this pickosim speaks 1."),
        ('"name": "my bot"', '"name": 5', 'it needs a text as "name" in its hello, not 5.'),
        ('"legal", ', '"legals", ', 'it has "legals" in its reads; did you mean "legal"?'),
        ('"reads"', '"methods": ["pik"], "reads"', 'it has "pik" in its methods; did you mean "pick"?'),
        ('"reads"', '"randoms": -1, "reads"', "it needs a whole number from 0 to 64 as \"randoms\""),
        ('"reads"', '"fields": ["total"], "reads"', 'it has both "fields" and "reads" in its hello'),
        ('"reads"', '"randoms": True, "reads"', "it needs a whole number from 0 to 64 as \"randoms\""),
        ('{"target": 26}', '{"target": None}', "it has null as the default of target"),
        ('{"target": 26}', '{"class": 26}', 'it has a parameter "class", which is not a possible name'),
    ],
)  # fmt: skip
def test_a_wrong_hello_is_reported(old, new, said):
    bot = written((old, new))
    with pytest.raises(BotError) as caught:
        load_bot(bot)
    assert said in str(caught.value)


def test_a_program_that_says_nothing_is_not_waited_for(monkeypatch):
    """Only the limit for the first message is short: that of the process would end it on a busy machine."""
    monkeypatch.setattr(command, "START_SECONDS", 0.5)
    with pytest.raises(BotError, match=r"not introduced itself within 0\.5 seconds"):
        load_bot("cmd:sleep 1000")


def test_the_time_limit_holds_for_the_first_message_too():
    """Whichever ends it, the limit of the message or that of the process, says how long it was."""
    command_line = [sys.executable, "-m", "pickosim", "watch", "cmd:sleep 1000", "eager"]
    done = subprocess.run(
        [*command_line, "--answer-seconds", "1"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 2
    assert re.search(r"within 1 seconds?\b", done.stderr), done.stderr


def test_standard_error_goes_to_standard_error(capfd):
    bot = written(
        ("        answers =", "        print('a note', file=sys.stderr)\n        answers =")
    )
    pickosim.play([bot, "eager"], games=3)
    said = capfd.readouterr()
    assert "a note\n" in said.err
    assert said.out == ""


# ---------------------------------------------------------------------------------------------- processes


HANGING = (
    ("        answers =", "        hang()\n        answers ="),
    (
        "for line in",
        "def hang():\n"
        "    import os, signal, subprocess, time\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    child = subprocess.Popen(['sleep', '1000'])\n"
        "    with open('new', 'w') as file: file.write(f'{os.getpid()} {child.pid}')\n"
        "    os.replace('new', 'pids')\n"
        "    time.sleep(1000)\n\nfor line in",
    ),
)


def is_running(pid: int) -> bool:
    """Whether a process exists and has not ended; one that has may wait for its parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(true) -> None:
    """Wait as long as it takes; a test that never ends is ended from outside."""
    while not true():
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are read from /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_process_outlives_the_run(number):
    bot = written(*HANGING)
    program = [sys.executable, "-c", "from pickosim.cli import main; main()"]
    run_ = subprocess.Popen(
        [*program, "tournament", bot, "eager", "--games", "100", "--workers", "1"],
        # A shell starts its background jobs with SIGINT ignored, and what they start inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(Path("pids").exists)
    pids = [int(pid) for pid in Path("pids").read_text().split()]
    assert all(map(is_running, pids))
    run_.send_signal(number)
    run_.wait()
    wait_for(lambda: not any(map(is_running, pids)))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are read from /proc")
def test_a_process_ends_with_its_games():
    bot = written(
        ("for line in", "import os\nopen('pid', 'w').write(str(os.getpid()))\nfor line in")
    )
    pickosim.play([bot, "eager"], games=3)
    pid = int(Path("pid").read_text())
    wait_for(lambda: not is_running(pid))
    assert pid != os.getpid()


ESCAPING = (
    "for line in",
    "import os, time\n"
    "ready, done = os.pipe()\n"
    "for level in range(3):\n"
    "    if os.fork():\n"
    "        if level: os._exit(0)\n"
    "        break\n"
    "    os.setsid()\n"
    "else:\n"
    "    for stream in (0, 1): os.close(stream)\n"
    "    with open('pid', 'w') as file: file.write(str(os.getpid()))\n"
    "    os.write(done, b'!')\n"
    "    time.sleep(1000)\n"
    "os.read(ready, 1)\n"
    "for line in",
)
"""A process that has left the session of the program twice, and lost its parents."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt others")
def test_no_process_escapes_by_leaving_the_session():
    pickosim.play([written(ESCAPING), "eager"], games=3)
    pid = int(Path("pid").read_text())
    wait_for(lambda: not is_running(pid))


# -------------------------------------------------------------------------------- specs, digests, catalogue


@pytest.mark.parametrize(
    ("spec", "parts", "words"),
    [
        ("cmd:./bot", ["cmd:./bot"], ("./bot",)),
        ("cmd:./bot:target=25", ["cmd:./bot", "target=25"], ("./bot",)),
        ("cmd:node a.js --x=1:a=1,b=2", ["cmd:node a.js --x=1", "a=1,b=2"], ("node", "a.js", "--x=1")),
        ("cmd:'my bots/b' 'x:y=1'", ["cmd:'my bots/b' 'x:y=1'"], ("my bots/b", "x:y=1")),
        ("cmd:./b http://x:80/a", ["cmd:./b http://x:80/a"], ("./b", "http://x:80/a")),
        ("cmd:./b --range=1..3", ["cmd:./b --range=1..3"], ("./b", "--range=1..3")),
    ],
)  # fmt: skip
def test_a_spec_has_a_command_and_parameters(spec, parts, words):
    assert parts_of(spec) == parts
    assert command_of(spec) == words


def test_lists_and_ranges_of_specs():
    listed = split_bot_list("eager,cmd:'a, b' x:t=1,u=2,cmd:./c")
    assert listed == ["eager", "cmd:'a, b' x:t=1,u=2", "cmd:./c"]
    assert list(expand("cmd:./b --r=1..3:t=1..2")) == [
        "cmd:./b --r=1..3:t=1",
        "cmd:./b --r=1..3:t=2",
    ]


def test_parameters_reach_the_program_and_the_catalogue():
    bot = f"{written()}:target=30"
    assert load_bot(bot).target == 30
    assert spec_of(load_bot(bot)) == bot
    about = describe(bot)
    assert about.summary == "Takes the most points, and stops from `target` on."
    assert [(one.name, one.type, one.default) for one in about.parameters] == [
        ("target", "int", 26)
    ]
    assert set(about.decisions.values()) == {"default"}
    assert about.file == f"{sys.executable}, my_bot.py"
    own, other = (play_games(make_match([each, "eager"]), 0, 30) for each in (bot, written()))
    assert first_difference(own, other) is not None


def test_a_changed_program_is_noticed():
    entrants = make_entrants([written()])
    check_bot_sources(entrants)
    written(("* min(face, 5)", "* min(face, 4)"))
    with pytest.raises(BotError, match="has changed since the run began"):
        check_bot_sources(entrants)
