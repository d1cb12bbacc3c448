"""Which generators to start for tomorrow's load, by scipy's HiGHS; a shortage tomorrow is bought dearly on the spot.

The mixed-integer program sees the predicted load as if it were certain. The true cost adds the spot market, which the
program knows nothing of: that is what the predictor learns to allow for.
Run: python examples/02_unit_commitment_scipy.py
"""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

import fewsolves as fs

CAPACITY = np.array([40.0, 60.0, 35.0, 80.0, 25.0, 50.0])
START = np.array([300.0, 420.0, 220.0, 700.0, 120.0, 380.0])  # to have a generator ready, for the day
HOURS = 4
SPOT = 45.0  # per unit that is missing
FUEL = 6.0


def commit(load):
    """Which generators to start: cover the predicted load of every hour at the least cost."""
    needed = float(np.max(np.clip(load, 0.0, CAPACITY.sum())))
    answer = milp(
        START, constraints=LinearConstraint(CAPACITY, lb=needed), integrality=np.ones(6, int), bounds=Bounds(0, 1)
    )
    return np.round(answer.x)


def true_cost(load, started):
    """What the day costs: starts, fuel for what is produced, and the spot market for what is missing."""
    ready = CAPACITY @ started
    produced = np.minimum(load, ready)
    return float(START @ started + FUEL * produced.sum() + SPOT * (load - produced).sum())


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))  # temperature, wind, weekday, yesterday
    shape = np.array([0.7, 1.0, 1.2, 0.9])
    level = 90 + 18 * X[:, :1] + 10 * np.abs(X[:, 1:2])
    return X, np.maximum(level * shape + rng.gamma(2.0, 9.0, size=(n, HOURS)), 1.0)


PROBLEM = fs.Problem(solve=commit, cost=true_cost, name="unit commitment")


def main(rows=120, **options):
    X, Y = table(2 * rows, seed=0)
    train, new = slice(0, rows), slice(rows, None)
    for method in ("pfl", "staged"):
        model = fs.DecisionRegressor(PROBLEM, method=method, workers=2, **options).fit(X[train], Y[train])
        print(f"{method:14s} regret {-model.score(X[new], Y[new]):7.1f}   solves paid {model.calls_.total():6d}")


if __name__ == "__main__":
    main()
