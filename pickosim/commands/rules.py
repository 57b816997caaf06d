"""Commands about rules: list them, show one, explain an option, compare two."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from pickosim.commands.parameters import (
    Json,
    RulesName,
    Sets,
    complete_rules,
    examples,
    load_rule_set,
    rules_app,
)
from pickosim.commands.terminal import json_of, show


@rules_app.callback(invoke_without_command=True)
def list_rules(context: typer.Context) -> None:
    """List the rule sets, show one, compare two, or explain one."""
    if context.invoked_subcommand is not None:
        return
    from pickosim.reports.layout import grid
    from pickosim.rule_files import presets

    rows = [(rules.name, rules.title) for rules in presets()]
    show(grid("Rule sets", [("name", "left"), ("what it is", "left")], rows))


@rules_app.command("show", epilog=examples("pickosim rules show extrawurm"))
def show_rules(
    name: RulesName,
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Show every option of a rule set: its value, what that means, and what is allowed.

    --json prints the values only.
    """
    from pickosim.reports.listings import OptionsTable
    from pickosim.rule_files import options_in_use

    rules = load_rule_set(name, sets)
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
    """Explain an option or a specialist: meaning, allowed values, and how presets differ."""
    from pickosim import rule_files
    from pickosim.reports.listings import explanation_page, explanations_tables

    if name is None:
        explained = rule_files.explain_rules()
        if as_json:
            print(json_of([asdict(each) for each in explained]))
        else:
            show(*explanations_tables(explained))
        return
    about = rule_files.explain_rule(name)
    if as_json:
        print(json_of(asdict(about)))
    else:
        show(*explanation_page(about))


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
    from pickosim.reports.layout import breakable, grid
    from pickosim.rule_files import differences

    first, second = load_rule_set(a), load_rule_set(b)
    rows = differences(first, second)
    if as_json:
        print(json.dumps([{"option": o, "a": x, "b": y} for o, x, y in rows], indent=2))
        return
    if not rows:
        print("Nothing differs.")
        return
    columns = [("option", "left"), (first.name, "left"), (second.name, "left")]
    show(grid("What differs", columns, [(o, breakable(x), breakable(y)) for o, x, y in rows]))
