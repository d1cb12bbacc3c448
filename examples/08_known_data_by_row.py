"""Trucks earn more when the forecast of volumes knows that reloading is expensive.

Each row of the table has a truck and prices of its own, which are known before the
decision: its `instance`. `solve` and `cost` get it as their last argument. Only the
volumes are predicted. New rows have instances too: `model.decide(X_new,
instances=...)`.
Run: python examples/08_known_data_by_row.py
"""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

import fewsolves as fs

PARCELS = 8
RELOAD = 150.0  # for each parcel that is taken off at the gate: the truck is late


def load(volumes, truck):
    """Parcels that earn most, if they are as large as predicted."""
    answer = milp(
        -truck["earns"],
        constraints=LinearConstraint(np.maximum(volumes, 0.01)[None], ub=truck["room"]),
        integrality=np.ones(PARCELS, int),
        bounds=Bounds(0, 1),
    )
    if answer.x is None:
        raise fs.Infeasible(answer.message)
    return np.round(answer.x)


def true_cost(volumes, loaded, truck):
    """Minus the earnings; the smallest earners are taken off until the rest fits."""
    kept, cost = loaded.copy(), 0.0
    while volumes @ kept > truck["room"]:
        kept[min(np.flatnonzero(kept), key=lambda parcel: truck["earns"][parcel])] = 0.0
        cost += RELOAD
    return float(cost - truck["earns"] @ kept)


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))  # what the customers wrote
    mean = 3 + 0.8 * X @ np.random.default_rng(5).normal(size=(4, PARCELS))
    Y = np.maximum(mean, 0.5) * rng.gamma(5.0, 0.2, size=(n, PARCELS))
    room, earns = rng.choice([10.0, 14.0], n), rng.integers(10, 60, size=(n, PARCELS))
    return X, Y, [{"room": room[k], "earns": earns[k]} for k in range(n)]


PROBLEM = fs.Problem(solve=load, cost=true_cost, name="loading")


def main(rows=400, budget=None, **options):
    (X, Y, known), (X_new, Y_new, known_new) = table(rows, seed=0), table(rows, seed=1)
    budget = budget or fs.Budget(solves=5 * rows)
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
    fs.plot.compare(main()).savefig("known_data_by_row.png")
