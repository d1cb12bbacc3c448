"""A LightGBM forecaster stays as it is, and a correction on top of it makes better
decisions.

A shop has a LightGBM model of demand that took months to build. It is handed over as
`predictor=`: fewsolves learns a correction of its forecasts, for the true cost of
orders. The forecaster itself is not changed, and the correction begins at its
forecasts.
Run: python examples/16_lightgbm_corrected.py   (pip install 'fewsolves[boosting]')
"""

import numpy as np

import fewsolves as fs

GOODS, SHELF = 4, 240.0
PRICE, BOUGHT = np.array([4.0, 6.0, 3.0, 9.0]), np.array([1.5, 2.0, 1.2, 3.0])


def order(demand):
    """Cases of six, the most profitable goods first, as far as the shelf has room."""
    room, cases = SHELF, np.zeros(GOODS)
    for good in np.argsort(BOUGHT - PRICE):
        cases[good] = min(np.round(max(demand[good], 0.0) / 6), room // 6)
        room -= 6 * cases[good]
    return 6 * cases


def true_cost(demand, ordered):
    """Minus the profit; what is left is thrown away."""
    return float(BOUGHT @ ordered - PRICE @ np.minimum(demand, ordered))


def table(n, seed):
    rng = np.random.default_rng(seed)
    day, degrees = rng.integers(0, 7, n), rng.normal(15, 8, n)
    X = np.column_stack([day, degrees, rng.random(n) < 0.2])  # and offers
    weekend, warm = (X[:, :1] > 4), np.maximum(X[:, 1:2] - 20, 0)
    mean = 25 + weekend * [12, 5, 8, 3] + warm * [0.2, 1.5, 0.1, 0.8]
    mean = mean * (1 + 0.4 * X[:, 2:3] * [1, 0, 1, 0])
    return X, mean * rng.gamma(6.0, 1 / 6, size=(n, GOODS))


PROBLEM = fs.Problem(solve=order, cost=true_cost, lower=0.0, name="orders")


def main(rows=400, budget=None, **options):
    from lightgbm import LGBMRegressor
    from sklearn.multioutput import MultiOutputRegressor

    (X, Y), (X_new, Y_new) = table(rows, seed=0), table(rows, seed=1)
    boosted = LGBMRegressor(n_estimators=60, num_leaves=8, n_jobs=1, verbose=-1)
    forecaster = MultiOutputRegressor(boosted).fit(X, Y)
    budget = budget or fs.Budget(solves=5 * rows)
    model = fs.DecisionRegressor(
        PROBLEM, predictor=forecaster, budget=budget, **options
    )
    print(model.fit(X, Y).summary_)
    print(model.correction_)
    models = {"LightGBM": forecaster, "LightGBM, corrected": model}
    compared = fs.compare(models, X_new, Y_new, problem=PROBLEM)
    print(compared)
    return compared


if __name__ == "__main__":
    fs.plot.compare(main()).savefig("lightgbm_corrected.png")
