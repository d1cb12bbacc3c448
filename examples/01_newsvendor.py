"""A bakery orders five products for tomorrow; what an order really costs is known only from a simulated day.

The solver splits the oven's capacity by the predicted demand. The true cost comes from a simulation: customers arrive
one by one, some switch to another product when theirs is sold out. No gradient, no formula: two plain functions.
Run: python examples/01_newsvendor.py
"""

import numpy as np

import fewsolves as fs

PRICE = np.array([3.0, 2.5, 4.0, 1.5, 6.0])
COST = np.array([1.0, 0.8, 1.5, 0.4, 2.5])
OVEN = 160.0


def bake(demand):
    """The decision: bake what is predicted, scaled down where the oven is too small; whole loaves only."""
    wanted = np.maximum(demand, 0.0)
    return np.floor(wanted * min(1.0, OVEN / max(wanted.sum(), 1e-9)))


def simulated_loss(demand, baked):
    """Minus the day's profit: customers come in random order, and half of the disappointed buy the neighbour."""
    left, revenue = baked.copy(), 0.0
    customers = np.repeat(np.arange(5), np.round(np.maximum(demand, 0)).astype(int))
    rng = np.random.default_rng(len(customers))  # the same day gives the same answer
    for product in rng.permutation(customers):
        for choice in (product, (product + 1) % 5 if rng.random() < 0.5 else product):
            if left[choice] >= 1:
                left[choice] -= 1
                revenue += PRICE[choice]
                break
    return float(COST @ baked - revenue)


def table(n, seed):
    """Weather, weekday and season in; the demand of the day out."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    mean = 25 + 8 * np.sin(X @ rng.normal(size=(3, 5))) + 5 * np.maximum(X[:, :1], 0)
    return X, rng.poisson(np.maximum(mean, 1.0)).astype(float)


PROBLEM = fs.Problem(solve=bake, cost=simulated_loss, name="bakery")


def main(rows=300, **options):
    X, Y = table(2 * rows, seed=0)
    train, new = slice(0, rows), slice(rows, None)
    for method in ("pfl", "staged"):
        model = fs.DecisionRegressor(PROBLEM, method=method, **options).fit(X[train], Y[train])
        print(f"{method:14s} regret {-model.score(X[new], Y[new]):6.2f}   solves paid {model.calls_.total():6d}")


if __name__ == "__main__":
    main()
