"""How kernels are compiled: the notice that they are, printed only then, and the folder that keeps them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import numpy as np
import pytest

import pickosim
from pickosim.engine import kernels
from pickosim.engine.kernels import called, on_compile, shared

PROGRAM = Path(sys.executable).with_name("pickosim")
NOTICE = "Compiling kernels on their first use; this takes up to 20 seconds …\n"


def test_the_notice_is_printed_once_when_the_cache_is_empty_and_never_again(tmp_path):
    """`odds` of a situation compiles several kernels, and is the command that compiles the fewest of those."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    answers = []
    for expected in (NOTICE, ""):
        done = subprocess.run(
            [PROGRAM, "odds", "--own", "24"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
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


def test_a_called_part_is_called_even_if_an_inlined_one_compiles_it():
    """Numba passes `forceinline` on; machine code would then depend on which kernel is compiled first."""

    @called
    def rare(number: int) -> int:
        return number + 1

    @shared
    def common(number: int) -> int:
        return 2 * rare(number)

    assert common(20) == 42
    (compiled,) = rare.overloads.values()
    assert "alwaysinline" not in compiled.library.get_llvm_str()


def test_no_kernel_has_an_array_for_a_default():
    """Numba would never find it in the disk cache again, and compile it in every process."""
    for module in walk_packages(pickosim.__path__, "pickosim."):
        import_module(module.name)
    assert kernels._kernels
    for function in kernels._kernels:
        assert not [value for value in function.__defaults__ or () if isinstance(value, np.ndarray)]


# ------------------------------------------------------------------------------------------- the cache


WITHOUT_HOME = """
import os, pwd
os.access = lambda path, mode: False  # the package is not writable, which it always is for root
os.environ.pop("HOME", None)
pwd.getpwuid = {}.__getitem__
import numpy as np
from pickosim.engine.tally import win_parts
print(win_parts(np.ones((1, 2), np.uint8)).tolist())
"""


class _Evil:
    """A pickle that leaves a trace when it is read."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have owners on POSIX systems only")
def test_kernels_are_cached_where_nobody_else_can_write(tmp_path):
    """Where others can, what they have put there is not read: Numba's index files are pickles."""

    def compiled() -> str:
        environment = {name: value for name, value in os.environ.items() if name[:5] != "NUMBA"}
        return subprocess.run(
            [sys.executable, "-c", WITHOUT_HOME],
            env=environment | {"TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    truth = compiled()
    (folder,) = tmp_path.glob(f"pickosim-{os.getuid()}/kernels-*")
    assert folder.stat().st_mode & 0o777 == 0o700
    (index,) = folder.rglob("*.nbi")
    trace = tmp_path / "was_here"
    index.write_bytes(pickle.dumps(_Evil(trace)) + index.read_bytes())
    folder.chmod(0o777)
    assert compiled() == truth
    assert not trace.exists()
    folder.chmod(0o700)
    compiled()
    assert trace.exists(), "the planted file is one that is read"


def test_a_private_folder_is_nobody_elses(tmp_path):
    def private(*inside: str) -> Path | None:
        return kernels._private(tmp_path, *inside)

    assert private("a", "b") == tmp_path / "a/b"
    assert private("a", "b") == tmp_path / "a/b"
    (tmp_path / "link").symlink_to(tmp_path / "a/b")
    assert private("link") is None
    (tmp_path / "file").touch()
    assert private("file") is None
    (tmp_path / "a").chmod(0o777)
    assert private("a", "b") is None, "somebody could put another folder there"
    (tmp_path / "a").chmod(0o1777)
    assert private("a", "b") == tmp_path / "a/b"
    if os.getuid() == 0:
        os.chown(tmp_path / "a/b", 65534, -1)
        assert private("a", "b") is None
