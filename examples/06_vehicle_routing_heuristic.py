"""Vans drive fewer kilometres when the forecast allows for what happens to a van that
runs empty.

A heuristic is a solver like any other: it need not be optimal, and its regret may even
be negative. Here the savings heuristic plans routes to ten customers, whose demand is
predicted. The true cost drives the routes: a van that runs empty returns to the depot.
Run: python examples/06_vehicle_routing_heuristic.py
"""

import numpy as np

import fewsolves as fs

CUSTOMERS, CAPACITY = 10, 40.0
# place 0 is the depot
PLACES = np.random.default_rng(3).uniform(-10, 10, size=(CUSTOMERS + 1, 2))
KILOMETRES = np.linalg.norm(PLACES[:, None] - PLACES[None], axis=-1)


def plan(demand):
    """Clarke and Wright: join the routes that save most and still fit."""
    demand = np.clip(demand, 0.0, CAPACITY)
    customers = range(1, CUSTOMERS + 1)
    routes = [[c] for c in customers]
    added = KILOMETRES - KILOMETRES[:, :1] - KILOMETRES[:1]  # by joining i and j
    pairs = [(i, j) for i in customers for j in customers if i != j]
    for i, j in sorted(pairs, key=lambda pair: added[pair]):
        before = next(route for route in routes if i in route)
        after = next(route for route in routes if j in route)
        fits = sum(demand[c - 1] for c in before + after) <= CAPACITY
        if before is not after and before[-1] == i and after[0] == j and fits:
            routes.remove(after)
            before += after
    return routes


def true_cost(demand, routes):
    """Kilometres that were driven."""
    driven = 0.0
    for route in routes:
        place, load = 0, CAPACITY
        for stop in route:
            driven += KILOMETRES[place, stop]
            left = demand[stop - 1]
            while left > load:  # empty: back to the depot and out again
                left -= load
                driven += 2 * KILOMETRES[stop, 0]
                load = CAPACITY
            place, load = stop, load - left
        driven += KILOMETRES[place, 0]
    return float(driven)


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))  # weekday, weather, promotion
    mean = 9 + 3 * X @ np.random.default_rng(4).normal(size=(3, CUSTOMERS))
    return X, np.maximum(mean, 1.0) * rng.gamma(4.0, 0.25, size=(n, CUSTOMERS))


PROBLEM = fs.Problem(solve=plan, cost=true_cost, name="vehicle routing")


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
    fs.plot.compare(main()).savefig("vehicle_routing_heuristic.png")
