"""When to set up a machine and how much to make in the next six weeks, by Pyomo and HiGHS.

The model is built once in each process that solves (`factory`), and each solve changes its demand in place. The plan
cannot be changed once it is made: what is missing in a week is bought at a high price, what is left is stored.
Run: python examples/03_lot_sizing_pyomo.py   (needs pyomo and highspy: pip install 'fewsolves[examples]')
"""

import numpy as np

import fewsolves as fs

WEEKS, SETUP, STORE, BUY, CAPACITY = 6, 120.0, 1.0, 12.0, 120.0


def planner():
    """Build the model; return (solve, cost)."""
    import pyomo.environ as pyo
    from pyomo.contrib.appsi.solvers import Highs

    weeks = range(WEEKS)
    model = pyo.ConcreteModel()
    model.demand = pyo.Param(weeks, mutable=True, initialize=0.0)
    model.make = pyo.Var(weeks, bounds=(0, CAPACITY))
    model.stock = pyo.Var(weeks, bounds=(0, None))
    model.set_up = pyo.Var(weeks, domain=pyo.Binary)
    model.total = pyo.Objective(expr=sum(SETUP * model.set_up[t] + STORE * model.stock[t] for t in weeks))
    model.ready = pyo.Constraint(weeks, rule=lambda m, t: m.make[t] <= CAPACITY * m.set_up[t])
    model.flow = pyo.Constraint(
        weeks, rule=lambda m, t: (m.stock[t - 1] if t else 0.0) + m.make[t] == m.demand[t] + m.stock[t]
    )
    solver = Highs()
    solver.highs_options = {"threads": 1, "mip_rel_gap": 0.0}

    def solve(demand):
        made_so_far = 0.0
        for t, wanted in enumerate(np.clip(demand, 0.0, CAPACITY)):
            model.demand[t] = float(min(wanted, CAPACITY * (t + 1) - made_so_far))  # what can be made by then
            made_so_far += pyo.value(model.demand[t])
        solver.solve(model)
        return np.round([pyo.value(model.make[t]) for t in weeks], 6)

    return solve, true_cost


def true_cost(demand, make):
    """Walk through the weeks as they came: set-ups, storage, and what had to be bought."""
    stock, total = 0.0, SETUP * np.count_nonzero(make)
    for wanted, made in zip(demand, make, strict=True):
        stock += made - wanted
        total += STORE * max(stock, 0.0) + BUY * max(-stock, 0.0)
        stock = max(stock, 0.0)
    return float(total)


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))  # order book, price, season
    level = 45 + 12 * X[:, :1] + 8 * np.sin(X[:, 1:2] + np.arange(WEEKS)) + 4 * np.abs(X[:, 2:3])
    return X, np.maximum(level + rng.gamma(2.0, 5.0, size=(n, WEEKS)), 0.0)


PROBLEM = fs.Problem(factory=planner, name="lot sizing")


def main(rows=150, **options):
    (X, Y), (X_new, Y_new) = table(rows, seed=0), table(rows, seed=1)
    for method in ("pfl", "staged"):
        model = fs.DecisionRegressor(PROBLEM, method=method, **options).fit(X, Y)
        print(f"{method:14s} regret {-model.score(X_new, Y_new):7.1f}   solves paid {model.calls_.total():6d}")


if __name__ == "__main__":
    main()
