"""Rows, pools and replicas of the default on small problems."""

import numpy as np
import torch

from fewsolves.data import Scale
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.oracle import Oracle
from fewsolves.predictors.predictor import Predictor, linear, network
from problems_of_users import demand_table

N = 30


def rows_of(problem, n=N, n_y=3, seed=0, weights=None):
    """Training rows of a demand table."""
    _, Y = demand_table(n, n_y)
    return TrainingRows(Oracle(problem, Y), np.random.default_rng(seed), weights)


def grown(problem, points=60, cost_calls=10**9, **of_rows):
    """A pool that has paid for random points."""
    rows = rows_of(problem, **of_rows)
    pool = Pool(rows, cost_calls)
    index = rows.rng.integers(rows.n, size=points)
    u = rows.rng.normal(size=(points, rows.d))
    pool.learn(index, u, rows.pay(index, u))
    return pool


def predictors(X, Y, bags, *, build=linear, bounds=None):
    """One random predictor for each bag, scaled by its rows, and one for all rows."""
    everyone = np.arange(len(Y))
    return [
        Predictor(build(X.shape[1], Y.shape[1], seed=k), Scale.of(X[bag]), Scale.of(Y[bag]), bounds)
        for k, bag in enumerate([*bags, everyone])
    ]


def said(predictor, X):
    """(n, d) Predictions in the user's units."""
    with torch.no_grad():
        return predictor(torch.as_tensor(X)).numpy()


__all__ = ["N", "grown", "linear", "network", "predictors", "rows_of", "said"]
