"""The pilot: which stand-ins predict differences of regret."""

import numpy as np
import pytest

from fewsolves.methods.staged.pilot import correlation, predicting, run_pilot, winsorised
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.stand_ins import Argmin, SharedGP
from fewsolves.methods.staged.tuning import Tuning
from problems_of_users import NEWSVENDOR
from staged_rows import grown, rows_of

TUNING = Tuning()


def test_pilot_pays_two_solves_per_row_and_teaches_the_pool():
    pool = grown(NEWSVENDOR)
    before, known, some = pool.rows.paid, len(pool), np.arange(20)
    stand_ins = [Argmin(pool, TUNING), SharedGP(pool, TUNING)]
    signals = run_pilot(pool.rows, pool, stand_ins, some, np.zeros((20, 3)), TUNING)
    assert pool.rows.paid == before + 40
    assert len(pool) > known
    assert set(signals) == {"argmin", "gp"}
    assert signals["argmin"] > 0.4, "the newsvendor's decisions are exchangeable"


def test_pilot_a_stand_in_without_allowed_cost_calls_has_no_signal():
    rows = rows_of(NEWSVENDOR)
    pool = Pool(rows, 0)
    assert run_pilot(rows, pool, [Argmin(pool, TUNING)], np.arange(5), np.zeros((5, 3)), TUNING) == {}


@pytest.mark.parametrize(
    ("signals", "left"),
    [
        ({"argmin": 0.7, "gp": 0.8}, ["gp", "argmin"]),
        ({"argmin": 0.1, "gp": 0.9}, ["gp"]),  # clearly behind the best
        ({"argmin": -0.2, "gp": 0.1}, ["argmin"]),  # an exact slope needs a signal that is more than chance
        ({"gp": 0.9}, ["gp"]),
    ],
)
def test_pilot_orders_stand_ins_by_signal_and_drops_slopes_without_one(signals, left):
    pool = grown(NEWSVENDOR)
    found = predicting([Argmin(pool, TUNING), SharedGP(pool, TUNING)], signals, 40, TUNING.behind)
    assert [one.name for one in found] == left


def test_pilot_teaches_a_stand_in_how_far_to_follow_its_slopes():
    pool = grown(NEWSVENDOR)

    class Wrong(Argmin):
        def value(self, index, u, V):
            return -super().value(index, u, V)

    stand_ins = [Argmin(pool, TUNING), Wrong(pool, TUNING)]
    run_pilot(pool.rows, pool, stand_ins, np.arange(30), np.zeros((30, 3)), TUNING)
    assert stand_ins[0].rho > 0.5
    assert stand_ins[1].rho < 0.5
    assert stand_ins[0].expected.mean < 0
    assert stand_ins[1].expected.mean == 0  # what predicts the opposite is not expected to gain


def test_pilot_correlation_with_a_constant_is_none():
    a = np.array([1.0, 2.0, 3.0, 5.0])
    assert correlation(a, 2 * a) == pytest.approx(1.0)
    assert correlation(a, np.ones(4)) == 0.0


def test_pilot_signal_leaves_out_pairs_that_failed():
    pool = grown(NEWSVENDOR)

    class Unpriced(Argmin):
        def value(self, index, u, V):
            return np.where(index[:, None] < 5, np.nan, super().value(index, u, V))

    signals = run_pilot(pool.rows, pool, [Unpriced(pool, TUNING)], np.arange(30), np.zeros((30, 3)), TUNING)
    assert signals["argmin"] > 0.3


def test_pilot_winsorised_pulls_in_the_ends_alone():
    values = np.arange(100.0)
    assert winsorised(values, 0.02).tolist() == [2.0, 2.0, *values[2:-2], 97.0, 97.0]
    assert np.array_equal(winsorised(values[:20], 0.02), values[:20])


def test_pilot_one_pair_of_a_heavy_tail_does_not_decide():
    x = np.random.default_rng(0).normal(size=30)
    y = x.copy()
    y[0] = -1000 * x[0]
    assert correlation(x, y) < 0
    assert correlation(winsorised(x, 0.1), winsorised(y, 0.1)) > 0.7
