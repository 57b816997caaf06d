"""The notice that the engine is being compiled: printed when it is, and only then."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import numpy as np

import pickosim
from pickosim.engine import kernels
from pickosim.engine.kernels import on_compile, shared

PROGRAM = Path(sys.executable).with_name("pickosim")
NOTICE = "Compiling kernels on their first use; this takes up to 20 seconds …\n"


def test_the_notice_is_printed_once_when_the_cache_is_empty_and_never_again(tmp_path):
    """`odds` compiles several kernels, and is the command that compiles the fewest."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    answers = []
    for expected in (NOTICE, ""):
        done = subprocess.run(
            [PROGRAM, "odds"], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stderr == expected
        answers.append(done.stdout)
    assert answers[0] == answers[1]
    assert len(list(tmp_path.rglob("*.nbi"))) > 1, "several kernels, one notice"


def test_a_part_that_python_calls_does_not_count():
    """It is compiled in every process, as no disk cache keeps it."""

    @shared
    def double(number: int) -> int:
        return 2 * number

    compiled: list[str] = []
    with on_compile(lambda: compiled.append("a kernel")):
        assert double(21) == 42
    assert double.signatures and not compiled


def test_no_kernel_has_an_array_for_a_default():
    """Numba would never find it in the disk cache again, and compile it in every process."""
    for module in walk_packages(pickosim.__path__, "pickosim."):
        import_module(module.name)
    assert kernels._kernels
    for function in kernels._kernels:
        assert not [value for value in function.__defaults__ or () if isinstance(value, np.ndarray)]
