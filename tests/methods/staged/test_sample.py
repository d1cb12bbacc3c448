"""Where the budget cannot pay for labels of all rows, the default labels a sample of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fewsolves as fs
from fewsolves.data import split_table
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.prepare import prepare
from fewsolves.fitting.starts import Starts
from fewsolves.methods.staged.sample import EACH, ENOUGH, LEAST, sample_split
from fewsolves.testing.problems import newsvendor, selection
from problems_of_users import demand_table

PROBLEM = fs.Problem(
    solve_batch=lambda y_hat: y_hat.copy(), cost_batch=lambda y, z: (z + 9.0 * np.maximum(y - z, 0.0)).sum(axis=1)
)
X, Y = demand_table(2_000, 2)
ROWS = np.arange(len(X))


def fitted_with(solves, problem=PROBLEM, of_rows=ROWS, **of):
    of = {"method": "staged", "predictor": "linear"} | of
    return fit(Plan(problem, X[of_rows], Y[of_rows], budget=fs.Budget(solves=solves), **of))


def split_of(n, validation=0.2, groups=None):
    return split_table(n, validation, rng=np.random.default_rng(0), groups=groups)


@given(st.integers(10, 400), st.integers(1, 1500), st.sampled_from([0.1, 0.5, "last 20 %"]), st.integers(0, 60))
def test_sample_has_rows_of_both_parts_and_a_fourth_of_the_solves(n, solves, validation, labels):
    groups = np.random.default_rng(n).integers(0, labels, n) if labels > 4 and validation != "last 20 %" else None
    if groups is not None and len(np.unique(groups)) < 5:
        return
    split = split_of(n, validation, groups)
    found = sample_split(split, solves, groups, np.random.default_rng(1))
    if solves >= ENOUGH * n or max(LEAST, solves // EACH) >= n:
        assert found is split
        return
    most = max(LEAST, solves // EACH)
    assert 2 <= len(found.train) + len(found.valid) <= most
    assert groups is not None or len(found.train) + len(found.valid) == most
    assert np.isin(found.train, split.train).all() and np.isin(found.valid, split.valid).all()
    if validation == "last 20 %":
        assert found.in_time
        assert np.array_equal(found.valid, split.valid[-len(found.valid) :])
        assert np.array_equal(found.train, split.train[-len(found.train) :])


def test_sample_takes_whole_groups_as_far_as_they_are_small():
    groups = np.arange(300) // 3
    found = sample_split(split_of(300, groups=groups), 240, groups, np.random.default_rng(0))
    taken = np.sort(np.concatenate([found.train, found.valid]))
    assert 50 <= len(taken) <= 60
    assert np.array_equal(taken, np.flatnonzero(np.isin(groups, groups[taken])))


def test_sample_takes_parts_of_groups_that_are_larger_than_it():
    groups = np.arange(900) % 6
    found = sample_split(split_of(900, groups=groups), 200, groups, np.random.default_rng(0))
    assert len(np.unique(groups[found.train])) >= 2
    assert not np.intersect1d(groups[found.train], groups[found.valid]).size


def test_sample_of_a_large_table_pays_a_fourth_of_its_budget_for_labels_and_gains():
    fitted = fitted_with(400)
    calls = fitted.oracle.calls
    assert calls.by_phase("solve")["labels"] == 100
    assert 350 < calls.total("solve") <= 400
    assert fitted.best.mean < fitted.start.mean
    assert "100 of 2,000 rows, drawn at random, were labelled" in fitted.summary.message
    assert "the budget of 400 solves is less than 3 per row" in fitted.summary.message
    assert "(0.2 per row of the table)" in fitted.summary.message


@pytest.mark.parametrize(
    "of",
    [
        {"groups": ROWS % 300},
        {"groups": ROWS % 6},
        {"sample_weight": np.where(ROWS % 4, 1.0 + ROWS % 3, 0.0)},
        {"validation": "last 20 %"},
        {"validation": 0.3},
        {"validation": np.arange(5)},
        {"predictor": "network", "settings": {"start_epochs": 2}},
    ],
    ids=["groups", "large groups", "weights", "time", "share", "few validation rows", "network"],
)
def test_sample_is_drawn_from_tables_of_every_kind(of):
    fitted = fitted_with(240, **of)
    assert fitted.oracle.calls.total("solve") <= 240
    assert 30 <= fitted.report["labelled"]["rows"] <= 60
    assert np.isfinite(fitted.predictor(X)).all()
    if "sample_weight" in of:
        assert (of["sample_weight"][fitted.split.train] > 0).all()


def test_sample_of_rows_with_known_data_labels_each_with_its_own():
    prices = [{"price": float(k)} for k in 1.0 + ROWS % 5]
    seen = []

    def solve(y_hat, instance):
        seen.append(instance["price"])
        return y_hat * (1.0 + 0.01 * instance["price"])

    problem = fs.Problem(
        solve, lambda y, z, instance: float((z + instance["price"] * np.maximum(y - z, 0.0)).sum()), instances=prices
    )
    fitted = fitted_with(200, problem)
    assert fitted.oracle.calls.total("solve") <= 200
    assert fitted.report["labelled"]["rows"] == 50 and set(seen) <= {1.0, 2.0, 3.0, 4.0, 5.0}


@settings(max_examples=25)
@given(st.integers(20, 120), st.integers(24, 350), st.booleans(), st.integers(0, 3))
def test_sample_and_everything_after_it_stay_within_the_budget(n, solves, linear, seed):
    table = selection(2, n, seed) if linear else newsvendor(1, n, seed)
    plan = Plan(table.problem, table.X, table.Y, method="staged", predictor="linear", budget=fs.Budget(solves=solves))
    fitted = fit(plan)
    assert fitted.oracle.calls.total("solve") <= solves
    assert ("labelled" in fitted.report) is (solves < ENOUGH * n and max(LEAST, solves // EACH) < n)


def test_sample_leaves_the_start_on_all_rows():
    sampled = fitted_with(200, settings={"solves": 0})
    every = fitted_with(3 * len(X), settings={"solves": 0})
    assert "labelled" in sampled.report and "labelled" not in every.report
    assert np.allclose(sampled.predictor(X), every.predictor(X), rtol=1e-12)  # sums in another order of memory


def test_sample_folds_are_judged_by_starts_that_saw_nothing_of_their_groups(monkeypatch):
    groups, fitted_on, fit_start = ROWS % 20, [], Starts.fitted_on

    def fitted_on_rows(self, name, rows):
        fitted_on.append(rows)
        return fit_start(self, name, rows)

    monkeypatch.setattr(Starts, "fitted_on", fitted_on_rows)
    fitted_with(400, groups=groups)
    sizes = [len(rows) for rows in fitted_on[:5]]
    assert all(500 < size < 2_000 for size in sizes)
    assert all(not set(groups[rows]) & set(groups[np.setdiff1d(ROWS, rows)]) for rows in fitted_on[:5])
    assert len(fitted_on[5]) == 2_000


def test_sample_is_no_part_of_the_identity_of_a_run():
    """A run that is started again with a larger budget goes on in its folder."""
    about = [prepare(Plan(PROBLEM, X, Y, method="staged", budget=fs.Budget(solves=s))).about for s in (200, 400, 9_000)]
    assert about[0] == about[1] == about[2]


def test_sample_is_what_a_refit_goes_on_from():
    model = fs.DecisionRegressor(PROBLEM, predictor="linear", budget=fs.Budget(solves=400), verbose=False)
    model.fit(X[:1_900], Y[:1_900])
    model.set_params(budget=None).refit(X, Y)
    assert len(model.split_.train) + len(model.split_.valid) == 200  # 100 that were labelled, 100 new ones
    assert 100 <= model.calls_.total("solve") - model.calls_.shared["solve"] <= 300
