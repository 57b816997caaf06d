"""Commands about rules: list them, show one, explain an option, compare two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console, ConsoleOptions
from rich.text import Text

from pickosim.commands.parameters import (
    Json,
    RulesName,
    Sets,
    complete_rules,
    examples,
    new_app,
)
from pickosim.commands.terminal import json_of, show, show_or_json
from pickosim.reports.layout import QUIET, Grid, breakable, grid
from pickosim.rule_files import (
    Explanation,
    OptionInUse,
    differences,
    load_rules,
    options_in_use,
    presets,
)
from pickosim.rule_files import explain_rule as explained
from pickosim.rule_files import explain_rules as all_explained

app = new_app()
rules_app = new_app(help="List the rule sets, show one, compare two, or explain one.")
app.add_typer(rules_app, name="rules")

WIDE = 110
"""Columns from which a table of options has a column each for meanings and allowed values."""

UNLIMITED = 1000
"""Columns from which no line is broken, so that a long value need not widen its column."""

LONG = 30
"""Characters of a value that is too long for its column."""


@rules_app.callback(invoke_without_command=True)
def list_rules(context: typer.Context) -> None:
    """List the rule sets, show one, compare two, or explain one."""
    if context.invoked_subcommand is None:
        rows = [(rules.name, rules.title) for rules in presets()]
        show(grid("Rule sets", [("name", "left"), ("what it is", "left")], rows))


@rules_app.command("show", epilog=examples("pickosim rules show extrawurm"))
def show_rules(name: RulesName, sets: Sets = None, as_json: Json = False) -> None:
    """Show every option of a rule set.

    For each: its value, what that means, and what is allowed. --json prints the values only.
    """
    rules = load_rules(name, sets or ())
    if as_json:
        print(json_of(rules.as_dict()))
    else:
        show(OptionsTable(f"Rules {rules.name}", options_in_use(rules)))


@rules_app.command(
    "explain", epilog=examples("pickosim rules explain weasel", "pickosim rules explain tiles.36")
)
def explain_rule(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="An option (steal), an entry of one (tiles.36) or a specialist (weasel).",
            show_default="one line on each",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Explain an option or a specialist.

    What it means, which values are allowed, and how presets differ.
    """
    if name is None:
        show_or_json(as_json, all_explained(), _explanations)
    else:
        show_or_json(as_json, explained(name), _explanation)


@rules_app.command("diff", epilog=examples("pickosim rules diff classic short"))
def diff_rules(
    a: RulesName,
    b: Annotated[
        str,
        typer.Argument(metavar="OTHERS", help="Another one.", autocompletion=complete_rules),
    ],
    as_json: Json = False,
) -> None:
    """Show only what differs between two rule sets."""
    first, second = load_rules(a), load_rules(b)
    rows = differences(first, second)
    if as_json:
        print(json_of([{"option": option, "a": old, "b": new} for option, old, new in rows]))
    elif rows:
        columns = [("option", "left"), (first.name, "left"), (second.name, "left")]
        show(grid("What differs", columns, [map(breakable, row) for row in rows]))
    else:
        print("Nothing differs.")


# -------------------------------------------------------------------------------------------- as text


@dataclass(frozen=True)
class OptionsTable:
    """Every option of a rule set, laid out for the width there is."""

    title: str
    options: list[OptionInUse]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Grid | Text]:
        headings = ("option", "value", "meaning", "allowed")
        rows = [  # as for `--set`, where words need no quotes
            (each.option, breakable(each.value), each.meaning, each.allowed.replace('"', ""))
            for each in self.options
        ]
        if options.max_width < WIDE:
            columns = [("option", "left"), ("value and meaning", "left")]
            yield grid(self.title, columns, _stacked(rows))
        elif options.max_width < UNLIMITED:
            yield grid(self.title, [(heading, "left") for heading in headings], rows)
        else:
            yield Text(self.title, style="bold")
            widths = [
                max(len(cell) for cell in cells if column != 1 or len(cell) <= LONG)
                for column, cells in enumerate(zip(headings, *rows, strict=True))
            ]
            for row in (headings, *rows):
                yield Text("  ".join(map(str.ljust, row, widths)))


def _stacked(rows: Sequence[tuple[str, str, str, str]]) -> Iterator[tuple[str, Text]]:
    """For narrow terminals: the meaning and what is allowed below each value."""
    for option, value, meaning, allowed in rows:
        yield option, Text(value, style="bold")
        yield "", Text(meaning)
        yield "", Text(f"allowed: {allowed}", style=QUIET)


def _explanations(explanations: Sequence[Explanation]) -> Iterator[Grid | Text]:
    """One line per option, and one per specialist."""

    def table(title: str, kind: str, heading: str) -> Grid:
        rows = [(each.name, each.meaning) for each in explanations if each.kind == kind]
        return grid(title, [(kind, "left"), (heading, "left")], rows)

    yield table("Options", "option", "what it is about")
    yield Text()
    yield table("Specialists", "specialist", "what it does")


def _explanation(about: Explanation) -> Iterator[Grid | Text]:
    """Everything about one option, entry or specialist."""
    yield Text(about.name, style="bold")
    yield Text(about.meaning)
    if about.details:
        yield Text(about.details)
    yield Text()
    if about.values:
        yield grid("Values", [("value", "left"), ("meaning", "left")], about.values.items())
    else:
        yield Text(f"{about.option} can be {about.allowed}.")
    yield Text()
    if about.presets:
        rows = [("classic (default)", about.default), *about.presets.items()]
        yield grid(
            "In the presets (all others as classic)",
            [("preset", "left"), (about.option, "left")],
            [(preset, breakable(value)) for preset, value in rows],
        )
    else:
        yield Text(f"In all presets: {breakable(about.default)}")
    if about.related:
        yield Text()
        yield Text(f"See also: {', '.join(about.related)}")
