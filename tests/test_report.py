"""The report, in a browser: it asks for nothing, draws every chart, sorts, and fits any screen."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import CHROMIUM, MISSING

import pickosim
from pickosim.cli import run
from pickosim.columns import Frame
from pickosim.errors import PickosimError
from pickosim.reports.page import (
    MOST_CSV_ROWS,
    MOST_ROWS,
    _html_column,
    chart_specs,
    joints,
    save_charts,
    write_report,
)
from pickosim.reports.views import shown_columns
from pickosim.runs.folder import RunFolder
from pickosim.studies.study import load_results
from pickosim.studies.variants import FRAMES as COMPARE

in_browser = pytest.mark.skipif(CHROMIUM is None, reason=MISSING)

LONG = "threshold:target=25,last_dice=2"
KINDS = ("tournament", "compare", "balance")


def play(kind: str, folder: Path) -> None:
    """A small run of a kind."""
    options = {"seed": 1, "workers": 1, "out": folder}
    if kind == "tournament":
        pickosim.tournament(["eager", LONG, "random"], "extrawurm", 3, games=60, **options)
    elif kind == "compare":
        pickosim.compare(["classic", "short"], ["eager"], "2-3", games=40, **options)
    else:
        pickosim.balance("extrawurm", ["eager"], "2", games=40, **options)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """A finished run of each kind, with its report."""
    base = tmp_path_factory.mktemp("runs")
    for kind in KINDS:
        play(kind, base / kind)
        assert pickosim.report(base / kind) == base / kind / "report.html"
    return {kind: base / kind for kind in KINDS}


@dataclass
class Visit:
    """A page in a browser, and what it did that it should not."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    quiet = (
        "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
        "--disable-sync --no-first-run"
    )
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=quiet.split())
        yield chromium
        chromium.close()


def visit(browser, path: Path, width: int = 1280, scheme: str = "light", **options) -> Visit:
    page = browser.new_page(
        viewport={"width": width, "height": 900}, color_scheme=scheme, **options
    )
    seen = Visit(page)
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("console", lambda message: seen.complaints.append(message.text))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    return seen


SIZES = """() => [...document.querySelectorAll("[data-chart]")].map((holder) => {
    const drawing = holder.querySelector("svg")?.getBoundingClientRect();
    const marks = holder.querySelectorAll("svg [aria-roledescription]").length;
    return [holder.dataset.chart, drawing?.width ?? 0, drawing?.height ?? 0, holder.clientWidth, marks];
})"""


TOUCHING = """() => [...document.querySelectorAll("[data-chart]")].flatMap((holder) => {
    const texts = [...holder.querySelectorAll("svg text")].filter(
        (text) => text.textContent && text.getAttribute("opacity") !== "0");
    const boxes = texts.map((text) => text.getBoundingClientRect());
    return boxes.flatMap((a, i) => boxes.slice(0, i).flatMap((b, k) => {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        const touch = wide > -3 && tall > 2;
        return touch ? [[holder.dataset.chart, texts[k].textContent, texts[i].textContent]] : [];
    }));
})"""


@in_browser
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_draws_everything_and_asks_for_nothing(browser, runs, kind, width, scheme):
    path = runs[kind] / "report.html"
    seen = visit(browser, path, width, scheme)
    drawn = seen.page.evaluate(SIZES)
    assert [name for name, *_ in drawn] == list(chart_specs(load_results(runs[kind])))
    for name, drawn_width, height, room, marks in drawn:
        assert 0.9 * room < drawn_width <= room, name
        assert height > 40, name
        assert marks > 0, name
    assert seen.page.evaluate(TOUCHING) == []
    assert seen.page.evaluate("document.documentElement.scrollWidth") == width
    assert seen.requests == [path.as_uri()]
    assert seen.complaints == []
    seen.page.close()


@in_browser
def test_colours_follow_the_wish_of_the_reader(browser, runs):
    seen = visit(browser, runs["tournament"] / "report.html", scheme="light")
    page = seen.page
    colours = """() => [
        getComputedStyle(document.body).backgroundColor,
        document.querySelector("[data-chart] svg text").getAttribute("fill"),
    ]"""
    light = page.evaluate(colours)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "(was) => document.querySelector('[data-chart] svg text')?.getAttribute('fill') !== was",
        arg=light[1],
    )
    dark = page.evaluate(colours)
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    assert seen.complaints == []
    page.close()


