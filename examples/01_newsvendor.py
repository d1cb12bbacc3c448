"""A bakery that plans for true costs, not for accurate forecasts, loses less money.

It bakes five products for tomorrow. The solver splits the oven's capacity by the
predicted demand. What a day really costs comes from a simulation: customers arrive one
by one, and some switch to another product when theirs is sold out. There is no gradient
and no formula, only two plain functions.
Run: python examples/01_newsvendor.py
"""

import numpy as np

import fewsolves as fs

PRICE = np.array([3.0, 2.5, 4.0, 1.5, 6.0])
COST = np.array([1.0, 0.8, 1.5, 0.4, 2.5])
OVEN = 65.0


def bake(demand):
    """Bake what is predicted, scaled down where the oven is too small."""
    wanted = np.maximum(demand, 0.0)
    return np.floor(wanted * min(1.0, OVEN / max(wanted.sum(), 1e-9)))


def simulated_loss(demand, baked):
    """Minus the profit of a day; half of the disappointed buy another product."""
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
    weights = np.random.default_rng(5).normal(size=(3, 5))
    mean = 10 + 3 * np.sin(X @ weights) + 2 * np.maximum(X[:, :1], 0)
    return X, rng.poisson(np.maximum(mean, 1.0)).astype(float)


PROBLEM = fs.Problem(solve=bake, cost=simulated_loss, name="bakery")


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
    fs.plot.compare(main()).savefig("newsvendor.png")
