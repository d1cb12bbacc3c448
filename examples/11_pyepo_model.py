"""A model of PyEPO with a true cost that its objective does not know: contracts to sign, and what a loss costs.

PyEPO's knapsack chooses the contracts that earn most within the hours that there are, by predicted earnings. A contract
may also lose money, and a loss hurts four times as much as a gain helps: no linear objective can say that.
Run: python examples/11_pyepo_model.py   (needs PyEPO: pip install 'fewsolves[examples,pyepo]')
"""

import numpy as np
from pyepo.model.ort import knapsackModel

import fewsolves as fs

HOURS = np.array([[30.0, 50.0, 20.0, 40.0, 60.0, 30.0, 20.0, 50.0]])
RISK = np.tile([1.0, 8.0], 4)  # of every second contract nobody knows well what it will earn
IN_A_WEEK = np.array([180.0])


def true_cost(earned, signed):
    """Of the contracts that were signed, once it is known what they earn."""
    return float(-(np.where(earned > 0, earned, 4 * earned) @ signed))


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    mean = 2.0 + X @ np.random.default_rng(9).normal(size=(4, len(RISK)))
    return X, mean + RISK * (1.0 - rng.gamma(2.0, 0.5, size=mean.shape))


PROBLEM = fs.problem_from_pyepo(knapsackModel(HOURS, IN_A_WEEK), cost=true_cost, name="contracts")


def main(rows=300, **options):
    (X, Y), (X_new, Y_new) = table(rows, seed=0), table(rows, seed=1)
    for method in ("pfl", "staged"):
        model = fs.DecisionRegressor(PROBLEM, method=method, **options).fit(X, Y)
        print(f"{method:14s} regret {-model.score(X_new, Y_new):6.2f}   solves paid {model.calls_.total():6d}")


if __name__ == "__main__":
    main()
