"""One solve of a knapsack of 50 items by each modelling layer, its values changed in place, beside PyEPO's model.

    python -m fewsolves_studies.measure.modelling_layers [--solves 200]

The layers take turns in random order, so that a busy machine slows all of them alike. Printed are the median
milliseconds of a solve, and the ratio to PyEPO's with the same solver. Gurobi and PyEPO are left out where they are not
installed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

ITEMS = 50
RNG = np.random.default_rng(0)
WEIGHTS = RNG.integers(3, 8, ITEMS).astype(float)
ROOM = 0.5 * WEIGHTS.sum()
Solve = Callable[[np.ndarray], np.ndarray]


def scipy_milp() -> Solve:
    from scipy.optimize import LinearConstraint, milp

    fits, whole = LinearConstraint(WEIGHTS, ub=ROOM), np.ones(ITEMS)
    return lambda values: (
        milp(-values, constraints=fits, integrality=whole, bounds=(0, 1), options={"mip_rel_gap": 0}).x
    )


def highs() -> Solve:
    import highspy

    model = highspy.Highs()
    for option, value in {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0}.items():
        model.setOptionValue(option, value)
    take = [model.addBinary() for _ in range(ITEMS)]
    model.addConstr(sum(w * z for w, z in zip(WEIGHTS, take, strict=True)) <= ROOM)
    columns = np.arange(ITEMS, dtype=np.int32)

    def solve(values: np.ndarray) -> np.ndarray:
        model.changeColsCost(ITEMS, columns, -values)
        model.run()
        return np.array(model.getSolution().col_value)

    return solve


def pyomo() -> Solve:
    import pyomo.environ as pyo
    from pyomo.contrib.appsi.solvers import Highs

    model, items = pyo.ConcreteModel(), range(ITEMS)
    model.value = pyo.Param(items, mutable=True, initialize=1.0)
    model.take = pyo.Var(items, domain=pyo.Binary)
    model.earned = pyo.Objective(expr=sum(model.value[j] * model.take[j] for j in items), sense=pyo.maximize)
    model.fits = pyo.Constraint(expr=sum(WEIGHTS[j] * model.take[j] for j in items) <= ROOM)
    solver = Highs()
    solver.highs_options = {"threads": 1, "mip_rel_gap": 0.0}

    def solve(values: np.ndarray) -> np.ndarray:
        for j, value in enumerate(values):
            model.value[j] = float(value)
        solver.solve(model)
        return np.array([model.take[j].value for j in items])

    return solve


def cvxpy() -> Solve:
    import cvxpy as cp

    take, value = cp.Variable(ITEMS, boolean=True), cp.Parameter(ITEMS)
    program = cp.Problem(cp.Maximize(value @ take), [WEIGHTS @ take <= ROOM])

    def solve(values: np.ndarray) -> np.ndarray:
        value.value = values
        program.solve(solver=cp.HIGHS, mip_rel_gap=0.0)
        return np.array(take.value)

    return solve


def gurobi(rebuild: bool = False) -> Solve:
    import gurobipy as gp

    env = gp.Env(params={"OutputFlag": 0, "Threads": 1, "MIPGap": 0.0})

    def build() -> tuple[gp.Model, gp.MVar]:
        model = gp.Model(env=env)
        take = model.addMVar(ITEMS, vtype=gp.GRB.BINARY)
        model.ModelSense = gp.GRB.MAXIMIZE
        model.addConstr(WEIGHTS @ take <= ROOM)
        return model, take

    model, take = build()

    def solve(values: np.ndarray) -> np.ndarray:
        nonlocal model, take
        if rebuild:
            model, take = build()
        take.Obj = values
        model.optimize()
        return take.X

    return solve


def pyepo_gurobi() -> Solve:
    import pyepo
    from gurobipy import GRB

    model = pyepo.model.grb.knapsackModel(weights=WEIGHTS[None], capacity=np.array([ROOM]))
    for name, value in {"Threads": 1, "MIPGap": 0.0}.items():
        model._model.setParam(getattr(GRB.Param, name), value)

    def solve(values: np.ndarray) -> np.ndarray:
        model.setObj(values)
        return np.array(model.solve()[0])

    return solve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--solves", type=int, default=200)
    solves = parser.parse_args().solves
    layers = {"scipy": scipy_milp, "highspy": highs, "Pyomo, HiGHS": pyomo, "CVXPY, HiGHS": cvxpy}
    if find_spec("gurobipy"):
        layers |= {"Gurobi": gurobi, "Gurobi, built anew": lambda: gurobi(rebuild=True)}
        if find_spec("pyepo"):
            layers["PyEPO, Gurobi"] = pyepo_gurobi
    built = {name: build() for name, build in layers.items()}
    values = RNG.uniform(1.0, 10.0, size=(solves + 1, ITEMS))
    seconds = {name: np.empty(solves) for name in built}
    earned = {name: np.empty(solves) for name in built}
    for solve in built.values():
        solve(values[-1])  # compiles what is to be compiled
    for k in range(solves):
        for name in np.random.default_rng(k).permutation(list(built)):  # who follows whom matters to caches
            solve = built[name]
            began = time.perf_counter()
            z = solve(values[k])
            seconds[name][k] = time.perf_counter() - began
            earned[name][k] = values[k] @ np.round(z)
    best = np.max(list(earned.values()), axis=0)
    for name, spent in seconds.items():
        line = f"{name:20s} {1e3 * np.median(spent):7.2f} ms"
        if name.startswith("Gurobi") and "PyEPO, Gurobi" in seconds:
            line += f"   {np.median(spent / seconds['PyEPO, Gurobi']):.2f} of PyEPO's"
        assert np.allclose(earned[name], best, rtol=1e-6), name
        print(line)


if __name__ == "__main__":
    main()
