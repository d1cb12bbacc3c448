"""A ferry company sends boats that cost less: the whole path in one program.

The program calls doctor, quote, fit, report, save, load and refit. The number of
passengers of each departure is predicted. HiGHS sends small or large boats, of which
there are few; a passenger without a seat takes a taxi that the company pays.
Run: python examples/10_from_doctor_to_refit.py
"""

import tempfile
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

import fewsolves as fs

DEPARTURES, OWNED = 6, np.array([5, 4])  # small and large boats that there are
SEATS, RUNS = np.array([40.0, 100.0]), np.array([300.0, 620.0])  # cost of one run
TAXI, ANGER = 14.0, 30.0  # per passenger without a seat; the plan knows the taxi only


def send(passengers):
    """(6, 2) boats of either size: the cheapest that carry all passengers."""
    seats = np.kron(np.eye(DEPARTURES), SEATS)
    short = np.eye(DEPARTURES)  # passengers without a seat, at the price of a taxi
    boats = np.hstack([np.tile(np.eye(2), DEPARTURES), np.zeros((2, DEPARTURES))])
    limits = [
        LinearConstraint(np.hstack([seats, short]), lb=np.maximum(passengers, 0.0)),
        LinearConstraint(boats, ub=OWNED),
    ]
    price = np.r_[np.tile(RUNS, DEPARTURES), np.full(DEPARTURES, TAXI)]
    whole = np.r_[np.ones(2 * DEPARTURES), np.zeros(DEPARTURES)]
    found = milp(price, constraints=limits, integrality=whole, bounds=Bounds(0, np.inf))
    return np.round(found.x[: 2 * DEPARTURES]).reshape(DEPARTURES, 2)


def true_cost(passengers, boats):
    left = np.maximum(passengers - boats @ SEATS, 0.0).sum()
    return float((boats @ RUNS).sum() + (TAXI + ANGER) * left)


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))  # weekday, weather, holidays, price
    mean = 60 * np.exp(0.35 * X @ np.random.default_rng(5).normal(size=(4, DEPARTURES)))
    return X, mean * rng.gamma(5.0, 0.2, size=(n, DEPARTURES))


PROBLEM = fs.Problem(solve=send, cost=true_cost, lower=0.0, name="ferries")


def main(rows=300, budget=None, **options):
    (X, Y), (X_new, Y_new) = table(rows, seed=0), table(rows, seed=1)
    print(fs.doctor(PROBLEM, X, Y))
    print(fs.quote(PROBLEM, X, Y, methods=["shift", "pairs", "staged"]))
    start = fs.DecisionRegressor(PROBLEM, method="pfl", **options).fit(X, Y)
    with tempfile.TemporaryDirectory() as folder:
        budget = budget or fs.Budget(solves=5 * rows)
        run = Path(folder, "run")
        model = fs.DecisionRegressor(PROBLEM, budget=budget, folder=run, **options)
        print(model.fit(X, Y).summary_)
        models = {"prediction alone": start, "fewsolves": model}
        compared = fs.compare(models, X_new, Y_new)
        print(compared)
        page = model.report(Path(folder, "report.html"))
        print(f"the report has {page.stat().st_size:,} bytes")
        model.save(Path(folder, "model"))
        loaded = fs.load(Path(folder, "model"), PROBLEM)
        assert np.array_equal(loaded.predict(X_new), model.predict(X_new))
        print("boats of tomorrow:", loaded.decide(X_new[:1])[0].astype(int).tolist())
        before = model.summary_.solves
        model.set_params(budget=None)  # a refit has a limit of its own
        model.refit(np.r_[X, X_new[:20]], np.r_[Y, Y_new[:20]])  # next month
        print(f"20 more rows: {model.summary_.solves} solves, the first run {before}")
    return compared


if __name__ == "__main__":
    fs.plot.compare(main()).savefig("from_doctor_to_refit.png")
