"""The line search for an offset common to all outputs."""

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.methods.staged.evidence import Judge
from fewsolves.methods.staged.folds import Folds
from fewsolves.methods.staged.offset import OffsetSearch
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.replicas import LinearReplicas
from fewsolves.methods.staged.tuning import Tuning
from problems_of_users import demand_table
from staged_rows import predictors, rows_of

ROWS, TUNING = 90, Tuning()


def far_from_the_truth(best):
    """A cost that depends on the mean error of all outputs alone, and is least where that is `best`."""
    return fs.Problem(
        solve=lambda y_hat: y_hat.copy(),
        cost=lambda y, z: float(abs(np.mean(z - y) - best)),
    )


def searched(problem, solves=60, evidence=10, stand_in=None):
    rows = rows_of(problem, n=ROWS)
    X, Y = demand_table(ROWS, 3)
    parts = np.array_split(np.arange(ROWS), 3)
    bags = tuple(np.setdiff1d(np.arange(ROWS), part) for part in parts)
    folds = Folds(tuple(parts), bags, bags, refits=True, holdout=False)
    models = LinearReplicas(rows, X, predictors(X, Y, bags), list(bags))
    judge = Judge(rows, folds, models, evidence)
    pool = Pool(rows, 10**9)
    start = judge.read("start", pool)
    before = rows.paid
    found, t = OffsetSearch(rows, pool, judge, start, stand_in and stand_in(pool, TUNING)).run(solves, TUNING)
    return found, t, start, judge, rows.paid - before, len(pool) - ROWS - evidence


@pytest.mark.parametrize(("best", "sign"), [(60.0, 1), (-60.0, -1)])
def test_offset_finds_a_level_far_from_the_start(best, sign):
    found, t, start, judge, paid, learned = searched(far_from_the_truth(best))
    assert t == sign * 4 * TUNING.offset_step, "two doublings of the first step"
    assert np.allclose(found.unseen - start.unseen, t)
    assert np.allclose(judge.models.predictions() - found.unseen, judge.models.predictions() - start.unseen - t)
    assert np.isnan(found.regret).all(), "nothing was paid to judge it"
    assert paid == 5 * 20 + 2 * 30 and learned == paid, "the search and its confirmation; all decisions become known"


def test_offset_of_a_good_start_is_none():
    problem = fs.Problem(solve=lambda y_hat: y_hat.copy(), cost=lambda y, z: float(((z - y) ** 2).sum()))
    found, t, start, _, paid, _ = searched(problem)
    assert found is start and t == 0
    assert paid == 60


def test_offset_that_is_chance_is_not_confirmed():
    rng = np.random.default_rng(0)
    noise = {}  # a cost that has nothing to do with the level, the same for the same decision
    problem = fs.Problem(
        solve=lambda y_hat: y_hat.copy(), cost=lambda y, z: noise.setdefault(z.tobytes(), float(rng.normal()))
    )
    assert sum(searched(problem)[1] != 0 for _ in range(20)) <= 1


def test_offset_is_not_taken_where_no_rows_are_left_to_confirm_it():
    found, t, start, _, paid, _ = searched(far_from_the_truth(60.0), evidence=ROWS - 23)
    assert found is start and t == 0 and paid == 5 * 20


def test_offset_is_not_searched_where_nearly_all_rows_are_evidence():
    found, t, start, _, paid, _ = searched(far_from_the_truth(60.0), evidence=ROWS - 5)
    assert found is start and t == 0 and paid == 0


def test_offset_is_judged_on_rows_that_were_not_searched():
    _, _, _, judge, _, _ = searched(far_from_the_truth(60.0))
    assert not np.isin(judge.spare(20), judge.evidence).any()
