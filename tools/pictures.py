"""Redraw the pictures in experiments/ from the runs of the experiments: `python tools/pictures.py RUNS`.

RUNS holds one run folder for each experiment, by its name: `pickosim run experiments/NAME.toml --out RUNS/NAME`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pickosim.errors import PickosimError
from pickosim.reports.page import save_charts

CHARTS = {
    "ceiling_classic": "standings",
    "ceiling_extrawurm": "standings",
    "first_seat": "seats",
    "flipping": "lengths",
    "ladder": "cross-table",
    "lead": "by-lead",
    "luck_classic": "luck",
    "luck_extrawurm": "luck",
    "readings": "lengths",
    "rule_sets": "lengths",
    "skill": "effects",
    "specialists": "pickups",
    "specialists_boxed": "pickups",
    "specialists_settings": "worth-by-number",
}
"""The chart that the page of each experiment shows."""


def main(runs: Path) -> None:
    """Draw the experiments that have a finished run; end with a sentence about each that has none."""
    experiments = Path(__file__).resolve().parents[1] / "experiments"
    missing = []
    for path in sorted(experiments.glob("*.toml")):
        folder, chart = runs / path.stem, CHARTS[path.stem]
        try:
            (drawn,) = save_charts(folder, experiments, ".svg", [chart])
            drawn.replace(path.with_suffix(".svg"))
        except PickosimError as error:
            missing.append(f"{path.stem}: {error}")
    if missing:
        sys.exit("\n".join(missing))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs"))
