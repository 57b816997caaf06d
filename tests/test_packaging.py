"""The package as a whole: its layers, its docstrings, and the wheel that is made of it."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import pickosim
from pickosim.bots.loading import built_in_bots
from pickosim.rules import PRESETS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pickosim"
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
    for path in PACKAGE.rglob("*.py")
    if path.parent == PACKAGE or path.name != "__init__.py"
}
FOLDERS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))
STRATEGIES = sorted((ROOT / "strategies").glob("*.py"))

LAYERS = {
    "": "errors amounts rules",
    "engine": "kernels dice rulebook log table turn claim tally",
    "bots": "view strategy heuristics loading catalogue digest entrants",
    "solver": "graph law solve cache valuation",
    "games": "match ask batch frames trace check",
    "turn_odds": "question answer",
    "stats": "moments quantiles multiple_testing ratings sprt",
    "runs": "sums provenance folder run results",
    "studies": "schedule chunk_size table_rows sentences tournament_sums tournament_tables tournament measures variants "
    "compare_tables compare_findings compare balance_sums suggest_balance balance_tables "
    "balance_findings balance kinds experiments warm",
    " ": "baseline bench",
    "reports": "layout intervals story bot_words tournament_words compare_words balance_words result_words bench_words "
    "odds_words html_tables charts report_content html_report",
    "  ": "api __init__ terminal cli",
}
READING_ORDER = [
    f"{folder}.{module}" if folder.strip() else module
    for folder, modules in LAYERS.items()
    for module in modules.split()
]
"""A module imports only what stands before it. A new module takes its place here."""


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    """The modules of this package that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "pickosim":
            _, _, module = str(node.module).partition(".")
            inside = {".".join(filter(None, (module, name.name))) for name in node.names}
            found |= inside & set(MODULES) or {module or "__init__"}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
        elif isinstance(node, ast.Import):
            names = [name.name.partition(".") for name in node.names]
            found |= {module for package, _, module in names if package == "pickosim" and module}
    return found - {"strategies"}


def only_version(path: Path) -> bool:
    """Whether all that a file wants of the package itself is its version."""
    wanted = [
        name.name
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and node.module == "pickosim"
        for name in node.names
        if name.name not in MODULES
    ]
    return set(wanted) <= {"__version__"}


# ---------------------------------------------------------------------------------------- documents


@pytest.mark.parametrize("study", ["tournament", "compare", "balance"])
def test_every_column_is_documented(study):
    text = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    sections = dict(zip(["tournament", "compare", "balance"], text.split("\n## ")[1:], strict=True))
    for table, schema in import_module(f"pickosim.studies.{study}_tables").SCHEMAS.items():
        assert f"**{table}**" in sections[study]
        for column in schema:
            assert f"`{column}`" in sections[study], f"{table}.{column}"


# ------------------------------------------------------------------------------------------- layers


def test_every_module_has_its_place():
    assert sorted(READING_ORDER) == sorted(MODULES)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_folder_names_its_modules_in_reading_order(folder):
    if folder.name == "strategies":
        return
    said = ast.get_docstring(tree_of(folder / "__init__.py")) or ""
    modules = LAYERS[folder.name].split()
    assert [name for name in re.findall(r"`(\w+)`", said) if name in modules] == modules


@pytest.mark.parametrize("module", READING_ORDER)
def test_a_module_imports_only_what_stands_before_it(module):
    before = set(READING_ORDER[: READING_ORDER.index(module)])
    wanted = imported(MODULES[module])
    if only_version(MODULES[module]):
        wanted -= {"__init__"}
    assert wanted <= before


@pytest.mark.parametrize("path", STRATEGIES, ids=lambda path: path.stem)
def test_a_strategy_knows_nothing_of_the_games_it_is_asked_in(path):
    before = set(READING_ORDER[: READING_ORDER.index("games.match")])
    assert imported(path) <= before


