"""Commands about finished runs: print one again, list them, make a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pickosim.commands.parameters import Csv, Full, Json, Run, app, examples, form_of
from pickosim.commands.terminal import json_of, note, show, show_results, show_table, visible
from pickosim.errors import PickosimError


@app.command(
    "show",
    epilog=examples(
        "pickosim show runs/mine --full", "pickosim show runs/mine --table standings --csv"
    ),
)
def show_run(
    folder: Run,
    table: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this table, e.g. standings.")
    ] = None,
    as_json: Json = False,
    as_csv: Csv = False,
    full: Full = False,
) -> None:
    """Print the results of a finished run again."""
    form = form_of(as_json, as_csv, full)
    from pickosim.studies.stored import load_results

    results = load_results(folder)
    if table is None:
        show_results(results, form)
    else:
        show_table(results, table, form)


@app.command("runs", epilog=examples("pickosim runs", "pickosim runs results/ --csv"))
def list_runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the runs are.")] = Path(
        "runs"
    ),
    as_json: Json = False,
    as_csv: Csv = False,
) -> None:
    """List the runs in a folder with their headlines."""
    form = form_of(as_json, as_csv)
    from pickosim.reports.listings import runs_text
    from pickosim.studies.stored import list_runs

    found = list_runs(folder)
    if form == "json":
        print(json_of(found.to_dicts()))
    elif form == "csv":
        print(visible(found.write_csv()), end="")
    elif found.is_empty():
        note(f"There are no runs in {folder}. To begin one: pickosim tournament all")
    else:
        show(*runs_text(found))


@app.command(epilog=examples("pickosim report runs/mine", "pickosim report runs/mine --png charts"))
def report(
    folder: Run,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page.", show_default="report.html in the run"),
    ] = None,
    png: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the charts there as PNG, instead of the page."),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the charts there as SVG, instead of the page."),
    ] = None,
    chart: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this chart, e.g. standings; repeat for more."),
    ] = None,
) -> None:
    """Write the HTML page of a finished run, or its charts.

    The page opens offline; charts are pictures. Prints the names of the files written.
    """
    from pickosim.reports.page import save_charts, write_report

    if chart and not (png or svg):
        raise PickosimError("--chart picks charts for --png or --svg; the page has all of them.")
    if out or not (png or svg):
        print(write_report(folder, out))
    for pictures, suffix in ((png, ".png"), (svg, ".svg")):
        if pictures is not None:
            for path in save_charts(folder, pictures, suffix, chart):
                print(path)