@in_browser
def test_tables_are_sorted_by_click_and_by_keyboard(browser, runs):
    seen = visit(browser, runs["tournament"] / "report.html")
    page = seen.page
    bot = page.locator("#standings th").nth(0)
    share = page.locator("#standings th").nth(1)

    def column(number: int) -> list[str]:
        return page.locator(f"#standings tbody td:nth-child({number})").all_inner_texts()

    best_first = column(1)
    assert share.get_attribute("aria-sort") is None
    share.locator("button").click()
    assert share.get_attribute("aria-sort") == "descending"
    assert column(1) == best_first
    share.locator("button").click()
    assert share.get_attribute("aria-sort") == "ascending"
    assert column(1) == best_first[::-1]
    assert column(2) == sorted(column(2), key=lambda text: float(text.split()[0]))
    bot.locator("button").focus()
    page.keyboard.press("Enter")
    assert (bot.get_attribute("aria-sort"), share.get_attribute("aria-sort")) == ("ascending", None)
    assert column(1) == sorted(best_first)
    page.close()


@in_browser
def test_every_table_can_be_saved(browser, runs, tmp_path):
    page = visit(browser, runs["tournament"] / "report.html").page
    with page.expect_download() as saving:
        page.locator("#standings button.csv").click()
    saving.value.save_as(tmp_path / "standings.csv")
    assert saving.value.suggested_filename == "standings.csv"
    saved = pl.read_csv(tmp_path / "standings.csv")
    table = RunFolder(runs["tournament"]).frame("standings")
    assert saved["bot"].to_list() == table["bot"].to_list()
    assert saved["win_share"].to_list() == table["win_share"].to_list()
    page.close()


@in_browser
def test_a_mark_tells_its_numbers(browser, runs):
    page = visit(browser, runs["tournament"] / "report.html").page
    page.locator("#standings svg [aria-roledescription='point']").first.hover(force=True)
    page.wait_for_selector("#tip:not([hidden])")
    table = RunFolder(runs["tournament"]).frame("standings")
    bot, share = table["bot"][0], table["win_share"][0]
    assert page.locator("#tip").inner_text().startswith(f"{bot}: {100 * share:.2f} % (95 %: ")
    page.close()


@in_browser
def test_paper_is_light(browser, runs):
    """There is no time to draw again before printing: charts of a dark page are inverted."""
    page = visit(browser, runs["tournament"] / "report.html", scheme="dark").page
    looks = """() => [
        getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector("[data-chart] svg")).filter,
    ]"""
    assert page.evaluate(looks)[1] == "none"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(looks) == ["rgb(255, 255, 255)", "invert(1) hue-rotate(180deg)"]
    page.close()


@in_browser
def test_without_javascript_the_numbers_are_still_there(browser, runs):
    page = browser.new_page(java_script_enabled=False)
    page.goto((runs["tournament"] / "report.html").as_uri())
    assert page.locator("noscript").count() == 1
    assert page.locator("#standings tbody tr").count() == 3
    page.close()


# ----------------------------------------------------------------------------------- without a browser


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_one_file_of_moderate_size(runs, kind):
    page = (runs[kind] / "report.html").read_text(encoding="utf-8")
    assert page.count("<script") == 3
    assert " src=" not in page.replace(page.split('<script type="module">')[1], "")
    assert len(page.encode()) < 1_500_000


def test_the_page_says_who_leads_and_how_it_was_run(runs):
    page = (runs["tournament"] / "report.html").read_text(encoding="utf-8").replace("<wbr>", "")
    manifest = RunFolder(runs["tournament"]).manifest()
    first = RunFolder(runs["tournament"]).frame("standings").row(0, named=True)
    assert (
        f"<code>{first['bot']}</code> is first: it wins {100 * first['win_share']:.1f}&nbsp;% of"
        in page
    )
    assert "--rules extrawurm" in page
    for bot in manifest["plan"]["entrants"]:
        assert bot["source"] in page
    assert manifest["versions"]["numba"] in page


