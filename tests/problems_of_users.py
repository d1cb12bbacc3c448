"""Small problems as users would write them; module level, so that they can be pickled."""

import numpy as np

import fewsolves as fs

QUICK = {"start_epochs": 2, "max_epochs": 2}  # settings of a fit that is over in a moment; also the fixture `quick`


def order(y_hat):
    return y_hat


def shortage_cost(y, z):
    """Buying costs 1, a missing unit 9: the best order lies above the mean demand."""
    return float((z + 9.0 * np.maximum(y - z, 0.0)).sum())


NEWSVENDOR = fs.Problem(solve=order, cost=shortage_cost, name="newsvendor")


def pick(y_hat):
    """The two cheapest of the items."""
    z = np.zeros(len(y_hat))
    z[np.argsort(y_hat, kind="stable")[:2]] = 1
    return z


def price(y, z):
    return float(y @ z)


CHEAPEST = fs.Problem(solve=pick, cost=price, linear="min", name="cheapest")


def demand_table(n=60, n_y=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    Y = 10 + X @ rng.normal(size=(4, n_y)) + rng.gamma(1.0, 2.0, size=(n, n_y))
    return X, Y


def old_and_new(n, n_new, n_y=3):
    """A table to train on, and rows of the same demand that were not in it."""
    X, Y = demand_table(n + n_new, n_y)
    return (X[:n], Y[:n]), (X[n:], Y[n:])
