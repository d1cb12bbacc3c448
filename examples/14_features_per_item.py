"""One model for all shops, with features of each shop, sends deliveries to the right
ones.

X has a row of features for each item: (rows, shops, features). The predictor is shared
by the shops, so twenty shops need no more weights than one. The solver fills the vans
of the day with the shops that need most. How many vans there are is known: the row's
instance.
Run: python examples/14_features_per_item.py
"""

import numpy as np

import fewsolves as fs

SHOPS, PALLETS, EMPTY = 20, 12.0, 8.0  # pallets in a van; cost of a missing pallet


def deliver(demand, vans):
    """Whole pallets, largest predicted demand first, as far as the vans have room."""
    room, sent = PALLETS * vans, np.zeros(SHOPS)
    for shop in np.argsort(-demand, kind="stable"):
        sent[shop] = min(np.ceil(max(demand[shop] - 0.5, 0.0)), room)
        room -= sent[shop]
    return sent


def true_cost(demand, sent, vans):
    """Pallets that come back, and empty shelves, which cost more."""
    back, missing = np.maximum(sent - demand, 0.0), np.maximum(demand - sent, 0.0)
    return float(back.sum() + EMPTY * np.maximum(missing - 0.5, 0.0).sum())


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, SHOPS, 3))  # stock, promotion, footfall of each shop
    mean = np.exp(0.6 + X @ np.array([-0.3, 0.4, 0.3]) + 0.2 * X[..., 1] * X[..., 2])
    demand = mean * rng.gamma(2.0, 0.5, size=(n, SHOPS))
    return X, demand, rng.integers(5, 9, size=n).astype(float)


PROBLEM = fs.Problem(solve=deliver, cost=true_cost, lower=0.0, name="deliveries")


def main(rows=200, budget=None, **options):
    (X, Y, known), (X_new, Y_new, known_new) = table(rows, seed=0), table(rows, seed=1)
    budget = budget or fs.Budget(solves=5 * rows)
    options = {"predictor": "linear"} | options  # shared by the shops
    plain = fs.DecisionRegressor(PROBLEM, "pfl", **options)
    plain.fit(X, Y, instances=known)
    model = fs.DecisionRegressor(PROBLEM, budget=budget, **options)
    model.fit(X, Y, instances=known)
    print(model.summary_)
    print("tomorrow:", model.decide(X_new[:1], instances=known_new[:1])[0])
    models = {"prediction alone": plain, "fewsolves": model}
    compared = fs.compare(models, X_new, Y_new, instances=known_new)
    print(compared)
    return compared


if __name__ == "__main__":
    fs.plot.compare(main()).savefig("features_per_item.png")
