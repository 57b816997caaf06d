"""Tuning: planted optima are found, parameters without effect are named, and the promise of --within holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pickosim
from pickosim.bots.loading import load_bot, make_entrants
from pickosim.cli import run
from pickosim.engine.tally import PARTS, win_parts
from pickosim.errors import PickosimError
from pickosim.games.batch import play_games
from pickosim.games.match import make_match
from pickosim.rule_files import load_rules
from pickosim.runs.tasks import add
from pickosim.stats.intervals import Control, Moments, less_control, stratified_mean
from pickosim.stats.sequential import Stratum, bounds, shortfall, survivors
from pickosim.studies.arms import the_judge
from pickosim.studies.schedule import rotations
from pickosim.studies.tune import LUCK_STEP, Tune, TuneJob

PEAK = """
import numpy as np
from pickosim import Strategy

class Peak(Strategy):
    \"\"\"Takes the most points, but the fewest in one turn of eight for each step that x is away from 3.\"\"\"

    x: int = 1
    idle: int = 0

    def pick(self, turn):
        errs = turn.number % 8 < abs(self.x - 3)
        return turn.best(turn.counts * np.arange(7) * np.where(errs, -1, 1)[:, None])

    def stop(self, turn):
        return turn.can_claim
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("peak.py").write_text(PEAK, encoding="utf-8")


def printed(capsys, *words: str) -> str:
    assert run(["tune", *words, "--workers", "1"]) == 0
    return capsys.readouterr().out


def test_a_planted_optimum_is_found_and_confirmed(capsys):
    out = printed(capsys, "peak.py:x=1..5,idle=0..1", "--against", "eager,thief", "--games", "8k")
    first = out.splitlines()[0]
    assert first.startswith("Best: x=3,idle=0, rated ")
    assert first.endswith("As good within the error: x=3,idle=1.")
    assert "`idle` has no effect: no result changed in " in out
    assert "of win share against the present setting (x=1,idle=0): it is better." in out
    assert "With 95 % certainty, none of the 10 settings is more than " in out


def test_the_headline_says_whether_new_dice_confirm_it():
    said = set()
    for seed in range(4):
        options = {"against": ["eager"], "games": 200, "seed": seed, "workers": 1}
        results = pickosim.tune("threshold:target=23..26", **options)
        new = results.confirmation
        expected = len(new) > 0 and new["gain_low"][0] <= 0
        no_better = (
            "On new dice it is not better than your present setting, target=" in results.headline
        )
        assert no_better is expected
        said.add(no_better)
    assert True in said


def test_without_effect_there_is_no_better_setting(capsys):
    out = printed(capsys, "peak.py:idle=0..3", "--against", "eager", "--games", "2k")
    assert out.startswith("Best: idle=0 (your present setting), rated ")
    assert "`idle` has no effect: no result changed in 1," in out
    assert "No better setting than the present setting was found." in out


def test_the_best_of_several_bots_in_every_way_it_can_be_asked(only_workers):
    options = {"against": ["thief"], "games": 2000, "chunk": 100, "players": 3}
    bots = ["random", "eager", "peak.py"]
    one, two = (pickosim.tune(bots, **options, workers=workers) for workers in (1, 2))
    assert one.manifest["result"]["headline"].startswith("Best: eager, win share ")
    for name, frame in one.frames.items():
        assert frame.equals(two.frames[name])
    assert one.confirmation["gain_low"][0] > 0.2
    Path("question.toml").write_text(
        'study = "tune"\nquestion = "Who?"\nbots = ["random", "eager", "peak.py"]\nagainst = ["thief"]\n'
        "games = 2000\nplayers = 3\n"
    )
    assert pickosim.experiment("question.toml", workers=1).settings.equals(one.settings)


@pytest.mark.parametrize(
    ("bots", "said"),
    [
        (
            ["threshold:target=21..36", "peak.py:x=1..50,idle=0..9"],
            "16 of target + 50 of x × 10 of idle make 516 settings; 500 are the most.",
        ),
        (["peak.py"], "There is nothing to choose from: give a range"),
        (["peak.py:y=1..3"], "y"),
    ],
)
def test_what_cannot_be_tuned_is_refused(bots, said):
    with pytest.raises(PickosimError) as caught:
        pickosim.tune(bots)
    assert said in str(caught.value)


