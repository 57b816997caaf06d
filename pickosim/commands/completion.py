"""What a shell completes: the names of bots and rules, and the folders of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path


def bots(incomplete: str) -> list[str]:
    """Bots by name and the files beside; of a list with commas, the last one."""
    from pickosim.bots.entrants import ALL
    from pickosim.bots.loading import built_in_bots, installed_bots

    before, comma, begun = incomplete.rpartition(",")
    names = [*built_in_bots(), *installed_bots(), ALL, *_files(begun, ".py")]
    return [f"{before}{comma}{name}" for name in _beginning(begun, names)]


def rules(incomplete: str) -> list[str]:
    """Presets, and rules as files."""
    from pickosim.rule_files import PRESETS

    return _beginning(incomplete, [*PRESETS, *_files(incomplete, ".toml")])


def runs(incomplete: str) -> list[str]:
    """Run folders, first those in runs/."""
    folders = [*Path("runs").glob("*/manifest.json"), *Path().glob("*/manifest.json")]
    return _beginning(incomplete, [str(manifest.parent) for manifest in sorted(folders)])


BY_METAVAR: dict[str, Callable[[str], list[str]]] = {
    "BOT": bots,
    "BOT,…": bots,
    "RULES": rules,
    "RUN": runs,
}
"""What a value is says how it is completed."""


def _files(begun: str, suffix: str) -> Iterator[str]:
    """Files of a kind in the folder that is being written."""
    folder, slash, _ = begun.rpartition("/")
    for path in sorted(Path(folder + slash or ".").glob(f"*{suffix}")):
        yield f"{folder}{slash}{path.name}"


def _beginning(begun: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(begun)]
