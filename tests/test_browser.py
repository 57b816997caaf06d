"""Where there is no browser, the tests say so at their end, and CI installs it or fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from browser import MISSING

CHECKOUT = Path(__file__).parent.parent

INSTALLS = '#!/bin/sh\n[ "$1" = update ] || { echo > "$BIN/chromium"; chmod +x "$BIN/chromium"; }\n'


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    """A machine with neither Chromium nor a way to install it, on which everybody is allowed to."""
    for name in ("bash", "chmod", "dirname", "id", "sh"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    (tmp_path / "python3").symlink_to(sys.executable)
    program(tmp_path / "sudo", '#!/bin/sh\nshift\nexec "$@"\n')
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return {**kept, "PATH": str(tmp_path), "BIN": str(tmp_path)}


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def test_the_last_lines_of_the_tests_say_that_the_page_was_not_tested(environment):
    command = [sys.executable, "-m", "pytest", "tests/test_report.py", "-k", "draws_everything"]
    done = subprocess.run(
        command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert f" tests were skipped. {MISSING}" in done.stdout.splitlines()[-2]


@pytest.mark.parametrize(
    ("apt", "code", "said"),
    [(INSTALLS, 0, ""), ("#!/bin/sh\nexit 100\n", 1, f"{MISSING}\n"), ("", 1, f"{MISSING}\n")],
    ids=["allowed", "refused", "no apt"],
)
def test_ci_installs_the_browser_or_fails_with_the_sentence(apt, code, said, tmp_path, environment):
    if apt:
        program(tmp_path / "apt-get", apt)
    done = subprocess.run(
        [CHECKOUT / ".ci" / "browser"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)
