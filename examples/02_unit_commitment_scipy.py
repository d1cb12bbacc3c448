"""A power company that knows what a shortage costs starts the right generators.

The mixed-integer program (HiGHS, by SciPy) sees the predicted load as if it were
certain. The true cost adds the spot market, which the program knows nothing of.
Solves run in two worker processes.
Run: python examples/02_unit_commitment_scipy.py
"""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

import fewsolves as fs

CAPACITY = np.array([40.0, 60.0, 35.0, 80.0, 25.0, 50.0])
START = np.array([300.0, 420.0, 220.0, 700.0, 120.0, 380.0])  # ready for the day
HOURS = 4
SPOT = 150.0  # per unit that is missing
FUEL = 6.0


def commit(load):
    """Cover the predicted load of every hour at the least cost."""
    needed = float(np.max(np.clip(load, 0.0, CAPACITY.sum())))
    answer = milp(
        START,
        constraints=LinearConstraint(CAPACITY, lb=needed),
        integrality=np.ones(6, int),
        bounds=Bounds(0, 1),
    )
    return np.round(answer.x)


def true_cost(load, started):
    """Starts, fuel for what is produced, and the spot market for what is missing."""
    ready = CAPACITY @ started
    produced = np.minimum(load, ready)
    return float(
        START @ started + FUEL * produced.sum() + SPOT * (load - produced).sum()
    )


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))  # temperature, wind, weekday, yesterday
    shape = np.array([0.7, 1.0, 1.2, 0.9])
    level = 90 + 18 * X[:, :1] + 10 * np.abs(X[:, 1:2])
    return X, np.maximum(level * shape + rng.gamma(2.0, 9.0, size=(n, HOURS)), 1.0)


PROBLEM = fs.Problem(solve=commit, cost=true_cost, name="unit commitment")


def main(rows=300, budget=None, **options):
    (X, Y), (X_new, Y_new) = table(rows, seed=0), table(rows, seed=1)
    budget = budget or fs.Budget(solves=5 * rows)
    plain = fs.DecisionRegressor(PROBLEM, "pfl", workers=2, **options).fit(X, Y)
    model = fs.DecisionRegressor(PROBLEM, budget=budget, workers=2, **options).fit(X, Y)
    print(model.summary_)
    compared = fs.compare({"prediction alone": plain, "fewsolves": model}, X_new, Y_new)
    print(compared)
    return compared


if __name__ == "__main__":
    fs.plot.compare(main()).savefig("unit_commitment_scipy.png")
