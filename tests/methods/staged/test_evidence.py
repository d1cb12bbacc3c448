"""The estimator of a change, its shrinkage under a prior, and the readings that it compares."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewsolves.methods.staged import evidence
from fewsolves.methods.staged.evidence import Change, Judge, estimate_change
from fewsolves.methods.staged.folds import Folds
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.replicas import LinearReplicas
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.methods.staged.stand_ins import Argmin, Prior
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.oracle import Budget, Oracle
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table
from staged_rows import N, predictors, rows_of, said

PRIOR = Prior(-0.1, 0.2)


def simulated(rng, *, follows, n=400, m=60, mean=-0.5, noise=1.0):
    """A change of all rows, paid on some; `follows` is how much of it the stand-in knows."""
    known = rng.normal(size=n)
    change = mean + follows * known + noise * rng.normal(size=n)
    of_paid = rng.choice(n, m, replace=False)
    return change[of_paid], known, of_paid


def estimates(follows, times=400, **of_rows):
    rng = np.random.default_rng(0)
    return [estimate_change(*simulated(rng, follows=follows, **of_rows)) for _ in range(times)]


@pytest.mark.parametrize("follows", [0.0, 1.0, 3.0, -1.0])
def test_estimate_is_unbiased_and_its_error_is_true(follows):
    made = estimates(follows)
    means = np.array([one.mean for one in made])
    assert abs(means.mean() + 0.5) < 4 * means.std() / math.sqrt(len(means))
    assert np.mean([one.error for one in made]) == pytest.approx(means.std(), rel=0.15)


def test_estimate_of_a_good_stand_in_has_a_smaller_error():
    rng = np.random.default_rng(0)
    paid, known, of_paid = simulated(rng, follows=3.0)
    with_it, without = estimate_change(paid, known * 3, of_paid), estimate_change(paid, None, of_paid)
    assert with_it.error < 0.65 * without.error
    assert with_it.rho == pytest.approx(1.0 - 4 / 60, abs=0.15)


def test_estimate_of_a_useless_stand_in_hardly_follows_it():
    made = estimates(0.0, m=200)
    assert np.mean([one.rho for one in made]) < 0.05
    assert max(one.rho for one in made) < 0.3


def test_estimate_never_follows_a_stand_in_that_is_wrong():
    assert max(one.rho for one in estimates(-1.0)) == 0.0


def test_estimate_of_failed_solves_is_that_of_the_others():
    rng = np.random.default_rng(1)
    paid, known, of_paid = simulated(rng, follows=1.0)
    failed = paid.copy()
    failed[:10] = np.nan
    assert estimate_change(failed, known, of_paid) == estimate_change(paid[10:], known, of_paid[10:])


def test_estimate_of_rows_that_the_stand_in_does_not_know_is_finite():
    rng = np.random.default_rng(1)
    paid, known, of_paid = simulated(rng, follows=1.0)
    known[::3] = np.nan
    change = estimate_change(paid, known, of_paid)
    assert math.isfinite(change.mean) and math.isfinite(change.error)


@pytest.mark.parametrize("paid", [[], [1.0], [np.nan] * 5, [np.nan, 2.0]])
def test_estimate_of_fewer_than_two_rows_says_nothing(paid):
    change = estimate_change(np.array(paid), None, np.arange(len(paid)))
    assert (change.mean, change.error, change.z) == (0.0, math.inf, 0.0)


@pytest.mark.parametrize("outlier", [1000.0, -1000.0])
def test_estimate_is_neither_carried_nor_killed_by_one_row_of_a_heavy_tail(outlier):
    rng = np.random.default_rng(0)
    gain = -0.3 + 0.5 * rng.normal(size=100)
    gain[0] = outlier
    change = estimate_change(gain, None, np.arange(100))
    assert abs(change.z) < 1.1
    assert change.posterior(PRIOR, 10.0) == pytest.approx(PRIOR.mean, abs=0.1), "the prior decides"


def test_estimate_of_heavy_tails_covers_the_truth():
    rng = np.random.default_rng(0)
    z = [estimate_change(rng.standard_t(2, size=100), None, np.arange(100)).z for _ in range(500)]
    assert np.mean(np.abs(z) > 1.96) < 0.09


def test_estimate_of_a_constant_change_is_that():
    change = estimate_change(np.full(9, -1.0), np.zeros(20), np.arange(9))
    assert (change.mean, change.rho) == (-1.0, 0.0)
    assert change.z == -math.inf


@given(st.floats(-5, 5), st.floats(1e-3, 10), st.floats(0.1, 100))
def test_posterior_lies_between_evidence_and_prior(mean, error, start):
    share = Change(mean, error).posterior(PRIOR, start)
    ends = (mean / start, PRIOR.mean, 0.0)
    assert min(ends) - 1e-9 <= share <= max(ends) + 1e-9


@given(st.floats(-5, 5), st.floats(0.01, 5), st.floats(1e-3, 10))
def test_posterior_is_monotone_in_the_evidence(mean, more, error):
    assert Change(mean, error).posterior(PRIOR, 2.0) < Change(mean + more, error).posterior(PRIOR, 2.0)


def test_posterior_without_evidence_is_the_prior():
    assert Change(0.0, math.inf).posterior(PRIOR, 3.0) == PRIOR.mean
    assert PRIOR.mean < Change(5.0, 1e9).posterior(PRIOR, 3.0) < 0


def test_posterior_follows_clear_evidence_far_from_the_prior():
    """Heavy tails: a prior that is sure of a gain does not shrink what it cannot explain."""
    assert Change(3.0, 0.3, rows=20).posterior(PRIOR, 1.0) > 2.5
    assert Change(14.8, 8.0, rows=20).posterior(PRIOR, 1.0) > 0, "little evidence, but against the change"


def test_posterior_of_exact_evidence_is_the_evidence():
    assert Change(-1.5, 1e-12).posterior(PRIOR, 3.0) == pytest.approx(-0.5)


@pytest.mark.parametrize("start", [0.0, -1.0, math.nan])
def test_posterior_where_the_start_has_no_regret_is_the_change(start):
    assert Change(0.3, 0.1).posterior(PRIOR, start) == 0.3


def judge_of(problem, m=20, weights=None):
    rows = rows_of(problem, weights=weights)
    X, Y = demand_table(N, 3)
    judged = tuple(np.array_split(np.arange(N), 3))
    bags = [np.setdiff1d(np.arange(N), block) for block in judged]
    starts = predictors(X, Y, bags)
    models = LinearReplicas(rows, X, starts, bags)
    return Judge(rows, Folds(judged, tuple(bags), tuple(bags), True, False), models, m), starts, X


def test_judge_reads_each_row_by_the_model_that_never_saw_it():
    judge, starts, X = judge_of(NEWSVENDOR)
    pool = Pool(judge.rows, 10**9)
    found = judge.read("start", pool)
    for start, block in zip(starts, judge.folds.judged, strict=False):
        assert np.allclose(judge.rows.raw(found.unseen[block]), said(start, X[block]), atol=1e-9)
    at = judge.rows.raw(found.unseen[judge.evidence])
    assert np.allclose(found.regret, judge.rows.oracle.regret(judge.evidence, at, phase="test"))
    assert len(np.unique(judge.evidence)) == 20
    assert judge.rows.oracle.calls.by_phase("solve")["validation"] == 20


def test_judge_weighs_the_rows():
    weights = np.linspace(0.5, 1.5, N)
    plain, weighted = judge_of(NEWSVENDOR)[0], judge_of(NEWSVENDOR, weights=weights)[0]
    assert np.allclose(weighted.read("start", None).regret, plain.read("start", None).regret * weights[plain.evidence])


def test_judge_finds_that_a_shift_upwards_helps_a_newsvendor():
    judge, *_ = judge_of(NEWSVENDOR, m=N)
    before = judge.read("start", None)
    judge.models.shift(np.full((3, 3), 1.0))
    after = judge.read("shifted", None)
    assert judge.change(after, before, None).z < -2


def test_judge_of_the_same_state_sees_no_change():
    judge, *_ = judge_of(CHEAPEST)
    pool = Pool(judge.rows, 10**9)
    states = [judge.read("start", pool) for _ in range(2)]
    change = judge.change(*states, Argmin(pool, Tuning()))
    assert (change.mean, change.z) == (0.0, 0.0)


def test_judge_predicts_many_rows_in_parts_and_the_same(monkeypatch):
    judge, *_ = judge_of(CHEAPEST)
    pool = Pool(judge.rows, 10**9)
    state = judge.read("start", pool)
    whole = judge.predict(Argmin(pool, Tuning()), state.unseen)
    monkeypatch.setattr(evidence, "PREDICTED_AT_ONCE", 7)
    assert whole.any() and np.array_equal(judge.predict(Argmin(pool, Tuning()), state.unseen), whole)


def test_judge_leaves_out_what_the_stand_in_cannot_price():
    """A row whose new decision has no price is no row without regret."""
    judge, *_ = judge_of(NEWSVENDOR, m=N)
    pool, even = Pool(judge.rows, 10**9), np.arange(N) % 2 == 0
    before = judge.read("start", pool)
    made = replace(before, unseen=before.unseen + 1.0, regret=before.regret - even)

    class Unpriced(Argmin):
        def value(self, index, u, V):
            new = (u == made.unseen[index]).all(axis=1)
            return np.where(new & even[index], np.nan, 5.0)[:, None]

    assert judge.change(made, before, Unpriced(pool, Tuning())).rho == 0.0


def test_judge_restores_the_models():
    judge, *_ = judge_of(NEWSVENDOR)
    pool = Pool(judge.rows, 10**9)
    before = judge.read("start", pool)
    judge.models.shift(np.ones((3, 3)))
    now = judge.models.snapshot()
    judge.change(judge.read("shifted", pool), before, Argmin(pool, Tuning()))
    assert np.array_equal(judge.models.snapshot(), now)


@pytest.mark.parametrize(("left", "read"), [(100, 12), (7, 7)])
def test_evidence_is_read_on_fewer_rows_where_a_kill_has_lost_solves(left, read):
    """Without this the last stage of a resumed run would have no evidence at all."""
    X, Y = demand_table(N, 3)
    oracle = Oracle(NEWSVENDOR, Y, budget=Budget(solves=N + left))
    oracle.optimum(np.arange(N))
    rows = TrainingRows(oracle, np.random.default_rng(0))
    judged = tuple(np.array_split(np.arange(N), 2))
    bags = tuple(np.setdiff1d(np.arange(N), one) for one in judged)
    models = LinearReplicas(rows, X, predictors(X, Y, bags), list(bags))
    judge = Judge(rows, Folds(judged, bags, bags, refits=True, holdout=False), models, 12)
    found = judge.read("start", None)
    assert len(found.regret) == 12
    assert np.isfinite(found.regret).sum() == read


def test_judge_reads_states_on_the_rows_that_are_new_alone():
    judge, *_ = judge_of(NEWSVENDOR, m=6)
    start = judge.read("start", None)
    before, paid = judge.evidence.copy(), judge.rows.paid
    (wider,) = judge.widen(10, [start], None)
    assert judge.rows.paid == paid + 4
    assert np.array_equal(judge.evidence[:6], before)
    assert np.array_equal(wider.regret[:6], start.regret)
    assert len(wider.regret) == 10
    assert judge.widen(10, [wider], None)[0] is wider
