"""Slow solves of a depot run on a Ray cluster, survive crashes, and lower the cost of a
plan.

`execution="ray"` starts a cluster on this machine; with an address, such as
`execution="ray://head:10001"`, the same program solves on many machines. A solve that
takes longer than its time limit is ended, with everything that it started, and counts
as a failure.
Run: python examples/17_cluster_ray.py   (pip install 'fewsolves[ray]')
"""

import numpy as np

import fewsolves as fs

TRAMS, LINES = 30, 5
LATE, SPARE = 12.0, 1.0  # per passenger group without a seat; per seat that stays empty


def assign(passengers):
    """Trams to lines, one by one where the longest queue is."""
    trams, left = np.zeros(LINES), np.maximum(passengers, 0.0).copy()
    for _ in range(TRAMS):
        line = int(np.argmax(left))
        if left[line] <= 0.0:
            break
        trams[line], left[line] = trams[line] + 1, left[line] - 10.0
    return trams


def true_cost(passengers, trams):
    """Passengers who wait, and empty seats."""
    seats = 10.0 * trams
    waiting = np.maximum(passengers - seats, 0.0).sum()
    empty = np.maximum(seats - passengers, 0.0).sum()
    return float(LATE * waiting + SPARE * empty)


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))  # weekday, weather, events
    mean = 35 * np.exp(0.2 * X @ np.random.default_rng(2).normal(size=(3, LINES)))
    return X, mean * rng.gamma(6.0, 1 / 6, size=(n, LINES))


PROBLEM = fs.Problem(solve=assign, cost=true_cost, lower=0.0, name="trams")


def main(rows=200, budget=None, **options):
    (X, Y), (X_new, Y_new) = table(rows, seed=0), table(rows, seed=1)
    budget = budget or fs.Budget(solves=5 * rows)
    plain = fs.DecisionRegressor(PROBLEM, "pfl", **options).fit(X, Y)
    cluster = {
        "execution": "ray",
        "workers": 2,
        "time_limit": 60,
        "on_failure": "penalise",
    }
    model = fs.DecisionRegressor(PROBLEM, budget=budget, **cluster, **options)
    print(model.fit(X, Y).summary_)
    compared = fs.compare({"prediction alone": plain, "fewsolves": model}, X_new, Y_new)
    print(compared)
    return compared


if __name__ == "__main__":
    fs.plot.compare(main()).savefig("cluster_ray.png")
