import itertools

import numpy as np
import pytest

from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.panel.items import Oven


def test_items_trays_are_the_best_of_all():
    oven = Oven(3, tray=4.0, trays=5, short=3.0, over=1.0)
    every = np.array([z for z in itertools.product(range(6), repeat=3) if sum(z) <= 5])
    for y in np.random.default_rng(0).normal(6.0, 5.0, (60, 3)):
        demands = np.maximum(y, 0.0)
        costs = oven.cost_batch(np.tile(demands, (len(every), 1)), every)
        z = oven.solve(y)
        assert z.sum() <= 5 and oven.cost(demands, z) == pytest.approx(costs.min(), rel=1e-12)


def test_items_rows_may_be_tables():
    flat, tables = load("items", 0, n=40), load("items", 0, n=40, flat=False)
    assert flat.X.shape == (40, 48) and tables.X.shape == (40, 12, 4)
    np.testing.assert_array_equal(tables.X.reshape(40, 48), flat.X)
    np.testing.assert_array_equal(tables.Y, flat.Y)
    np.testing.assert_array_equal(tables.conditional_mean(tables.X), flat.conditional_mean(flat.X))
    np.testing.assert_array_equal(tables.fresh(5).X.reshape(5, 48), flat.fresh(5).X)
    assert tables.sample_given(tables.X[0], 7, np.random.default_rng(0)).shape == (7, 12)
    assert tables.conditional_mean(tables.X[0]).shape == (1, 12)


def test_items_one_law_for_all_items_predicts_better_than_one_for_each():
    dataset = load("items", 0)
    fresh = dataset.fresh(1000)
    each = np.linalg.lstsq(np.c_[dataset.X, np.ones(300)], dataset.Y, rcond=None)[0]
    stacked = np.c_[dataset.X.reshape(-1, 4), np.ones(3600)]
    shared = np.linalg.lstsq(stacked, dataset.Y.ravel(), rcond=None)[0]
    mean = dataset.conditional_mean(fresh.X)
    error = [
        np.mean((y_hat - mean) ** 2)
        for y_hat in (
            np.c_[fresh.X, np.ones(1000)] @ each,
            (np.c_[fresh.X.reshape(-1, 4), np.ones(12_000)] @ shared).reshape(mean.shape),
        )
    ]
    assert error[1] < 0.1 * error[0]
