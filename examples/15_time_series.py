"""A hospital that trains on the past and is judged on later days staffs its wards
better.

Days follow each other, so the table is sorted by time, oldest first, and the last fifth
judges the result (`validation="last 20 %"`). Features are lags and the day of the week.
HiGHS assigns nurses and agency staff to four wards by the predicted number of patients.
A patient for whom a nurse is missing costs more than a nurse, which the program cannot
know.
Run: python examples/15_time_series.py
"""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

import fewsolves as fs

WARDS, NURSES, EACH = 4, 26, 4.0  # own nurses in all; patients of a nurse
NURSE, AGENCY, MISSED = 1.0, 1.8, 3.0  # per nurse, agency nurse, patient without care


def assign(patients):
    """(2, 4) nurses and agency nurses of the wards: the cheapest for these patients."""
    cared = LinearConstraint(EACH * np.tile(np.eye(WARDS), 2), lb=patients)
    own = LinearConstraint(np.r_[np.ones(WARDS), np.zeros(WARDS)][None], ub=NURSES)
    price = np.r_[np.full(WARDS, NURSE), np.full(WARDS, AGENCY)]
    whole = np.ones(2 * WARDS)
    answer = milp(
        price, constraints=[cared, own], integrality=whole, bounds=Bounds(0, 40)
    )
    return np.round(answer.x).reshape(2, WARDS)


def true_cost(patients, staff):
    """Wages, and patients without care."""
    missed = np.maximum(patients - EACH * staff.sum(axis=0), 0.0).sum()
    return float(NURSE * staff[0].sum() + AGENCY * staff[1].sum() + MISSED * missed)


def table(n, seed=0):
    """Patients of n days in order; features are those of yesterday and last week."""
    rng = np.random.default_rng(seed)
    usual, level, patients = np.array([18.0, 30.0, 24.0, 12.0]), 0.0, []
    for day in range(n + 7):
        level = 0.9 * level + 0.08 * rng.normal()
        weekend = 0.85 if day % 7 > 4 else 1.0
        season = 1.0 + 0.2 * np.sin(2 * np.pi * day / 365)
        patients.append(rng.poisson(usual * weekend * season * np.exp(level)))
    patients, days = np.array(patients, dtype=float), np.arange(7, n + 7)
    week = np.eye(7)[days % 7]
    return np.hstack([patients[days - 1], patients[days - 7], week]), patients[days]


PROBLEM = fs.Problem(solve=assign, cost=true_cost, lower=0.0, name="wards")


def main(rows=400, budget=None, **options):
    X, Y = table(2 * rows)
    past, future = slice(0, rows), slice(rows, None)
    budget = budget or fs.Budget(solves=5 * rows)
    options = {"validation": "last 20 %", "predictor": "linear"} | options
    plain = fs.DecisionRegressor(PROBLEM, "pfl", **options).fit(X[past], Y[past])
    model = fs.DecisionRegressor(PROBLEM, budget=budget, **options)
    print(model.fit(X[past], Y[past]).summary_)
    models = {"prediction alone": plain, "fewsolves": model}
    compared = fs.compare(models, X[future], Y[future])
    print(compared)
    return compared


if __name__ == "__main__":
    fs.plot.compare(main()).savefig("time_series.png")
