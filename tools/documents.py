"""Generated documents: pages on rules, result tables and options, JSON Schemas; `make docs` writes them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from experiment_schema import experiment_schema
from rule_pages import SECTION, classic_file, rules_page, rules_schema

from pickosim.bots.simple import ATTRIBUTES
from pickosim.columns import Frame
from pickosim.games.played import PLAY_FRAMES, SAVED_GAMES
from pickosim.games.positions import POSITIONS
from pickosim.studies.kinds import KINDS, study_kind
from pickosim.studies.measures import MEASURES
from pickosim.studies.options import declared
from pickosim.studies.views import View

INTRODUCTION = """\
# Result tables

This page is generated from the declarations in `pickosim/columns.py`, `pickosim/studies/measures.py` and the studies
(`make docs`).

Every run leaves its results as Parquet files in its folder, one per table; `--export csv,json,md` writes them in other
formats too, and `--json` prints all of them with the manifest. In Python each table is a polars frame, e.g.
`results.standings`, and each chart has a name: `results.chart("ratings")`, or `pickosim report RUN --png FOLDER --chart
ratings`. A rate marked ± comes with two more columns, `_low` and `_high`, the ends of its 95 % interval. Intervals are
computed over blocks (games with the same dice, in all rotations of the seats), not over games; `docs/statistics.md` has
the formulas.
"""


def generated(checkout: Path) -> dict[str, str]:
    """The files of a checkout that are generated, in whole or in sections, by name."""
    pages = {
        name: (checkout / f"docs/{name}.md").read_text(encoding="utf-8")
        for name in ("rules", "protocol", "simple_bots")
    }
    return {
        "docs/rules.md": rules_page(pages["rules"]),
        "docs/protocol.md": _with_fields(pages["protocol"]),
        "docs/simple_bots.md": _with_fields(pages["simple_bots"]),
        "docs/tables.md": "\n".join(_tables_page()),
        "docs/options.md": "\n".join(_options_page()),
        "docs/schemas/experiment.json": _json(experiment_schema()),
        "docs/schemas/rules.json": _json(rules_schema()),
        "pickosim/presets/classic.toml": classic_file(),
    }


def write_documents(checkout: Path) -> None:
    """Write all generated files."""
    for name, text in generated(checkout).items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(text, encoding="utf-8")


def _with_fields(page: str) -> str:
    """A page with its table of what a bot sees of one game renewed."""
    rows = [
        f"| `{name}` | {attribute.form} | {' '.join(attribute.about.split())} |\n"
        for name, attribute in ATTRIBUTES.items()
        if attribute.rows == "n"
    ]
    table = "".join(["| name | in one game | |\n|---|---|---|\n", *rows])
    return SECTION.sub(lambda found: f"{found[1]}{found[2]}{table}", page)


def _json(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _tables_page() -> Iterator[str]:
    yield INTRODUCTION
    for kind in KINDS:
        yield f"## pickosim {kind}\n"
        views = study_kind(kind).views
        for frame in study_kind(kind).frame_types.values():
            drawn = [view for view in views if view.frame is frame and view.chart]
            yield from _table(frame, drawn)
        if kind == "tournament":
            yield from _table(SAVED_GAMES)
    yield "## pickosim.play\n"
    for frame in PLAY_FRAMES.values():
        yield from _table(frame)
    yield "## pickosim.positions\n"
    yield from _table(POSITIONS)
    yield "## Measures\n"
    yield "| measure | label | what it is |\n|---|---|---|"
    for measure in MEASURES.values():
        label = measure.label.format(bot="the stronger bot")
        yield f"| `{measure.name}` | {label} | {measure.description} |"
    yield ""


def _table(frame: Frame, drawn: Sequence[View] = ()) -> Iterator[str]:
    yield f"### {frame.name}\n"
    yield f"{frame.rows}\n"
    if drawn:
        charts = "; ".join(f"`{view.address}` ({view.title})" for view in drawn)
        yield f"Charts: {charts}.\n"
    yield "| column | what it is |\n|---|---|"
    for column, has_interval in frame.columns():
        yield f"| `{column.name}`{' ±' if has_interval else ''} | {column.description} |"
    yield ""


def _options_page() -> Iterator[str]:
    yield "# Options of studies\n"
    yield "This page is generated from the options in `pickosim/studies/` (`make docs`).\n"
    yield (
        "The same names and defaults hold for the command (`--max-matchups`), the Python function "
        "(`max_matchups=`) and experiment files (`max_matchups =`). Options below the line say how a study is "
        "run; they never change its results and are not part of experiment files.\n"
    )
    for kind in KINDS:
        yield f"## pickosim {kind}\n"
        yield "| option | default | what it does | example |\n|---|---|---|---|"
        for option in declared(study_kind(kind)):
            example = json.dumps(option.example, ensure_ascii=False)
            yield (
                f"| `{option.name}` | {option.default_text or '-'} | {option.help} | `{example}` |"
            )
        yield ""


if __name__ == "__main__":
    write_documents(Path(sys.argv[1]))