def test_bots_with_different_opponents_are_not_compared_by_their_win_shares(tmp_path):
    results = pickosim.tournament(
        ["threshold:target=21..26"],
        players=3,
        games=30,
        max_matchups=5,
        seed=7,
        workers=1,
        out=tmp_path / "run",
    )
    page = pickosim.report(results).read_text(encoding="utf-8")
    assert "The bots had different opponents; ratings allow for that." in page
    assert " points more than" not in page


def test_a_long_name_is_broken_between_its_parameters():
    assert str(joints(LONG)) == "threshold:<wbr>target=25,<wbr>last_dice=2"
    assert (
        str(joints("bots/mine.py:Mine, 1,000 games")) == "bots/<wbr>mine.py:<wbr>Mine, 1,000 games"
    )
    assert str(joints("dice: 8 -> <7>")) == "dice: 8 → &lt;7&gt;"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_only_seen_is_called_an_association(runs, kind):
    page = (runs[kind] / "report.html").read_text(encoding="utf-8")
    assert ("This is an association" in page) == (kind in ("tournament", "balance"))


def replace_tables(folder: Path, tables: dict[str, pl.DataFrame]) -> None:
    """Put other tables into a run, with their checksums."""
    run_folder = RunFolder(folder)
    manifest = run_folder.manifest()
    run_folder.write_frames(tables, (), ())
    run_folder.write_manifest(manifest | {"files": manifest["files"] | run_folder.files})


def test_no_text_can_break_out_of_the_page(runs, tmp_path):
    """A bot may be loaded from any path: its name is text, and never markup."""
    folder = tmp_path / "run"
    shutil.copytree(runs["tournament"], folder)
    evil = "</script><script>alert(1)</script><b>"
    manifest = RunFolder(folder).manifest()
    tables = {}
    for name in manifest["tables"]:
        table = pl.read_parquet(folder / f"{name}.parquet")
        texts = [column for column, kind in table.schema.items() if kind == pl.String]
        tables[name] = table.with_columns(
            pl.col(texts).str.replace_all("random", evil, literal=True)
        )
    replace_tables(folder, tables)
    text = json.dumps(RunFolder(folder).manifest()).replace("random", evil)
    RunFolder(folder).write_manifest(json.loads(text))
    page = write_report(folder).read_text(encoding="utf-8")
    assert evil not in page
    assert "<b>" not in page.split('<script type="module">')[0]
    assert page.count("<script") == 3


def test_all_charts_are_saved_if_none_is_named(runs, tmp_path, capsys):
    names = list(chart_specs(load_results(runs["compare"])))
    assert run(["report", str(runs["compare"]), "--svg", str(tmp_path / "pictures")]) == 0
    paths = [tmp_path / "pictures" / f"{name}.svg" for name in names]
    assert capsys.readouterr().out.splitlines() == [str(path) for path in paths]
    assert all(path.read_text().startswith("<svg") for path in paths)


def test_charts_are_saved_as_pictures(runs, tmp_path, capsys):
    (png,) = save_charts(runs["balance"], tmp_path / "deep", ".png", ["pickups"])
    assert png == tmp_path / "deep" / "pickups.png"
    assert png.read_bytes().startswith(b"\x89PNG")
    arguments = ["report", str(runs["tournament"]), "--svg", str(tmp_path), "--chart", "seats"]
    assert run(arguments) == 0
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / "seats.svg")]
    assert (tmp_path / "seats.svg").read_text().startswith("<svg")


