"""Rules of a study: how they are kept in a plan, and variants from presets, files, `--set` and `--sweep`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product, takewhile
from math import prod
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic.dataclasses import dataclass

from pickosim.amounts import expand_range, split_list
from pickosim.bots.entrants import numbered
from pickosim.errors import PickosimError, RulesError, suggest
from pickosim.rule_files import complete_rules, differences, load_rules
from pickosim.rules import RuleSet


def _from_plan(rules: Any) -> Any:
    """Rules, or each of a list, that a plan has in full; others as they are."""
    if isinstance(rules, list):
        return [_from_plan(each) for each in rules]
    return complete_rules(rules) if isinstance(rules, dict) else rules


FROM_PLAN = BeforeValidator(_from_plan)

StoredRules = Annotated[RuleSet, FROM_PLAN]
"""Rules in a plan: all options, whatever the file or preset says later."""

MOST_VARIANTS = 100
"""Variants per run at most: a typing mistake should not sweep a million."""


@dataclass(frozen=True)
class Variant:
    """Rules in a comparison, under their name there."""

    name: str
    rules: StoredRules


def make_variants(
    rules: Sequence[str | Path | RuleSet], sets: Sequence[str] = (), sweeps: Sequence[str] = ()
) -> list[Variant]:
    """Rule sets with options changed by `--set`, each in all combinations of what is swept.

    Rules can be followed by options of their own, e.g. `classic dice=7`. A sweep is an option with its values,
    e.g. `dice=7,8,9`, `dice=7..9` or `exact_only=[],[21,22]`. A variant is named after its rules and what is
    swept there, again `classic dice=7`; a second one of the same name is numbered, e.g. `classic#2`. A single
    variant that is swept comes after its rules without the sweep.
    """
    if isinstance(rules, str):
        raise PickosimError(f'Variants are given as a list, e.g. ["{rules}", "short"].')
    swept = [sweep_texts(sweep) for sweep in sweeps]
    _refuse_twice(swept)
    if (number := len(rules) * prod(map(len, swept))) > MOST_VARIANTS:
        factors = " × ".join(str(count) for count in (len(rules), *map(len, swept)))
        raise PickosimError(
            f"{factors} makes {number:,} variants; a run can have {MOST_VARIANTS} at most."
        )
    if not number:
        raise PickosimError("There is no variant to play: name rules, e.g. classic and short.")
    settings = [(spec, texts) for spec in rules for texts in product(*swept)]
    if swept and number == 1:
        settings.insert(0, (rules[0], ()))  # the reference of the only one
    variants = [_variant(spec, sets, texts) for spec, texts in settings]
    names = numbered(variant.name for variant in variants)
    return [replace(variant, name=name) for variant, name in zip(variants, names, strict=True)]


def sweep_texts(sweep: str) -> list[str]:
    """The values of a sweep, each as `--set` takes it: `dice=7..9` is dice=7, dice=8, dice=9."""
    option, equals, values = sweep.partition("=")
    swept = [value for part in split_list(values) for value in expand_range(part)]
    if not (equals and option.strip() and all(swept)):
        raise RulesError(
            f"--sweep {sweep}: an option is swept with option=value,value, such as dice=7,8,9."
        )
    return list(dict.fromkeys(f"{option.strip()}={value}" for value in swept))


def named_variant(variants: Sequence[Variant], name: str | None) -> Variant:
    """The variant of that name; the first if none is named."""
    names = [variant.name for variant in variants]
    if name is None:
        return variants[0]
    if name not in names:
        hint = suggest(name, names) or f"; the variants are {', '.join(names)}."
        raise PickosimError(f'No variant is named "{name}"{hint}')
    return variants[names.index(name)]


def what_differs(reference: RuleSet, rules: RuleSet) -> str:
    """What differs from the reference, e.g. `option: a -> b; …`; names and titles do not count."""
    return "; ".join(
        f"{option}: {old} -> {new}"
        for option, old, new in differences(reference, rules)
        if option not in ("name", "title")
    )


def _variant(spec: str | Path | RuleSet, sets: Sequence[str], texts: Sequence[str]) -> Variant:
    """Rules with options set and some swept."""
    base, own = _with_options(spec)
    name = " ".join([load_rules(base).name, *own, *texts])
    with _blamed_on_sweep(texts):
        return Variant(name, load_rules(base, [*sets, *own, *texts]))


def _with_options(spec: str | Path | RuleSet) -> tuple[str | Path | RuleSet, list[str]]:
    """Rules, and the options written after them: `classic dice=7` is `classic` with `dice=7`."""
    if not isinstance(spec, str) or Path(spec).exists():
        return spec, []
    words = spec.split()
    options = list(takewhile(lambda word: "=" in word, reversed(words[1:])))[::-1]
    return (" ".join(words[: len(words) - len(options)]), options) if options else (spec, [])


@contextmanager
def _blamed_on_sweep(texts: Sequence[str]) -> Iterator[None]:
    """Name a mistake in a swept value by the option of the command line that it was written to."""
    try:
        yield
    except RulesError as error:
        message = str(error)
        for text in texts:
            message = message.replace(f"--set {text}", f"--sweep {text}")
        raise RulesError(message) from None


def _refuse_twice(swept: Sequence[Sequence[str]]) -> None:
    options = [texts[0].partition("=")[0] for texts in swept]
    for option, times in Counter(options).items():
        if times > 1:
            values = ",".join(
                text.partition("=")[2]
                for texts, of in zip(swept, options, strict=True)
                if of == option
                for text in texts
            )
            raise RulesError(
                f"{option} is swept twice; give all its values at once: --sweep {option}={values}."
            )
