"""What to load on today's truck: each row of the table has a truck and prices of its own, known before the decision.

Known data of a row are its `instance`; `solve` and `cost` get it as their last argument. Only the volumes are
predicted. New rows bring theirs along: `model.decide(X_new, instances=...)`.
Run: python examples/08_known_data_by_row.py
"""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

import fewsolves as fs

PARCELS = 8
RELOAD = 30.0  # to take off what does not fit, besides what the parcel would have earned


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
    """Minus the earnings: the smallest earners are taken off again until the rest fits."""
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
    trucks = [{"room": rng.choice([10.0, 14.0]), "earns": rng.integers(10, 60, PARCELS)} for _ in range(n)]
    return X, Y, trucks


PROBLEM = fs.Problem(solve=load, cost=true_cost, name="loading")


def main(rows=150, **options):
    (X, Y, trucks), (X_new, Y_new, new_trucks) = table(rows, seed=0), table(rows, seed=1)
    for method in ("pfl", "staged"):
        model = fs.DecisionRegressor(PROBLEM, method=method, **options).fit(X, Y, instances=trucks)
        regret = -model.score(X_new, Y_new, instances=new_trucks)
        print(f"{method:14s} regret {regret:6.2f}   solves paid {model.calls_.total():6d}")
    print("today:", model.decide(X_new[:1], instances=new_trucks[:1])[0])


if __name__ == "__main__":
    main()