def test_sums_do_not_depend_on_how_blocks_are_cut():
    """And they are what each setting wins, and how lucky it is, block by block, with the same dice."""
    rules, bots = load_rules("classic"), ["peak.py:x=1", "eager", "thief"]
    job = TuneJob(tuple(make_entrants(bots)), 1, rules, luck_by=the_judge())
    whole, _ = job.play(3, 500, 90)
    parts = [job.play(3, first, blocks)[0] for first, blocks in ((500, 40), (540, 50))]
    together = add(*parts)
    assert all(np.array_equal(whole[name], together[name]) for name in whole)
    found = []
    for bot in bots[:2]:
        match = make_match([bot, "thief"], rules, 3, rotations((bot, "thief")))
        tally = play_games(match, 500, 90, judge=load_bot("champion"))
        luck = tally.luck / LUCK_STEP
        for of_seats in (win_parts(tally.rank), luck):
            by_rotation = of_seats.reshape(2, 90, 2)
            found.append(by_rotation[0, :, 0] + by_rotation[1, :, 1])
    of = np.rint(found).astype(int).reshape(2, 2, 90).swapaxes(0, 1)
    assert np.array_equal(whole["grouped"].sum(axis=2), of.sum(axis=2))
    assert np.array_equal(whole["products"], np.einsum("ksb,ltb->kslt", of, of))
    without, _ = replace(job, luck_by=None).play(3, 500, 90)
    assert np.array_equal(without["grouped"], whole["grouped"][:1])
    assert np.array_equal(without["products"], whole["products"][:1, :, :1])


def strata_of(blocks: list[np.ndarray]) -> list[Stratum]:
    """From values (S, B), or values and controls (2, S, B)."""
    return [
        Stratum(of.shape[-1], of.sum(axis=-1)[..., None], products_of(of), 2 * PARTS, PARTS)
        for of in (each.reshape(-1, *each.shape[-2:]) for each in blocks)
    ]


def products_of(of: np.ndarray) -> np.ndarray:
    flat = of.reshape(-1, of.shape[-1])
    return (flat @ flat.T).reshape(2 * of.shape[:2])


def test_values_less_controls_are_those_of_a_regression():
    """With two settings, of their difference on that of their controls; equal settings differ by nothing."""
    rng = np.random.default_rng(4)
    luck = rng.integers(-500, 500, (3, 120))
    luck[2] = luck[1]
    won = luck + rng.integers(-90, 91, (3, 120))
    won[2] = won[1]
    (two,), (three,) = (strata_of([np.array([won[:k], luck[:k]])]) for k in (2, 3))
    values, control = won[0] - won[1], luck[0] - luck[1]
    wanted = less_control(
        Moments.of(120, values.sum(), (values**2).sum(), 2 * PARTS, PARTS),
        Control(*(float((control * of).sum()) for of in (1, control, values / (2 * PARTS)))),
    )
    found = stratified_mean([two.difference(0, 1)])
    assert found.mean == pytest.approx(wanted.total / 120)
    error = two.difference(0, 1).variance_of_total ** 0.5
    assert error == pytest.approx(wanted.variance_of_total**0.5, rel=0.02)
    assert (
        error
        < 0.3 * Moments.of(120, values.sum(), (values**2).sum(), 2 * PARTS).variance_of_total ** 0.5
    )
    assert three.difference(1, 2)[1:3] == (0.0, 0.0)
    few = strata_of([np.array([won[:, :49], luck[:, :49]])])[0]
    assert few.totals.tolist() == won[:, :49].sum(axis=1).tolist()


