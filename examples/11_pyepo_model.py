"""Contracts earn more when the forecast knows that a loss hurts four times as much as a
gain helps.

PyEPO's knapsack chooses the contracts that earn most within the hours of a week, by
predicted earnings. A contract may also lose money. No linear objective can say what a
loss costs, so the true cost is a function of our own.
Run: python examples/11_pyepo_model.py   (pip install 'fewsolves[examples,pyepo]')
"""

import numpy as np
from pyepo.model.ort import knapsackModel

import fewsolves as fs

HOURS = np.array([[30.0, 50.0, 20.0, 40.0, 60.0, 30.0, 20.0, 50.0]])
RISK = np.tile([1.0, 8.0], 4)  # every second contract is risky
IN_A_WEEK = np.array([180.0])


def true_cost(earned, signed):
    """Of the contracts that were signed, once it is known what they earn."""
    return float(-(np.where(earned > 0, earned, 4 * earned) @ signed))


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    mean = 2.0 + X @ np.random.default_rng(9).normal(size=(4, len(RISK)))
    return X, mean + RISK * (1.0 - rng.gamma(2.0, 0.5, size=mean.shape))


PROBLEM = fs.problem_from_pyepo(
    knapsackModel(HOURS, IN_A_WEEK), cost=true_cost, name="contracts"
)


def main(rows=300, budget=None, **options):
    (X, Y), (X_new, Y_new) = table(rows, seed=0), table(rows, seed=1)
    budget = budget or fs.Budget(solves=5 * rows)
    plain = fs.DecisionRegressor(PROBLEM, "pfl", **options).fit(X, Y)
    model = fs.DecisionRegressor(PROBLEM, budget=budget, **options).fit(X, Y)
    print(model.summary_)
    compared = fs.compare({"prediction alone": plain, "fewsolves": model}, X_new, Y_new)
    print(compared)
    return compared


if __name__ == "__main__":
    fs.plot.compare(main()).savefig("pyepo_model.png")
