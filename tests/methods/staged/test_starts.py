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
    """The folds, the rows and the models of a fit, and what corrections add to."""
    found = []

    def recorded(context, folds, rows, table):
        models, fixed = start(context, folds, rows, table)
        found.extend((folds, rows, models, fixed))
        raise Seen

    start = cross_fitting.start_models
    with monkeypatch.context() as patch:
        patch.setattr(cross_fitting, "start_models", recorded)
        with pytest.raises(Seen):
            fs.DecisionRegressor(NEWSVENDOR, predictor=predictor, random_state=0, verbose=False, **options).fit(X, Y)
    return found


def test_starts_do_not_see_the_rows_that_their_model_is_judged_on(monkeypatch):
    X, Y = demand_table(60)
    folds, rows, models, fixed = starts_of(X, Y, monkeypatch=monkeypatch)
    before = rows.raw(models.predictions())
    other = Y.copy()
    other[folds.judged[0]] += 50.0
    _, rows, models, _ = starts_of(X, other, monkeypatch=monkeypatch)
    after = rows.raw(models.predictions())
    np.testing.assert_allclose(after[0], before[0], rtol=1e-6)
    assert all(np.abs(after[k] - before[k]).max() > 1.0 for k in range(1, len(folds.judged)))
    assert isinstance(models, LinearReplicas) and fixed is None


def test_starts_of_networks_have_one_more_model_on_all_rows_and_unseen_predictions(monkeypatch):
    X, Y = demand_table(60)
    folds, rows, models, fixed = starts_of(
        X, Y, predictor="network", settings={"start_epochs": 3}, monkeypatch=monkeypatch
    )
    assert isinstance(models, ModuleReplicas)
    assert len(models.models) == len(folds.judged) + 1
    assert len(models.bags[-1]) == rows.n
    predictions = models.predictions()
    for k, judged in enumerate(folds.judged):
        np.testing.assert_allclose(fixed[0, judged], predictions[k, judged], atol=1e-6)


def test_starts_of_a_holdout_are_one_model(monkeypatch):
    X, Y = demand_table(60)
    folds, _, models, _ = starts_of(
        X, Y, predictor="network", settings={"start_epochs": 3}, validation=np.arange(0, 60, 3), monkeypatch=monkeypatch
    )
    assert folds.holdout
    assert len(models.models) == 1