def test_bounds_are_intervals_of_paired_differences():
    rng = np.random.default_rng(1)
    strata = strata_of([rng.integers(0, 3, (3, 80)) * PARTS for _ in range(2)])
    ahead, off = bounds(strata, settings=3, looks=5)
    for one in range(3):
        for other in range(3):
            if one != other:
                known = stratified_mean([each.difference(one, other) for each in strata])
                miss = 0.05 / (2 * 5 * 2)
                half = known._replace(df=79).quantile(1 - 2 * miss) * known.error
                assert ahead[one, other] == pytest.approx(known.mean)
                assert off[one, other] == pytest.approx(half)
    assert isinstance(strata[0].share(1), Moments)


def test_who_is_certainly_worse_drops_out():
    ahead = np.array([[0.0, 0.1, 0.3], [-0.1, 0.0, 0.2], [-0.3, -0.2, 0.0]])
    off = np.full((3, 3), 0.15)
    assert survivors(ahead, off).tolist() == [0, 1]
    assert shortfall(0, ahead, off) == pytest.approx(0.05)
    assert shortfall(1, ahead, off) == pytest.approx(0.25)


# --------------------------------------------------------------------------------------- the promise


def kept_promises(pool: np.ndarray, repetitions: int, within: float) -> tuple[int, int]:
    """How often the best of a pool (K, S, B) is missed by more than is promised, and how often it is decided early.

    Blocks are drawn from the pool, so that its means are the truth.
    """
    specs = [f"threshold:target={target}" for target in range(21, 21 + pool.shape[1])]
    study = Tune(specs, against=["eager"], games=40_000, within=within)
    truth, rng = pool[0].mean(axis=1) / (2 * PARTS), np.random.default_rng(0)
    broken = early = 0
    for _ in range(repetitions):
        sums: list[dict[str, np.ndarray]] = [{} for _ in range(study.parts)]
        begin = 0
        for look, end in enumerate(study.looks):
            race = study.race(sums)
            if race.looks and (len(race.alive) == 1 or race.within <= within):
                early += 1
                break
            drawn = pool[:, race.alive][..., rng.integers(0, pool.shape[-1], end - begin)]
            sums[look] = {
                "blocks": np.array(end - begin),
                "grouped": drawn.sum(axis=-1)[..., None],
                "products": products_of(drawn),
            }
            begin = end
        race = study.race(sums)
        broken += truth.max() - truth[race.leader] > max(race.within, 0.0) + 1e-12
    return broken, early


def test_the_promise_holds_without_luck():
    """Six settings half a point apart, whose results are mostly luck: it is kept, and decided with fewer games."""
    rng = np.random.default_rng(2)
    luck = np.rint(rng.normal(0, 0.3, (6, 20_000)) * (1 << 12))
    chance = 0.5 + luck / (1 << 12) + np.arange(6)[:, None] * 0.005
    won = rng.binomial(2, np.clip(chance, 0, 1)) * PARTS
    luck -= np.rint(luck.mean(axis=1))[:, None]
    pool = np.array([won, luck]).astype(int)
    broken, early = kept_promises(pool, 60, 0.005)
    assert broken <= 3
    assert early > 2 * kept_promises(pool[:1], 60, 0.005)[1]


@pytest.mark.long
@pytest.mark.parametrize("field", ["equal", "close", "spread"])
def test_the_promise_holds_on_pools_of_real_games(field):
    """In at least 95 % of 400 repetitions the one named best is as close to the best as is said."""
    targets = {"equal": [25] * 6, "close": [25, 26, 27, 28], "spread": range(21, 31)}[field]
    pool = np.array(
        [
            win_parts(
                play_games(
                    make_match(
                        [f"threshold:target={target}", "eager"],
                        "classic",
                        # equal bots, on dice of their own: only the truth is the same
                        seed if field == "equal" else 1,
                        rotations(("a", "b")),
                    ),
                    0,
                    50_000,
                ).rank
            )
            .reshape(2, -1, 2)[[0, 1], :, [0, 1]]
            .sum(axis=0)
            for seed, target in enumerate(targets)
        ]
    )
    broken, early = kept_promises(pool[None], 400, 0.01)
    assert broken <= 20
    assert early > 0
