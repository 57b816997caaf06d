"""Studies by kind: a run folder read again, as the study that was played in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pickosim.bots.entrants import check_sources
from pickosim.errors import PickosimError, RulesError
from pickosim.rules import RULES_VERSION, RuleSet, differences, load_rules
from pickosim.runs.folder import Manifest
from pickosim.runs.run import Study, plan_digest
from pickosim.studies.balance import Balance
from pickosim.studies.compare import Compare
from pickosim.studies.tournament import Tournament

KINDS = {kind.kind: kind for kind in (Tournament, Compare, Balance)}


def study_of(manifest: Manifest) -> Study:
    """The study that a run folder was made for, exactly as it was planned."""
    if manifest["kind"] not in KINDS:
        raise PickosimError(f'This version knows no study of kind "{manifest["kind"]}".')
    study = KINDS[manifest["kind"]].from_plan(manifest["plan"])
    if plan_digest(study) != manifest["run"]:
        check_unchanged(manifest)
        raise PickosimError("The plan in manifest.json is not the one that the run began with.")
    return study


def check_unchanged(manifest: Manifest) -> None:
    """Refuse to go on where the same plan would give other games; say what has changed."""
    plan = manifest["plan"]
    if manifest["rules_version"] != RULES_VERSION:
        raise PickosimError(
            f"The run was begun with version {manifest['rules_version']} of the rules; "
            f"this is {RULES_VERSION}."
        )
    now = KINDS[manifest["kind"]].from_plan(plan).plan["engine"]
    if plan["engine"] != now:
        raise PickosimError(
            f"The run was begun with another pickosim ({manifest['versions']['pickosim']}, source "
            f"{plan['engine']}); this one has source {now}. Go on with that one, or begin a new run."
        )
    for rules in [plan, *plan.get("variants", [])]:
        _check_rules(RuleSet.from_dict(rules["rules"]), rules["given_rules"])
    check_sources(KINDS[manifest["kind"]].from_plan(plan).entrants)


def _check_rules(then: RuleSet, given: Mapping[str, Any] | None) -> None:
    """Whether the file or preset that the rules were read from still says the same."""
    if given is None:
        return
    try:
        now = load_rules(given["rules"], given["sets"])
    except RulesError as error:
        raise PickosimError(f"The rules of the run can no longer be read: {error}") from error
    changed = [f"{option} was {a} and is {b}" for option, a, b in differences(then, now)]
    if changed:
        raise PickosimError(
            f"The rules {given['rules']} have changed since the run began: {'; '.join(changed)}."
        )
