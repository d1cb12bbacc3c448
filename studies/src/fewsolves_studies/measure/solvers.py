"""Embedded solvers against generic MILP solvers, interleaved in one run: `python -m fewsolves_studies.measure.solvers
[rounds]`.

Instances are predictions of a linear fit, the usual input during training. Each round times our solver on one batch of
800 and every rival on the next few instances, at gap 0 and one thread; medians are printed, in microseconds of wall
time per solve. Every answer of a rival is compared with ours, and the exit code is 1 if an optimum differs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from fewsolves.demo.benchmark import Benchmark
from fewsolves.demo.cover_solver import reduce_columns
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.knapsack_solver import solve_knapsacks

BATCH = 800
PER_ROUND = 4  # instances that each rival solves in a round
AGREE = 1e-9  # relative difference of two optima that is rounding


class Program(NamedTuple):
    """min objective.x, lower <= A x <= upper, 0 <= x <= bound, x integer."""

    objective: np.ndarray
    A: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    bound: np.ndarray

    def overfull(self, x: np.ndarray) -> bool:
        """Beyond 1e-9: generic solvers allow 1e-6, and can gain by it."""
        row = self.A @ x
        scale = 1e-9 * np.maximum(1.0, np.abs(np.where(np.isfinite(self.upper), self.upper, self.lower)))
        return bool(np.any(row > self.upper + scale) or np.any(row < self.lower - scale))


class Case(NamedTuple):
    name: str
    ours: Callable[[], np.ndarray]  # solves the batch: what is timed
    optimum: Callable[[np.ndarray], np.ndarray]  # its answer to (BATCH,) optima, as `program` counts them
    program: Callable[[int], Program]  # instance i of the batch


def highs(p: Program) -> np.ndarray:
    constraint, bounds = LinearConstraint(p.A, p.lower, p.upper), Bounds(np.zeros(len(p.bound)), p.bound)
    whole = np.ones(len(p.bound), dtype=np.int64)
    result = milp(p.objective, constraints=constraint, bounds=bounds, integrality=whole, options={"mip_rel_gap": 0.0})
    return np.rint(result.x)


def or_tools() -> Callable[[Program], np.ndarray]:
    from ortools.linear_solver import pywraplp

    def solve(p: Program) -> np.ndarray:
        solver = pywraplp.Solver.CreateSolver("SCIP")
        x = [solver.IntVar(0, b if np.isfinite(b) else solver.infinity(), "") for b in p.bound]
        for row, lower, upper in zip(p.A, p.lower, p.upper, strict=True):
            constraint = solver.Constraint(float(lower), float(upper))
            for j in np.flatnonzero(row):
                constraint.SetCoefficient(x[j], float(row[j]))
        objective = solver.Objective()
        for j, c in enumerate(p.objective):
            objective.SetCoefficient(x[j], float(c))
        objective.SetMinimization()
        exact = pywraplp.MPSolverParameters()
        exact.SetDoubleParam(pywraplp.MPSolverParameters.RELATIVE_MIP_GAP, 0.0)
        solver.Solve(exact)
        return np.rint([v.solution_value() for v in x])

    return solve


def gurobi() -> Callable[[Program], np.ndarray]:
    import gurobipy as gp

    env = gp.Env(params={"OutputFlag": 0, "Threads": 1, "MIPGap": 0, "FeasibilityTol": 1e-9, "IntFeasTol": 1e-9})

    def solve(p: Program) -> np.ndarray:
        model = gp.Model(env=env)
        x = model.addMVar(len(p.bound), ub=p.bound, obj=p.objective, vtype="I")
        if np.isfinite(p.lower).all():
            model.addConstr(p.A @ x >= p.lower)
        else:
            model.addConstr(p.A @ x <= p.upper)
        model.optimize()
        return np.rint(x.X)

    return solve


def rivals() -> dict[str, Callable[[Program], np.ndarray]]:
    found = {"HiGHS": highs}
    for name, make in (("OR-tools", or_tools), ("Gurobi", gurobi)):
        try:
            found[name] = make()
        except ImportError:
            print(f"{name}: not installed, left out")
    return found


def predictions(benchmark: Benchmark) -> tuple[np.ndarray, np.ndarray]:
    """(Y_hat, Y) of a linear fit on fresh instances."""
    X, Y, _ = benchmark.fresh(BATCH)
    fit = np.linalg.lstsq(np.c_[np.ones(len(benchmark.X)), benchmark.X], benchmark.Y, rcond=None)[0]
    return np.c_[np.ones(BATCH), X] @ fit, Y


def knapsack(v: np.ndarray, w: np.ndarray, c: float) -> Program:
    return Program(-v, w[None], np.array([-np.inf]), np.array([c]), np.ones(len(v)))


def cases() -> list[Case]:
    values, weights, capacity = load("kp-values"), load("kp-weights"), load("kp-capacity")
    kp_v, (V_hat, _) = values.problem.solve.__self__, predictions(values)
    kp_w, (W_hat, W) = weights.problem.solve.__self__, predictions(weights)
    kp_c, (c_hat, _) = capacity.problem.solve.__self__, predictions(capacity)
    Z = weights.problem.solve_batch(W_hat)

    def recourse(i: int) -> Program:
        v, w, z, p = kp_w.values, W[i], Z[i], kp_w.penalty
        objective, room = np.r_[-v / p, p * v], np.array([kp_w.capacity - w @ z])
        return Program(objective, np.r_[w, -w][None], np.array([-np.inf]), room, np.r_[1.0 - z, z])

    return [
        Case(
            "kp-50 values",
            lambda: values.problem.solve_batch(V_hat),
            lambda Z: -np.einsum("ij,ij->i", V_hat, Z),
            lambda i: knapsack(V_hat[i], kp_v.weights, kp_v.capacity),
        ),
        Case(
            "kp-50 weights",
            lambda: weights.problem.solve_batch(W_hat),
            lambda Z: -(Z @ kp_w.values),
            lambda i: knapsack(kp_w.values, np.maximum(0.0, np.rint(W_hat[i])), kp_w.capacity),
        ),
        Case(
            "kp-50 capacity (table)",
            lambda: capacity.problem.solve_batch(c_hat),
            lambda Z: -(Z @ kp_c.values),
            lambda i: knapsack(kp_c.values, kp_c.weights, max(0.0, float(np.rint(c_hat[i, 0])))),
        ),
        Case(
            "recourse cost, weights",
            lambda: weights.problem.cost_batch(W, Z),
            lambda cost: cost + Z @ kp_w.values,
            recourse,
        ),
        multi_cover(50),
        multi_cover(1000),
    ]


def multi_cover(n_sets: int) -> Case:
    wsmc = load(f"wsmc-10-{n_sets}")
    cover, (D_hat, _) = wsmc.problem.solve.__self__, predictions(wsmc)
    no_limit, unbounded = np.full(10, np.inf), np.full(n_sets, np.inf)

    def program(i: int) -> Program:
        return Program(cover.costs, cover.coverage, np.maximum(0.0, np.ceil(D_hat[i])), no_limit, unbounded)

    return Case(wsmc.name, lambda: wsmc.problem.solve_batch(D_hat), lambda Z: Z @ cover.costs, program)


def compare(rounds: int) -> int:
    solvers, different = rivals(), 0
    print(
        f"{'':24}{'ours':>9}" + "".join(f"{name:>12}{'ratio':>8}" for name in solvers) + "   checked, overfull, differ"
    )
    for case in cases():
        best = case.optimum(case.ours())  # compiles, too
        seconds: dict[str, list[float]] = {name: [] for name in ("ours", *solvers)}
        checked = overfull = differ = 0
        for start in range(0, rounds * PER_ROUND, PER_ROUND):
            begin = time.perf_counter()
            case.ours()
            seconds["ours"].append((time.perf_counter() - begin) / BATCH)
            for name, solve in solvers.items():
                for i in range(start, start + PER_ROUND):
                    program = case.program(i % BATCH)
                    begin = time.perf_counter()
                    x = solve(program)
                    seconds[name].append(time.perf_counter() - begin)
                    checked += 1
                    if abs(program.objective @ x - best[i % BATCH]) > AGREE * max(1.0, abs(best[i % BATCH])):
                        if program.overfull(x):
                            overfull += 1
                        else:
                            differ += 1
        median = {name: 1e6 * float(np.median(times)) for name, times in seconds.items()}
        times = "".join(f"{median[name]:>12,.0f}{median[name] / median['ours']:>8,.0f}" for name in solvers)
        print(f"{case.name:24}{median['ours']:>9.2f}{times}   {checked}, {overfull}, {differ}", flush=True)
        different += differ
    return different


def nasty() -> None:
    """Inputs on which branch and bound can run for ever: the time of one solve, and the tolerance that it proved."""
    rng = np.random.default_rng(0)
    w = rng.uniform(size=50)
    half = 0.5 * float(w.sum())
    inputs = {
        "values = 250 weights (subset sum)": (250.0 * w, w, half),
        "values = 250 weights + N(0, 0.001)": (250.0 * w + rng.normal(0.0, 1e-3, 50), w, half),
        "values = 250 weights + N(0, 0.1)": (250.0 * w + rng.normal(0.0, 0.1, 50), w, half),
        "even weights, odd capacity": (2.0 * np.arange(1, 51), 2.0 * np.arange(1, 51), 1001.0),
        "all items equal": (np.full(50, 0.3), np.full(50, 0.7), 17.7),
        "two kinds of items": (np.tile([0.3, 0.31], 25), np.tile([0.7, 0.71], 25), 17.9),
        "equal weights": (rng.uniform(1.0, 1.1, 50), np.full(50, 0.7), 17.7),
        "subset sum of integers": (np.rint(1000 * w), np.rint(1000 * w), float(np.rint(500 * w.sum()))),
        "values = weights + 10": (np.rint(1000 * w) + 10.0, np.rint(1000 * w), float(np.rint(500 * w.sum()))),
        "values N(0, 1)": (rng.normal(size=50), w, half),
        "values and weights N(0, 1)": (rng.normal(size=50), rng.normal(size=50), 1.0),
        "values up to 1e300": (10.0 ** rng.uniform(-300.0, 300.0, 50), w, half),
        "500 items": (rng.poisson(300.0, 500) * (w500 := rng.uniform(size=500)), w500, 0.5 * float(w500.sum())),
    }
    print("\nnasty knapsacks                          ms   proven gap")
    for name, (v, weights, c) in inputs.items():
        begin = time.perf_counter()
        result = solve_knapsacks(v, weights, c)
        print(f"{name:36}{1e3 * (time.perf_counter() - begin):>8.2f}   {result.gap[0]:.0e}")
    print("\nnasty covers (10 items)         ms per solve: mean,   worst")
    for n_sets, density in ((50, 0.2), (50, 0.3), (250, 0.15)):
        mean, worst = [], 0.0
        for _ in range(5):
            coverage = np.maximum(rng.random((10, n_sets)) < density, np.eye(10, n_sets)).astype(np.float64)
            cover = reduce_columns(coverage, rng.integers(1, 100, n_sets).astype(np.float64))
            for demand in rng.poisson(rng.lognormal(5.4, 0.8, (200, 1, 10))).astype(np.float64):
                begin = time.perf_counter()
                cover.solve(demand)
                mean.append(1e3 * (time.perf_counter() - begin))
                worst = max(worst, mean[-1])
        print(f"{n_sets} sets, density {density:<22}{np.mean(mean):>12.4f}{worst:>9.3f}")


if __name__ == "__main__":
    different = compare(rounds=int(sys.argv[1]) if len(sys.argv) > 1 else 15)
    nasty()
    sys.exit(1 if different else 0)
