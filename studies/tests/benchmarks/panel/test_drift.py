import itertools

import numpy as np
import pytest

from fewsolves_studies.benchmarks.catalogue import load, split_without_test
from fewsolves_studies.benchmarks.panel.drift import Capacity


def test_drift_blocks_are_the_best_of_all():
    services = Capacity(np.array([4.0, 6.5]), 1.0, np.array([3.0, 5.0]))
    every = np.array(list(itertools.product(range(8), repeat=2)))
    for y in np.random.default_rng(0).normal(10.0, 8.0, (60, 2)):
        loads = np.maximum(y, 0.0)
        costs = services.cost_batch(np.tile(loads, (len(every), 1)), every)
        assert services.cost(loads, services.solve(y)) == pytest.approx(costs.min(), rel=1e-12)


def test_drift_rows_are_split_in_the_order_of_time():
    dataset = load("drift", 0)
    assert [len(part) for part in (dataset.split.train, dataset.split.valid, dataset.split.test)] == [180, 60, 60]
    split = split_without_test(dataset)
    assert split.in_time and len(split.train) == 240 and split.valid.tolist() == list(range(240, 300))


def test_drift_fresh_rows_go_on_where_the_rows_end():
    """From the weekday and the level of the last row, along one path of the level after the other."""
    dataset = load("drift", 0, noise=0.0, spread=0.0, horizon=14)
    rows, fresh = dataset.rows, dataset.fresh(2800)
    days = np.vstack([rows.X[-7:, :2], fresh.X[:14, :2]])
    np.testing.assert_allclose(days[:-7], days[7:], atol=1e-12)
    paths = np.log(fresh.Y).reshape(200, 14, 4)
    steps = np.diff(np.concatenate([np.tile(np.log(rows.Y[-1]), (200, 1, 1)), paths], axis=1), axis=1)
    np.testing.assert_allclose(steps.std(axis=(0, 1)), 0.01, rtol=0.05)
    assert np.abs(steps.mean(axis=(0, 1)) - dataset.source.trend).max() < 5 * 0.01 / np.sqrt(2800)


def test_drift_errors_grow_towards_the_days_to_come():
    for seed in range(3):
        dataset = load("drift", seed)
        first, fresh = slice(0, 180), dataset.fresh(1000)
        W = np.linalg.lstsq(np.c_[dataset.X[first], np.ones(180)], dataset.Y[first], rcond=None)[0]
        seen, late = (
            np.sqrt(np.mean((Y - np.c_[X, np.ones(len(X))] @ W) ** 2))
            for X, Y in ((dataset.X[first], dataset.Y[first]), fresh[:2])
        )
        assert late > 1.2 * seen
