"""The mistakes a person can make, told in sentences a person can act on."""

from collections.abc import Iterable
from difflib import get_close_matches


class PickosimError(Exception):
    """A mistake of the user: its message is for a person, who needs no traceback.

    The command line prints the message and exits with status 2.
    """


class RulesError(PickosimError):
    """Rules that cannot be found, read or played."""


class BotError(PickosimError):
    """A bot that cannot be found, loaded or given such parameters."""


class StrategyError(PickosimError):
    """A strategy that answered what it may not, or failed to answer."""


def suggest(word: str, choices: Iterable[str]) -> str:
    """Return ``; did you mean "claim"?`` for a near miss of one of the choices, or nothing."""
    by_lower_case = {choice.lower(): choice for choice in choices}
    matches = get_close_matches(word.lower(), by_lower_case, n=1)
    return f'; did you mean "{by_lower_case[matches[0]]}"?' if matches else ""
