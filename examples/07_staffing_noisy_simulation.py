"""A call centre cuts its avoidable cost by a third, although each simulation of a day
gives a different cost.

The solver decides how many agents work in each of six hours. The cost is a random
simulation, which `noisy="cost"` declares: then no cost is reused, while a solve still
is. The cost takes a `seed`, so that two predictors are compared under the same noise.
Run: python examples/07_staffing_noisy_simulation.py
"""

import numpy as np

import fewsolves as fs

HOURS, SERVED_PER_HOUR = 6, 8.0
WAGE, LOST = 20.0, 15.0  # per agent and hour, per caller who hangs up


def roster(calls):
    """The square-root rule: agents for the predicted load and some more."""
    load = np.maximum(calls, 0.0) / SERVED_PER_HOUR
    return np.ceil(load + 0.5 * np.sqrt(load))


def simulated_cost(calls, agents, seed):
    """One day: callers who are not served in an hour wait once, then hang up."""
    rng, waiting, cost = np.random.default_rng(seed), 0, WAGE * float(agents.sum())
    for expected, present in zip(calls, agents, strict=True):
        arrived = rng.poisson(expected)
        served = rng.poisson(SERVED_PER_HOUR * present) if present else 0
        hang_up = max(waiting - served, 0)
        waiting = max(arrived - max(served - waiting, 0), 0)
        cost += LOST * hang_up
    return cost + LOST * waiting


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))  # weekday, campaign, weather
    shape = np.array([0.6, 1.0, 1.3, 1.1, 0.9, 0.5])
    rate = 60 * np.exp(0.25 * X[:, :1] + 0.15 * X[:, 1:2] * X[:, 2:3]) * shape
    return X, rate * rng.gamma(10.0, 0.1, size=(n, HOURS))


PROBLEM = fs.Problem(solve=roster, cost=simulated_cost, noisy="cost", name="staffing")


def main(rows=300, budget=None, **options):
    (X, Y), (X_new, Y_new) = table(rows, seed=0), table(rows, seed=1)
    budget = budget or fs.Budget(solves=5 * rows)
    options = {"predictor": "linear"} | options  # few weights: noise hides small gains
    plain = fs.DecisionRegressor(PROBLEM, "pfl", **options).fit(X, Y)
    model = fs.DecisionRegressor(PROBLEM, budget=budget, **options).fit(X, Y)
    print(model.summary_)
    compared = fs.compare({"prediction alone": plain, "fewsolves": model}, X_new, Y_new)
    print(compared)
    return compared


if __name__ == "__main__":
    fs.plot.compare(main()).savefig("staffing_noisy_simulation.png")