@pytest.mark.parametrize("path", [*MODULES.values(), *STRATEGIES], ids=lambda path: path.stem)
def test_only_the_command_line_prints(path):
    calls = [node.func for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
    prints = [call for call in calls if isinstance(call, ast.Name) and call.id == "print"]
    streams = [
        node
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr")
    ]
    assert path.name in ("terminal.py", "cli.py") or not (prints or streams)


@pytest.mark.parametrize("path", [*MODULES.values(), *STRATEGIES], ids=lambda path: path.stem)
def test_a_module_says_in_a_line_what_it_is(path):
    first = (ast.get_docstring(tree_of(path)) or "").split("\n")[0]
    assert first.endswith((".", ":"))
    assert len(first) <= 110


def test_importing_the_package_is_quick():
    """Nothing of size is imported before it is used."""
    script = "import sys, pickosim, pickosim.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numpy", "numba", "polars", "pydantic", "scipy", "joblib"} & set(loaded)


# ------------------------------------------------------------------------------------------ metadata


EXTRAS = {"distributed": "dask", "altair": "report", "vl_convert": "report"}
"""What only some users need, and the extra that brings it."""


def test_what_the_package_imports_is_what_it_requires():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = {line.split(">")[0].strip() for line in project["dependencies"]}
    wanted: set[str] = set()
    for path in [*MODULES.values(), *STRATEGIES]:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Import):
                wanted |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                wanted.add(node.module.split(".")[0])
    wanted -= set(sys.stdlib_module_names) | {"pickosim", "pydantic_core"}
    assert wanted <= required | set(EXTRAS)
    assert set(EXTRAS.values()) <= set(project["optional-dependencies"])


@pytest.mark.parametrize("path", MODULES.values(), ids=MODULES)
def test_extras_are_imported_only_where_they_are_used(path):
    """At the head of a module they would be needed by everybody who imports it."""
    for node in tree_of(path).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [name.name for name in node.names]
            names.append(getattr(node, "module", None) or "")
            assert not {name.split(".")[0] for name in names} & set(EXTRAS)


def test_the_command_leads_to_main():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"pickosim": "pickosim.cli:main"}


# ------------------------------------------------------------------------------------------- the wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel of this checkout; its build system comes from the registry."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--quiet", "-w"]
    subprocess.run([*command, str(folder)], check=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.mark.long
def test_the_wheel_carries_presets_and_bots(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"pickosim/presets/{preset}.toml" for preset in PRESETS} <= names
    assert {f"pickosim/strategies/{path.name}" for path in STRATEGIES} <= names
    assert {str(path.relative_to(ROOT)) for path in MODULES.values()} <= names
    beside = [*PACKAGE.glob("bots/templates/*"), *PACKAGE.glob("reports/page/*")]
    assert beside and {str(path.relative_to(ROOT)) for path in beside} <= names
    tops = {name.split("/")[0] for name in names}
    assert tops == {"pickosim", f"pickosim-{pickosim.__version__}.dist-info"}
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.long
def test_the_wheel_plays_on_its_own(wheel, tmp_path):
    """Unpacked, in front of the checkout: rules and bots come out of the wheel itself."""
    zipfile.ZipFile(wheel).extractall(tmp_path)
    script = """
import json, pickosim
from pickosim.bots.loading import built_in_bots, load_bot
from pickosim.games.match import seat
played = pickosim.play(["eager", "random"], "extrawurm", games=20)
print(json.dumps({
    "package": pickosim.__file__,
    "bots": built_in_bots(),
    "homes": sorted({type(load_bot(name)).__module__ for name in built_in_bots()}),
    "presets": [rules.name for rules in pickosim.presets()],
    "games": len(played.games),
}))
"""
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path / "c"),
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert told["package"] == str(tmp_path / "pickosim" / "__init__.py")
    assert told["bots"] == built_in_bots()
    assert told["homes"] == [f"pickosim.strategies.{path.stem}" for path in STRATEGIES]
    assert told["presets"] == list(PRESETS)
    assert told["games"] == 20
