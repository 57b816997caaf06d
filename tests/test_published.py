"""Figures that others have published on single turns: the solver has to find them, to all of their digits.

- Adrien Obrecht and Damien Lesens, `Pickomino.ipynb` (github.com/adrien-obrecht/Pickomino): a turn of one player on the
  full grill, worth the worms of the tile (1 for 21 to 24, …, 4 from 33 on), and `c` if it fails.
- M. G. Poirot, `README.md` and `precalculated_chances/minimal.json` (github.com/MGPoirot/Pickomino): the best chance of
  at least each total, before the first roll and with dice set aside.
"""

from __future__ import annotations

import numpy as np
import pytest

import pickosim
from pickosim import After, FloatArray, Valuation
from pickosim.rule_files import load_rules

# ------------------------------------------------------------------------------------------ Obrecht and Lesens


class Worms(Valuation):
    """Counts the worms of the tile that a turn takes, or `fail` if it takes none."""

    fail: float = 0.0

    def value(self, after: After) -> FloatArray:
        won = after.worms[:, 0] - after.turn.worms[after.game, 0]
        return np.where(won > 0, won, self.fail)


@pytest.mark.parametrize(
    ("worms", "chance"),
    [
        (1, 0.8930267371507402),
        (2, 0.6803307111795147),
        (3, 0.34629328714934327),
        (4, 0.08677521589317934),
    ],
)
def test_chance_of_a_tile_with_so_many_worms(worms, chance):
    at_least = dict(pickosim.odds().select("total", "at_least").iter_rows())
    assert at_least[17 + 4 * worms] == pytest.approx(chance, abs=1e-14)


def test_chance_of_exactly_24_and_of_at_least_27():
    totals = {row["total"]: row for row in pickosim.odds().to_dicts()}
    assert totals[24]["exactly"] == pytest.approx(0.3750601883516776, abs=1e-14)
    assert totals[27]["at_least"] == pytest.approx(0.5247594468429359, abs=1e-14)


@pytest.mark.parametrize(
    ("aside", "roll", "fail", "best", "values"),
    [
        ("", "1,3,3,3,4,4,5,worm", 0, "4", {"4": 1.3847052945245566}),
        ("", "1,3,3,3,4,4,5,worm", -3, "4", {"4": 0.6866167395787997}),
        ("", "1,1,2,4,4,4,5,worm", 0, "4", {"4": 1.5035075126898982}),
        (
            "3,3,3",
            "1,3,4,4,worm",
            0,
            "worm",
            {"worm": 1.0007739864349952, "4": 0.8577674897119344},
        ),
    ],
)
def test_the_best_face_of_a_roll_and_what_it_is_worth(aside, roll, fail, best, values):
    found = pickosim.odds(bot=Worms(fail=fail), aside=aside or None, roll=roll)
    by_face = {row["face"]: row for row in found.to_dicts()}
    assert [face for face, row in by_face.items() if row["best"]] == [best]
    for face, value in values.items():
        assert by_face[face]["value"] == pytest.approx(value, abs=1e-14)


@pytest.mark.parametrize(
    ("aside", "best", "value"),
    [("3,5,5,worm,worm", "roll-on", 1.7256944444444444), ("2,3,3,4,4,worm", "stop", 1)],
)
def test_whether_to_stop(aside, best, value):
    """23 points of 3s, 5s and worms with three dice left; 21 of 2s, 3s, 4s and a worm with two left."""
    (chosen,) = pickosim.odds(bot=Worms(), aside=aside).filter("best").to_dicts()
    assert chosen["option"] == best
    assert chosen["value"] == pytest.approx(value, abs=1e-14)


# ------------------------------------------------------------------------------------------------------ Poirot


README = {
    21: 89.303, 22: 85.560, 23: 80.774, 24: 74.837, 25: 68.033, 26: 60.699, 27: 52.476, 28: 43.542,
    29: 34.629, 30: 26.379, 31: 19.401, 32: 13.581, 33: 8.678, 34: 5.262, 35: 2.891, 36: 1.568,
}  # fmt: skip
"""Model %, by total."""

MINIMAL = {
    "000000": "89.3 85.6 80.8 74.8 68.0 60.7 52.5 43.5 34.6 26.4 19.4 13.6 8.7 5.3 2.9 1.6",
    "000001": "81.4 74.0 65.4 55.6 45.6 36.1 27.4 19.6 13.1 8.3 5.2 3.0 1.6 0.8 0.4 0.2",
    "000003": "99.2 98.4 97.1 94.3 89.7 83.9 75.7 65.2 53.9 41.9 31.8 22.6 14.4 8.6 4.5 2.3",
    "000011": "60.7 49.3 37.7 26.4 17.2 10.9 6.1 3.1 1.4 0.6 0.2 0.1 0.0 0.0",
    "000040": "79.0 79.0 79.0 79.0 79.0 77.5 76.6 74.2 69.7 61.0 52.4 42.5 30.8 21.6 13.0 7.8",
    "000100": "75.6 70.5 62.6 55.9 46.6 38.3 32.0 23.7 18.3 12.1 7.9 5.7 3.1 2.1 0.9 0.5",
    "022010": "40.5 30.9 29.2 29.2 16.1 5.8 4.3 4.3 2.5 0.5",
    "030002": "82.7 70.8 62.0 54.7 41.3 26.1 16.7 12.0 5.8 2.5 0.5",
    "030101": "46.5 32.6 29.7 16.6 10.5 5.8 2.5 2.5 0.5 0.5",
}
"""By dice set aside (counts of the faces 1 to worm): % for 21, 22 and so on; higher totals are impossible."""


FEWER_DICE = {
    6: "883 842 787 722 646 556 466 376 280 199 126 78 44 19 8 2",
    5: "699 613 524 425 325 225 148 94 45 22 5",
}
"""By number of dice: the best chance of at least 15, 16 and so on, in ‰ (costas-basdekis/probable-worms)."""


class AtLeast(Valuation):
    """Wants a tile of at least this number."""

    total: int

    def value(self, after: After) -> FloatArray:
        return (after.tops[:, 0] >= self.total).astype(np.float64)


def test_best_chances_before_the_first_roll():
    at_least = dict(pickosim.odds().select("total", "at_least").iter_rows())
    assert {total: round(100 * at_least[total], 3) for total in README} == README


@pytest.mark.parametrize("dice", FEWER_DICE)
def test_best_chances_with_fewer_dice(dice):
    at_least = pickosim.odds(load_rules("classic", [f"dice={dice}"]))["at_least"]
    published = [int(chance) for chance in FEWER_DICE[dice].split()]
    assert [round(1000 * chance) for chance in at_least] == published


@pytest.mark.parametrize("aside", MINIMAL)
def test_best_chances_with_dice_set_aside(aside):
    faces = [
        face
        for face, count in zip((1, 2, 3, 4, 5, "worm"), aside, strict=True)
        for _ in range(int(count))
    ]
    of_totals = pickosim.odds(aside=faces or None, totals=True)
    at_least = dict(of_totals.select("total", "at_least").iter_rows())
    for total, published in enumerate(MINIMAL[aside].split(), start=21):
        assert f"{100 * at_least[total]:.1f}" == published
    if faces:  # a bot that wants just that plays as well
        for total in (22, 27):
            bot = pickosim.odds(bot=AtLeast(total=total), aside=faces)["value"].max()
            assert bot == pytest.approx(at_least[total], abs=1e-12)
