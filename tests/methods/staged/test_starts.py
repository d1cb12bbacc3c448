"""Starts: each model begins at a predictor that never saw the rows it is judged on."""

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.methods.staged import cross_fitting
from fewsolves.methods.staged.replicas import LinearReplicas, ModuleReplicas
from problems_of_users import NEWSVENDOR, demand_table


class Seen(Exception):  # noqa: N818 (not an error)
    """Ends a fit where its models have started."""


def starts_of(X, Y, *, predictor="linear", monkeypatch, **options):
    """The folds, the rows and the models of a fit."""
    found = []

    def recorded(context, folds, rows, table):
        models = start(context, folds, rows, table)
        found.extend((folds, rows, models))
        raise Seen

    start = cross_fitting.start_models
    with monkeypatch.context() as patch:
        patch.setattr(cross_fitting, "start_models", recorded)
        with pytest.raises(Seen):
            fs.DecisionRegressor(NEWSVENDOR, predictor=predictor, random_state=0, verbose=False, **options).fit(X, Y)
    return found


def test_starts_do_not_see_the_rows_that_their_model_is_judged_on(monkeypatch):
    X, Y = demand_table(60)
    folds, rows, models = starts_of(X, Y, monkeypatch=monkeypatch)
    before = rows.raw(models.predictions())
    other = Y.copy()
    other[folds.judged[0]] += 50.0
    _, rows, models = starts_of(X, other, monkeypatch=monkeypatch)
    after = rows.raw(models.predictions())
    np.testing.assert_allclose(after[0], before[0], rtol=1e-6)
    assert all(np.abs(after[k] - before[k]).max() > 1.0 for k in range(1, len(folds.judged)))
    assert isinstance(models, LinearReplicas)


def test_starts_of_networks_have_one_more_model_on_all_rows(monkeypatch):
    X, Y = demand_table(60)
    folds, rows, models = starts_of(X, Y, predictor="network", settings={"start_epochs": 3}, monkeypatch=monkeypatch)
    assert isinstance(models, ModuleReplicas)
    assert len(models.models) == len(folds.judged) + 1
    assert len(models.bags[-1]) == rows.n


def test_starts_of_a_holdout_are_one_model(monkeypatch):
    X, Y = demand_table(60)
    folds, _, models = starts_of(
        X, Y, predictor="network", settings={"start_epochs": 3}, validation=np.arange(0, 60, 3), monkeypatch=monkeypatch
    )
    assert folds.holdout
    assert len(models.models) == 1


def test_corrections_of_a_network_add_to_those_before(monkeypatch):
    """A second correction begins where the first one ended, and not at the start again."""
    made = []

    class Recorded(cross_fitting.Shifts):
        def __init__(self, fixed, bags, **options):
            super().__init__(fixed, bags, **options)
            made.append(self)

    monkeypatch.setattr(cross_fitting, "Shifts", Recorded)
    X, Y = demand_table(60)
    settings = {"start_epochs": 3, "solves": 2, "cost_calls": 0}
    fs.DecisionRegressor(NEWSVENDOR, predictor="network", random_state=0, verbose=False, settings=settings).fit(X, Y)
    level, shifts = made[:2]
    assert level.t.any()
    moved = shifts.fixed - level.fixed  # (n, d): of each row by the model that judges it
    assert np.unique(np.round(moved, 5), axis=0).shape[0] <= len(level.t)
    assert np.abs(moved).max() == pytest.approx(np.abs(level.t[:-1]).max(), rel=1e-3)