def test_the_command_writes_the_page(runs, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run(["report", str(runs["compare"]), "--out", str(page)]) == 0
    assert capsys.readouterr().out == f"{page}\n"
    assert "Rules compared: classic and short" in page.read_text(encoding="utf-8")


def test_mistakes_are_explained(runs, tmp_path, capsys):
    with pytest.raises(PickosimError, match='no chart "standing"; did you mean "standings"'):
        save_charts(runs["tournament"], tmp_path / "x", ".png", ["seats", "standing"])
    assert not (tmp_path / "x").exists()
    with pytest.raises(PickosimError, match="is not a run folder"):
        write_report(tmp_path)
    assert run(["report", str(runs["tournament"]), "--chart", "seats"]) == 2
    assert "--chart picks charts for --png or --svg" in capsys.readouterr().err


def test_an_unfinished_run_is_named_with_the_command_that_finishes_it(runs, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(runs["tournament"], folder)
    manifest = RunFolder(folder).manifest()
    RunFolder(folder).write_manifest(manifest | {"status": "stopped"})
    with pytest.raises(PickosimError, match=f"pickosim resume {folder}"):
        write_report(folder)


# ------------------------------------------------------------------------------------------- tables


def test_numbers_are_written_as_on_the_terminal():
    frame = pl.DataFrame(
        {
            "bot": ["a", "b"],
            "games": [12_000, 12_000],
            "win_share": [0.51234, 0.1],
            "win_share_low": [0.5, 0.09],
            "win_share_high": [0.52, 0.11],
            "rating": [1512.4, None],
            "rating_error": [7.3, None],
            "rating_field": [1, 1],
            "p_value": [0.00001, None],
        }
    )
    table = Frame(
        "standings",
        "One row per bot.",
        "bot games win_share± rating rating_error rating_field p_value",
    )
    columns = list(shown_columns(frame, table))
    assert [(column.heading, [words for words, _ in column.cells]) for column in columns] == [
        ("bot", ["a", "b"]),
        ("win share", ["51.23 %", "10.00 %"]),
        ("95 % interval", ["50.00 to 52.00", "9.00 to 11.00"]),
        ("rating", ["1512 ± 7", "–"]),
        ("p", ["< 0.0001", "–"]),
        ("games", ["12,000", "12,000"]),
    ]
    assert [column.is_text for column in columns] == [True] + [False] * 5
    sorted_by = [[value for _, value in _html_column(column)["cells"]] for column in columns]
    assert sorted_by == [
        ["a", "b"],
        ["0.51234", "0.1"],
        ["0.5", "0.09"],
        ["1512.4", ""],
        ["1e-05", ""],
        ["12000", "12000"],
    ]


def test_measures_are_shares_or_amounts_row_by_row():
    frame = pl.DataFrame(
        {"measure": ["turns", "ties"], "value": [31.5, 0.02], "difference": [-2.0, 0.01]}
    )
    columns = {
        column.heading: [words for words, _ in column.cells]
        for column in shown_columns(frame, COMPARE["measures"])
    }
    assert columns == {
        "measure": ["turns per game", "ties, % of games"],
        "value": ["31.50", "2.00 %"],
        "difference": ["-2.00", "+1.00 points"],
    }


@pytest.mark.parametrize("rows", [MOST_ROWS, MOST_ROWS + 1, MOST_CSV_ROWS, MOST_CSV_ROWS + 1])
def test_of_a_long_table_the_beginning_is_shown(runs, tmp_path, rows):
    folder = tmp_path / "run"
    shutil.copytree(runs["tournament"], folder)
    lengths = pl.read_parquet(folder / "lengths.parquet")
    numbers = pl.int_range(1, rows + 1, dtype=lengths.schema["turns"], eager=True)
    lengths = pl.DataFrame({"turns": numbers, "games": pl.Series([1] * rows)})
    replace_tables(folder, {"lengths": lengths})
    page = write_report(folder).read_text(encoding="utf-8")
    section = page.split('<section id="lengths">')[1].split("</section>")[0]
    assert section.count("<tr>") == MOST_ROWS + 1
    assert f"Data ({rows:,} rows)" in section
    assert ("The first 1,000 of" in section) == (rows > MOST_ROWS)
    assert ("rows; the CSV has all" in section) == (MOST_ROWS < rows <= MOST_CSV_ROWS)
    assert ("Save as CSV" in section) == (rows <= MOST_CSV_ROWS)
    data = json.loads(page.split('id="report">')[1].split("</script>")[0])
    assert ("lengths" in data["tables"]) == (rows <= MOST_CSV_ROWS)
    if rows <= MOST_CSV_ROWS:
        assert data["tables"]["lengths"] == lengths.write_csv()
