"""Build the wheel, install it in a clean environment outside the checkout, and play with it.

Run by `make test-wheel`. Everything is made in a temporary folder that is removed at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "pickosim"
CONSTRAINTS = ROOT / "constraints.txt"

ABOUT = """
import json, pickosim
from pickosim.bots.loading import built_in_bots, load_bot
played = pickosim.play(["eager", "random"], "extrawurm", games=20)
print(json.dumps({
    "package": pickosim.__file__,
    "version": pickosim.__version__,
    "games": len(played.games),
    "presets": [rules.name for rules in pickosim.presets()],
    "bots": built_in_bots(),
    "homes": sorted({type(load_bot(name)).__module__ for name in built_in_bots()}),
}))
"""


def environment() -> dict[str, str]:
    """The environment without what would lead Python or Numba back to the checkout."""
    hidden = ("PYTHON", "NUMBA", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return kept | {"PIP_CONSTRAINT": str(CONSTRAINTS), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed; its standard error is shown if it does not."""
    done = subprocess.run(
        command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stderr}"
    return done


def build(folder: Path) -> Path:
    """The wheel of this checkout."""
    options = ["--no-deps", "--quiet", "--wheel-dir", folder]
    run(sys.executable, "-m", "pip", "wheel", ROOT, *options, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def files_in(folder: Path) -> list[Path]:
    """All files in a folder but compiled ones."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if "__pycache__" not in path.parts]


def check_content(wheel: Path) -> None:
    """All files of the package and all bots are in it, and nothing else."""
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    bots = ROOT / "strategies"
    wanted = {str(path.relative_to(ROOT)) for path in files_in(PACKAGE)}
    wanted |= {f"pickosim/strategies/{path.relative_to(bots)}" for path in files_in(bots)}
    assert names == wanted, f"in the wheel or in the checkout only: {sorted(names ^ wanted)}"
    for kind in ("presets/*.toml", "bots/templates/*", "reports/assets/*"):
        assert list(PACKAGE.glob(kind)), f"pickosim/{kind} is what this test is about"


def install(wheel: Path, folder: Path) -> Path:
    """A new virtual environment with the wheel and what it requires; the folder of its programs."""
    venv.create(folder, with_pip=True, symlinks=True)
    programs = folder / "bin"
    options = ["--quiet", "--no-compile"]  # most modules are never imported
    run(programs / "python", "-m", "pip", "install", *options, wheel, cwd=folder)
    return programs


def check_program(programs: Path, version: str, cwd: Path) -> None:
    """The command line of the installed package, from an empty folder."""
    program = programs / "pickosim"
    assert run(program, "--version", cwd=cwd).stdout == f"{version}\n"
    done = run(program, "tournament", "eager", "random", "--games", "200", cwd=cwd)
    assert done.stderr.startswith("Compiling kernels"), "nothing compiled is installed"
    assert {"eager", "random"} <= {line.split(" ")[0] for line in done.stdout.splitlines()}
    assert len(list(cwd.glob("runs/*/standings.parquet"))) == 1
    rules = run(program, "rules", cwd=cwd).stdout
    for preset in PACKAGE.glob("presets/*.toml"):
        assert f"\n{preset.stem} " in rules
    strategies = run(program, "strategies", cwd=cwd)
    assert "\neager " in strategies.stdout
    assert "Compiling" not in strategies.stderr


def check_package(programs: Path, version: str, cwd: Path) -> None:
    """The package as Python imports it: rules and bots come out of the wheel."""
    told = json.loads(run(programs / "python", "-c", ABOUT, cwd=cwd).stdout)
    home = Path(told["package"])
    assert home.is_relative_to(programs.parent) and "site-packages" in home.parts, home
    assert (told["version"], told["games"]) == (version, 20)
    assert set(told["presets"]) == {preset.stem for preset in PACKAGE.glob("presets/*.toml")}
    files = sorted(path.stem for path in (ROOT / "strategies").glob("*.py"))
    assert told["homes"] == [f"pickosim.strategies.{name}" for name in files]
    assert "eager" in told["bots"]


def main() -> None:
    """All of it, in a temporary folder."""
    with TemporaryDirectory(prefix="pickosim-wheel-") as temporary:
        folder = Path(temporary).resolve()
        assert not folder.is_relative_to(ROOT), "the checkout is to be out of sight"
        wheel = build(folder)
        check_content(wheel)
        programs = install(wheel, folder / "venv")
        empty = folder / "empty"
        empty.mkdir()
        version = wheel.name.split("-")[1]
        check_program(programs, version, empty)
        check_package(programs, version, empty)
        print(f"{wheel.name}: installed on its own, it plays.")


if __name__ == "__main__":
    main()
