"""The package as a whole: its layers, its docstrings, and what it requires."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import jsonschema
import pytest
from documents import generated

from pickosim.cli import COMMANDS
from pickosim.studies.kinds import KINDS, study_kind

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pickosim"
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
    for path in PACKAGE.rglob("*.py")
    if path.parent == PACKAGE or path.name != "__init__.py"
}
FOLDERS = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))
STRATEGIES = sorted((ROOT / "strategies").glob("*.py"))
TOOLS = sorted((ROOT / "tools").glob("*.py"))
EVERY_FILE = [*MODULES.values(), *STRATEGIES, *TOOLS]

LAYERS = {
    "": "errors files amounts rules rule_files columns",
    "engine": "kernels dice rulebook log table turn claim tally results",
    "bots": "view strategy memory simple digest guard keeper command loading catalogue",
    "solver": "graph law solve valuation rolling",
    "learning": "features layers net weights fit",
    "games": "match ask judge batch positions pickups played trace check",
    " ": "turn_odds",
    "stats": "distributions intervals ratings sequential",
    "runs": "tasks progress folder workers run",
    "studies": "views schedule measures options kinds study arms matchup_sums shares standings tournament ladder rank "
    "tune variants compare pickup_worths balance train analyse calibrate experiments",
    "reports": "layout story odds_text views charts page",
    "  ": "bench",
    "   ": "api __init__",
    "commands": "terminal parameters runs rules bots",
    "    ": "cli __main__",
}
READING_ORDER = [
    f"{folder}.{module}" if folder.strip() else module
    for folder, modules in LAYERS.items()
    for module in modules.split()
]
"""A module imports only what stands before it. A new module takes its place here."""


@cache
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


def test_generated_documents_are_current():
    """`make docs` writes them."""
    for name, text in generated(ROOT).items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, name


@pytest.mark.parametrize("kind", KINDS)
def test_every_column_of_a_run_is_declared_and_documented(kind):
    text = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    (section,) = [part for part in text.split("\n## ") if part.startswith(f"pickosim {kind}")]
    for name, frame in study_kind(kind).frame_types.items():
        assert f"### {name}\n" in section
        for column, _ in frame.columns():
            assert f"| `{column.name}`" in section, f"{name}.{column.name}"


def test_experiments_fit_the_schema_that_editors_use():
    schema = json.loads((ROOT / "docs/schemas/experiment.json").read_text(encoding="utf-8"))
    for path in (ROOT / "experiments").glob("*.toml"):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        jsonschema.validate(content, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**content, "gmaes": 10}, schema)


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


def test_a_module_imports_only_what_stands_before_it():
    before: set[str] = set()
    for module in READING_ORDER:
        wanted = imported(MODULES[module])
        if only_version(MODULES[module]):
            wanted -= {"__init__"}
        assert wanted <= before, module
        before.add(module)


def test_a_strategy_knows_nothing_of_the_games_it_is_asked_in():
    before = set(READING_ORDER[: READING_ORDER.index("games.match")])
    for path in STRATEGIES:
        assert imported(path) <= before, path


def test_only_the_command_line_prints():
    for path in EVERY_FILE:
        nodes = list(ast.walk(tree_of(path)))
        calls = [node.func for node in nodes if isinstance(node, ast.Call)]
        prints = [call for call in calls if isinstance(call, ast.Name) and call.id == "print"]
        streams = [
            node
            for node in nodes
            if isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr")
        ]
        allowed = path.name in ("terminal.py", "cli.py")
        allowed |= path.parent.name in ("commands", "tools")
        assert allowed or not prints, path
        # The guard keeps bots from printing.
        assert allowed or path.name == "guard.py" or not streams, path


def test_a_module_says_in_a_line_what_it_is():
    for path in EVERY_FILE:
        first = (ast.get_docstring(tree_of(path)) or "").split("\n")[0]
        assert first.endswith((".", ":")), path
        assert len(first) <= 110, path


def test_importing_the_package_is_quick():
    """Nothing of size is imported before it is used."""
    script = "import sys, pickosim, pickosim.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numpy", "numba", "polars", "pydantic", "scipy", "joblib"} & set(loaded)


def test_watch_loads_few_modules():
    """A command imports what it needs, not the other commands."""
    script = (
        "import sys; from pickosim.cli import run; run(['watch', 'eager', 'random']);"
        "print(*sys.modules, file=sys.stderr)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stderr.split()
    ours = [name for name in loaded if name.split(".")[0] == "pickosim"]
    assert "pickosim.games.trace" in ours
    assert "pickosim.commands.runs" not in ours
    assert not {f"pickosim.studies.{kind}" for kind in KINDS} & set(ours)
    assert len(ours) <= 50


ALONE = """
import json, os, sys
import numba, numpy, polars, pydantic, typer  # the packages of others are imported once
from pickosim.cli import COMMANDS, run
for command in COMMANDS:
    if not os.fork():
        code = run([command, "--help"])
        ours = [name for name in sys.modules if name.startswith("pickosim.")]
        print(json.dumps([command, code, ours]), file=sys.stderr)
        os._exit(0)
    os.wait()
"""


def test_a_command_needs_only_its_own_module_and_no_study_but_its_own():
    """Each in a process that has imported nothing of the package but the command line."""
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    seen = {
        command: (code, ours) for command, code, ours in map(json.loads, done.stderr.splitlines())
    }
    assert list(seen) == list(COMMANDS)
    for command, (code, ours) in seen.items():
        assert code == 0, command
        assert f"Usage: pickosim {command}" in done.stdout
        studies = {kind for kind in KINDS if f"pickosim.studies.{kind}" in ours}
        assert studies == {command} & set(KINDS), command


# ------------------------------------------------------------------------------------------ metadata


EXTRAS = {
    "distributed": "dask",
    "altair": "report",
    "jinja2": "report",
    "markupsafe": "report",
    "vl_convert": "report",
}
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


def test_extras_are_imported_only_where_they_are_used():
    """At the head of a module they would be needed by everybody who imports it."""
    for path in MODULES.values():
        for node in tree_of(path).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [name.name for name in node.names]
                names.append(getattr(node, "module", None) or "")
                assert not {name.split(".")[0] for name in names} & set(EXTRAS), path


def test_the_command_leads_to_main():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"pickosim": "pickosim.cli:main"}
