"""What a model that stays in memory and a warm start save: CPU of a solve by HiGHS, three ways in turns.

    python -m fewsolves_studies.measure.warm_start [--solves 10] [--json results/lighter/warm_start.json]

*new model*: each solve builds it. *in place*: `fs.problem_from_highs`, whose solves change the predicted coefficients
and start from nothing. *hint*: the same, and each solve starts from a known decision, whose parameters lie 3 % away, as
those of a draw lie from its prediction. All are solved to proven optimality (gap 0), and all three must have the same
objective. `lot sizing` predicts right-hand sides, `cover` and `assignment` the objective.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fewsolves as fs

NEAR = 0.03  # by which the parameters of the known decision differ
Build = Callable[[], Any]


def empty_model() -> Any:
    import highspy

    model = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0}.items():
        model.setOptionValue(name, value)
    return model


def lot_sizing(periods: int, products: int) -> tuple[Build, dict[str, Any], np.ndarray]:
    """Set-ups, production, stock and what is missing, by product and period; demand is predicted."""

    def build() -> Any:
        rng, model, capacity = np.random.default_rng(0), empty_model(), 13.0 * products
        for _ in range(periods):
            model.addRow(-np.inf, capacity, 0, [], [])
        for product in range(products):
            before = None
            for t in range(periods):
                set_up = model.addBinary(obj=20.0 + 30.0 * rng.random())
                make = model.addVariable(lb=0.0, ub=capacity, obj=rng.random())
                stock, missing = model.addVariable(lb=0.0, obj=1.0), model.addVariable(lb=0.0, obj=30.0)
                model.changeCoeff(t, make.index, 1.0)
                model.changeCoeff(t, set_up.index, 3.0)
                model.addConstr(make - stock + missing == 10.0)
                if before is not None:
                    model.changeCoeff(periods + 2 * (product * periods + t), before.index, 1.0)
                model.addConstr(make - capacity * set_up <= 0.0)
                before = stock
        return model

    demand = [periods + 2 * k for k in range(periods * products)]
    return build, {"right_hand_sides": demand}, 5.0 + 10.0 * np.random.default_rng(1).random(len(demand))


def cover(items: int, sets: int) -> tuple[Build, dict[str, Any], np.ndarray]:
    """Sets that cover each item twice; their prices are predicted."""
    rng = np.random.default_rng(0)
    prices, covers = rng.integers(10, 100, sets).astype(float), rng.random((items, sets)) < 0.15

    def build() -> Any:
        model = empty_model()
        take = [model.addBinary(obj=price) for price in prices]
        for row in covers:
            model.addConstr(sum(take[k] for k in np.flatnonzero(row)) >= 2)
        return model

    return build, {"objective": range(sets)}, prices


def assignment(machines: int, jobs: int) -> tuple[Build, dict[str, Any], np.ndarray]:
    """Jobs to machines of limited hours; prices are predicted."""
    rng = np.random.default_rng(0)
    prices = rng.integers(10, 50, (machines, jobs)).astype(float)
    hours = rng.integers(5, 25, (machines, jobs)).astype(float)

    def build() -> Any:
        model = empty_model()
        take = [[model.addBinary(obj=price) for price in row] for row in prices]
        for row, needed in zip(take, hours, strict=True):
            model.addConstr(sum(h * z for h, z in zip(needed, row, strict=True)) <= 0.8 * needed.sum() / machines)
        for column in zip(*take, strict=True):
            model.addConstr(sum(column) == 1)
        return model

    return build, {"objective": range(machines * jobs)}, prices.ravel()


CASES: dict[str, Callable[[], tuple[Build, dict[str, Any], np.ndarray]]] = {
    "lot sizing, small": lambda: lot_sizing(3, 2),
    "lot sizing": lambda: lot_sizing(6, 4),
    "cover": lambda: cover(90, 130),
    "assignment": lambda: assignment(8, 48),
}


def figures(case: str, solves: int) -> dict[str, Any]:
    """Mean CPU seconds of a solve, by way, and how many solves had another objective."""
    build, places, base = CASES[case]()
    rng = np.random.default_rng(2)

    def functions() -> Any:
        return fs.problem_from_highs(build, lambda y, z: 0.0, **places).build().solve

    solve, taken, other = functions(), {"new model": 0.0, "in place": 0.0, "hint": 0.0}, 0
    prices = np.array(build().getLp().col_cost_)
    for _ in range(solves):
        known = base * (1.0 + 0.1 * rng.normal(size=len(base)))
        y = known * (1.0 + NEAR * rng.normal(size=len(base)))
        hint, costs = solve(known), y if "objective" in places else prices
        ways: dict[str, Callable[..., Any]] = {
            "new model": lambda y: functions()(y),
            "in place": solve,
            "hint": lambda y, hint=hint: solve(y, hint=hint),
        }
        values = []
        for name, way in ways.items():
            began = time.process_time()
            z = way(y)
            taken[name] += (time.process_time() - began) / solves
            values.append(float(costs @ z))
        other += not np.allclose(values, values[0], rtol=1e-6)
    return {"solves": solves, "other objective": other} | taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solves", type=int, default=10)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = {}
    for case in given.cases:
        found[case] = one = figures(case, given.solves)
        means = ", ".join(f"{way} {1e3 * one[way]:.1f} ms" for way in ("new model", "in place", "hint"))
        ratio = one["hint"] / one["in place"]
        print(f"{case}: {means}; hint / in place {ratio:.2f}; other objective {one['other objective']}", flush=True)
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
