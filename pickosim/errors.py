"""Errors that users can fix; each message is a sentence that says what is wrong and what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


class PickosimError(Exception):
    """A mistake by the user; the message explains it, so no traceback is needed.

    The command line prints the message and exits with status 2.
    """

    advice = ""
    """What to do about a run that it stopped and that cannot be resumed; empty if it can."""

    bot = ""
    """The bot that failed in a game, as it was named."""


class RulesError(PickosimError):
    """Rules that cannot be found, read or played."""


class BotError(PickosimError):
    """A bot that cannot be found or loaded, or does not take the given parameters."""


class StrategyError(PickosimError):
    """A strategy that raised an exception or gave an invalid answer."""

    advice = "A corrected bot counts as another bot and needs a run of its own."


class TimeLimitError(StrategyError):
    """A strategy that took too long for an answer; a resumed run can give it more time."""

    advice = ""


class AnswerError(Exception):
    """An invalid answer to a question that the engine did not ask itself; the message says what was returned."""


def lacking(needs: str, extra: str) -> PickosimError:
    """The error for packages of an extra that are not installed; `needs` begins the sentence."""
    return PickosimError(
        f'{needs} more packages; in a checkout of pickosim: pip install -e ".[{extra}]".'
    )


def suggest(word: str, choices: Iterable[str]) -> str:
    """Return ``; did you mean "claim"?`` if the word is close to one of the choices, else ``""``."""
    by_lower_case = {choice.lower(): choice for choice in choices}
    matches = get_close_matches(word.lower(), by_lower_case, n=1)
    return f'; did you mean "{by_lower_case[matches[0]]}"?' if matches else ""
