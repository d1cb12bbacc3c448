"""A factory that allows for expensive shortages plans its lots at a lower cost, by
Pyomo and HiGHS.

The plan says when to set up a machine and how much to make in the next six weeks. The
model is built once in each process that solves (`factory`), and each solve changes its
demand in place. The opening stock is known, so it is an instance of the row. What is
missing in a week is bought at a high price, and what is left is stored.
Run: python examples/03_lot_sizing_pyomo.py   (pip install 'fewsolves[examples]')
"""

import numpy as np

import fewsolves as fs

WEEKS, SETUP, STORE, CAPACITY = 6, 120.0, 1.0, 120.0
BUY, AT_ONCE = 12.0, 30.0  # a unit that is missing: ordered in time, or at once


def planner():
    """Build the model; return (solve, cost)."""
    import pyomo.environ as pyo
    from pyomo.contrib.appsi.solvers import Highs

    weeks = range(WEEKS)
    model = pyo.ConcreteModel()
    model.demand = pyo.Param(weeks, mutable=True, initialize=0.0)
    model.opening = pyo.Param(mutable=True, initialize=0.0)
    model.make = pyo.Var(weeks, bounds=(0, CAPACITY))
    model.stock = pyo.Var(weeks, bounds=(0, None))
    model.set_up = pyo.Var(weeks, domain=pyo.Binary)
    model.bought = pyo.Var(weeks, bounds=(0, None))
    model.total = pyo.Objective(
        expr=sum(
            SETUP * model.set_up[t] + STORE * model.stock[t] + BUY * model.bought[t]
            for t in weeks
        )
    )

    def ready(m, t):
        return m.make[t] <= CAPACITY * m.set_up[t]

    def flow(m, t):
        before = m.stock[t - 1] if t else m.opening
        return before + m.make[t] + m.bought[t] == m.demand[t] + m.stock[t]

    model.ready = pyo.Constraint(weeks, rule=ready)
    model.flow = pyo.Constraint(weeks, rule=flow)
    solver = Highs()
    solver.highs_options = {"threads": 1, "mip_rel_gap": 0.0}

    def solve(demand, opening):
        model.opening.value = float(opening)
        for t, wanted in enumerate(demand):
            model.demand[t] = float(wanted)
        solver.solve(model)
        return np.round([pyo.value(model.make[t]) for t in weeks], 6)

    return solve, true_cost


def true_cost(demand, make, opening):
    """The weeks as they came: set-ups, storage, and what had to be bought at once."""
    stock, total = opening, SETUP * np.count_nonzero(make)
    for wanted, made in zip(demand, make, strict=True):
        stock += made - wanted
        total += STORE * max(stock, 0.0) + AT_ONCE * max(-stock, 0.0)
        stock = max(stock, 0.0)
    return float(total)


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))  # order book, price, season
    season = 8 * np.sin(X[:, 1:2] + np.arange(WEEKS))
    level = 45 + 12 * X[:, :1] + season + 4 * np.abs(X[:, 2:3])
    demand = np.maximum(level + rng.gamma(1.0, 14.0, size=(n, WEEKS)), 0.0)
    return X, demand, rng.uniform(0.0, 60.0, size=n)  # and the opening stock


PROBLEM = fs.Problem(factory=planner, lower=0.0, name="lot sizing")


def main(rows=300, budget=None, **options):
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
    fs.plot.compare(main()).savefig("lot_sizing_pyomo.png")
