"""The report: one HTML page that holds all it needs, so that it opens anywhere, offline."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from pickosim import __version__
from pickosim.errors import PickosimError, suggest
from pickosim.reports.html_tables import MOST_ROWS, breakable, html_table
from pickosim.reports.layout import airy
from pickosim.rules import RuleSet, option_texts
from pickosim.runs.folder import RunFolder, write_whole, written
from pickosim.runs.results import Results, load_results

if TYPE_CHECKING:
    from pickosim.reports.report_content import Figure

MOST_CSV_ROWS = 10_000
"""Rows that the page offers as CSV; a table with more is read from its file."""

PIXELS = 2.0
"""Pixels of a picture a unit of its chart, for screens with small ones."""

Spec = dict[str, Any]


def write_report(folder: RunFolder | Path, path: Path | None = None) -> Path:
    """Write the page of a finished run, by default into its folder; where it is."""
    results = _results(folder)
    target = path or _path(folder) / "report.html"
    page = report_page(results)
    _write(target, page.encode())
    return target


def chart_names(folder: RunFolder | Path) -> list[str]:
    """The charts that a run has."""
    return list(_specs(_figures(_results(folder))))


def save_chart(folder: RunFolder | Path, name: str, path: Path) -> Path:
    """Write one chart as a picture, PNG or SVG by the ending of its name."""
    if path.suffix.lower() not in (".png", ".svg"):
        raise PickosimError(f"A chart is written to a .png or .svg file, not to {path.name}.")
    spec = _chosen(folder, [name])[name]
    _write(path, _picture(spec, path.suffix.lower()))
    return path


def save_charts(
    folder: RunFolder | Path, pictures: Path, suffix: str, names: Sequence[str] | None = None
) -> list[Path]:
    """Write all charts, or those of these names, into a folder; the suffix is .png or .svg."""
    paths = []
    for name, spec in _chosen(folder, names).items():
        paths.append(pictures / f"{name}{suffix}")
        _write(paths[-1], _picture(spec, suffix))
    return paths


def _chosen(folder: RunFolder | Path, names: Sequence[str] | None) -> dict[str, Spec]:
    """The charts of these names; all without any."""
    specs = _specs(_figures(_results(folder)))
    for name in names or []:
        if name not in specs:
            hint = suggest(name, specs) or f"; its charts are {', '.join(specs)}."
            raise PickosimError(f'The run {_path(folder)} has no chart "{name}"{hint}')
    return {name: specs[name] for name in names or specs}


def report_page(results: Results) -> str:
    """The page of a run."""
    from pickosim.reports import charts
    from pickosim.reports.report_content import content_of

    content = content_of(results)
    specs = _specs(content.figures)
    data = {
        "specs": specs,
        "themes": {scheme: charts.theme(scheme) for scheme in charts.COLOURS},
        "tables": {
            figure.name: written(figure.data, "csv")
            for figure in content.figures
            if len(figure.data) <= MOST_CSV_ROWS
        },
    }
    result, manifest = results.manifest["result"], results.manifest
    links = [(figure.name, figure.title) for figure in content.figures]
    links += [("how", "How it was run")]
    if content.sentences:
        links.insert(0, ("findings", "Findings"))
    return _template("template.html").substitute(
        version=escape(__version__),
        title=escape(content.title),
        heading=breakable(content.title),
        kind=escape(manifest["kind"]),
        headline=_prose(content.headline),
        findings=_findings(content.sentences),
        games=f"{result['games']:,} games, {result['unfinished']:,} unfinished (ended by the turn "
        f"limit), seed {manifest['plan']['seed']}.",
        contents="\n".join(
            f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title in links
        ),
        figures="\n".join(_figure_html(figure, figure.name in specs) for figure in content.figures),
        how=_how(manifest),
        colours=_css_colours(charts.COLOURS),
        style=_page_file("style.css"),
        script=_page_file("script.js"),
        bundle=_bundle(),
        # No text can end the element that holds it.
        data=json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
    )


def _prose(text: str) -> str:
    """A sentence in which no line begins with a % or ± sign, or ends with a ±."""
    return breakable(text).replace(" %", "&nbsp;%").replace(" ± ", "&nbsp;±&nbsp;")


def _findings(sentences: Sequence[str]) -> str:
    """What a study has to say beside its headline."""
    return (
        f'<section id="findings">\n<h2>Findings</h2>\n{_list(sentences)}\n</section>'
        if sentences
        else ""
    )


def _list(sentences: Sequence[str]) -> str:
    """Sentences one below the other, if there are any."""
    items = "".join(f"<li>{_prose(sentence)}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>" if items else ""


# ------------------------------------------------------------------------------------------ figures


def _results(folder: RunFolder | Path) -> Results:
    return load_results(_path(folder))


def _path(folder: RunFolder | Path) -> Path:
    return folder.path if isinstance(folder, RunFolder) else Path(folder)


def _figures(results: Results) -> list[Figure]:
    from pickosim.reports.report_content import content_of

    return content_of(results).figures


def _specs(figures: Sequence[Figure]) -> dict[str, Spec]:
    """The Vega-Lite specification of every chart, by name."""
    drawn = {figure.name: figure.draw() for figure in figures if figure.draw is not None}
    return {name: chart.to_dict() for name, chart in drawn.items() if chart is not None}


def _figure_html(figure: Figure, is_drawn: bool) -> str:
    """A section: what it is, the chart, the data."""
    chart = (
        f'<figure><div class="chart" data-chart="{figure.name}" role="img" '
        f'aria-label="{escape(figure.title)}, drawn from the table below"></div></figure>\n'
        if is_drawn
        else ""
    )
    rows = len(figure.data)
    note = ""
    if rows > MOST_ROWS:
        where = "the CSV has all" if rows <= MOST_CSV_ROWS else "the tables of the run have all"
        note = f'<p class="note">The first {MOST_ROWS:,} of {rows:,} rows; {where}.</p>'
    button = (
        f'<button type="button" class="csv" data-table="{figure.name}" hidden>Save as CSV</button>'
        if rows <= MOST_CSV_ROWS
        else ""
    )
    is_open = " open" if figure.is_open else ""
    return (
        f'<section id="{figure.name}">\n<h2>{escape(figure.title)}</h2>\n'
        f'<p class="note">{_prose(figure.note)}</p>\n{chart}'
        f"<details{is_open}><summary>{'Table' if figure.is_open else 'Data'} "
        f"({rows:,} {'row' if rows == 1 else 'rows'})</summary>\n"
        f"{note}{html_table(figure.data, figure.title)}\n{button}</details>\n</section>"
    )


# --------------------------------------------------------------------------------- how it was run


def _how(manifest: Mapping[str, Any]) -> str:
    """The command, the rules, the bots, the machine."""
    plan, result = manifest["plan"], manifest["result"]
    command = manifest["command"]
    rerun = (
        f"<pre><code>{escape(command)}</code></pre>"
        if command
        else "It was started from Python; all that its result depends on is the plan in "
        "<code>manifest.json</code>."
    )
    facts = [
        ("To run it again", rerun),
        ("Seed", escape(str(plan["seed"]))),
        (
            "Rules of the reference" if "variants" in plan else "Rules",
            _rules(RuleSet.from_dict(plan["rules"]), manifest["rules_version"]),
        ),
        ("Bots", _bots(plan["strategies"])),
        ("Games", _games(manifest)),
        ("Machine", _machine(manifest)),
        ("Versions", _versions(manifest)),
    ]
    if result["remarks"]:
        facts.insert(0, ("Keep in mind", _list(result["remarks"])))
    return (
        "<dl>\n" + "\n".join(f"<dt>{term}</dt><dd>{text}</dd>" for term, text in facts) + "\n</dl>"
    )


def _rules(rules: RuleSet, version: int) -> str:
    """How to ask for the rules, and all options."""
    arguments = escape(" ".join(rules.as_arguments()))
    rows = "\n".join(
        f'<tr><td class="text">{escape(option)}</td><td class="text">{escape(airy(value))}</td></tr>'
        for option, value in option_texts(rules)
    )
    return (
        f"<code>{arguments}</code> (version {version} of the rules)"
        f'<details><summary>All options</summary><div class="scroll"><table><tbody>\n{rows}\n'
        "</tbody></table></div></details>"
    )


def _bots(strategies: Sequence[Mapping[str, str]]) -> str:
    """The bots and the digests of their sources."""
    shown = "".join(
        f'<li>{escape(bot["name"])} <span class="quiet">source <code>{escape(bot["source"])}'
        "</code></span></li>"
        for bot in strategies
    )
    if len(strategies) <= 12:
        return f"<ul>{shown}</ul>"
    return f"<details><summary>{len(strategies):,} bots</summary><ul>{shown}</ul></details>"


def _games(manifest: Mapping[str, Any]) -> str:
    result = manifest["result"]
    return (
        f"{result['games']:,}, of which {result['unfinished']:,} were ended by the turn limit; "
        f"{manifest['seconds']:,.1f} s, {manifest['games_per_second']:,} games/s"
    )


def _machine(manifest: Mapping[str, Any]) -> str:
    return escape(
        f"{manifest['machine']}, {manifest['cores']} cores, {manifest['system']}; "
        f"workers: {manifest['workers']}; {manifest['started']}"
    )


def _versions(manifest: Mapping[str, Any]) -> str:
    named = ", ".join(f"{name} {version}" for name, version in manifest["versions"].items())
    engine = manifest["plan"]["engine"]
    return f"{escape(named)}; engine source <code>{escape(engine)}</code>"


# ----------------------------------------------------------------------------- files, libraries


def _page_file(name: str) -> str:
    return files("pickosim.reports").joinpath("page", name).read_text(encoding="utf-8")


def _template(name: str) -> Template:
    return Template(_page_file(name))


def _css_colours(schemes: Mapping[str, Mapping[str, str]]) -> str:
    """The colours of both schemes; paper is always light."""

    def block(scheme: str) -> str:
        colours = " ".join(f"--{name}: {value};" for name, value in schemes[scheme].items())
        return f":root {{ color-scheme: {scheme}; {colours} }}"

    return "\n".join(
        [
            block("light"),
            f"@media screen and (prefers-color-scheme: dark) {{ {block('dark')} }}",
        ]
    )


@cache
def _bundle() -> str:
    """Vega and Vega-Lite, in the versions that Altair writes for, as one script."""
    source: str = _vl_convert().javascript_bundle(vl_version=_vegalite())
    return source.replace("</script", "<\\/script")


def _picture(spec: Spec, suffix: str) -> bytes:
    """A chart on white."""
    from pickosim.reports import charts

    config = charts.theme("light") | {"background": charts.COLOURS["light"]["paper"], "padding": 12}
    convert = _vl_convert()
    if suffix == ".svg":
        svg: str = convert.vegalite_to_svg(spec, vl_version=_vegalite(), config=config)
        return svg.encode()
    png: bytes = convert.vegalite_to_png(spec, vl_version=_vegalite(), config=config, scale=PIXELS)
    return png


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError as error:
        raise PickosimError(
            "Charts and reports need more packages: pip install 'pickosim[report]'."
        ) from error
    return vl_convert


def _vegalite() -> str:
    """The version of Vega-Lite that Altair writes, as vl-convert names it."""
    from altair import SCHEMA_VERSION

    major, minor, *_ = SCHEMA_VERSION.removeprefix("v").split(".")
    return f"{major}.{minor}"


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise PickosimError(f"{path} cannot be written: {error.strerror}.") from error
