"""The checks of the doctor, and their evaluation of the trials; each finding says what to do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fewsolves._internal import platform
from fewsolves._internal.text import duration, number
from fewsolves.diagnosis.finding import Finding
from fewsolves.diagnosis.trials import Moved, Repeated, Trials
from fewsolves.execution.base import Failure
from fewsolves.oracle.probe import REPEAT_TOLERANCE
from fewsolves.problem import Array

SOLVER_GAP = 1e-4  # relative: what solvers of mixed-integer programs leave by default
NEARLY_ALL = 0.9  # of the decisions of other rows are better than the solver's own: the sign is wrong
WORTHWHILE = 1e-3  # of the cost
NO_COST = 1e-6  # of the regret, below which the cost of the best decisions is about 0, and no measure of it
RARE = 0.005  # of the predictions
ORDERED, FEWEST_ROWS = 0.25, 50  # share of a row's position that x explains; rows needed to rule out chance
LISTED_COLUMNS = 8  # parameters that are listed


def solvable(trials: Trials) -> Finding:
    """Do `solve` and `cost` work at the true parameters?"""
    failed, tried = trials.oracle.failures.failed, len(trials.at)
    missing = tried - len(trials.solved)
    if missing == 0:
        return Finding("solves the truth", "ok", f"{tried} rows were solved at their true parameters")
    found = f"{missing} of {tried} rows have no best decision, or no cost of it; the first: {failed[0].message}"
    return Finding(
        "solves the truth", "mend", found, "fix it, or drop such rows; on_failure='skip' leaves out less than 5 %"
    )


def repeatable(trials: Trials) -> Finding:
    """Does the same question get the same answer, and does the problem say so?"""
    repeated, problem, name = trials.repeated, trials.oracle.problem, "repeatable"
    moves = {
        "cost": _differ(repeated.cost, repeated.cost_again),
        "solve": _differ(repeated.cost, repeated.other_cost) & repeated.decisions_differ,
    }
    said = {"cost": problem.noisy_cost, "solve": problem.noisy_solve}
    if unsaid := [what for what in moves if moves[what].any() and not said[what]]:
        return _unsaid_noise(repeated, moves, unsaid[0])
    if trials.beside is not None and trials.beside.differ and problem.deterministic:
        found = "the answers are the same in this process, but differ in a worker process"
        return Finding(name, "mend", found, "look for what a new process does not have: a seed, a file, a variable")
    if problem.noisy is not None and not np.any([*moves.values()]):
        found = f"the answers are the same when called again, but the problem declares noisy={problem.noisy!r}"
        return Finding(name, "note", found, "leave noisy= out, so that no answer is paid for twice")
    if problem.noisy is not None:
        found = f"noisy as declared: two costs of one decision differ by up to {number(repeated.noise)}"
        return Finding(name, "ok", found)
    if repeated.decisions_differ.any():
        return Finding(name, "ok", "the decisions differ when called again, at the same cost: they are ties")
    return Finding(name, "ok", f"{len(repeated.rows)} rows gave the same decisions and costs when called again")


def _unsaid_noise(repeated: Repeated, moves: dict[str, Array], what: str) -> Finding:
    """`what` ("cost" or "solve") answers differently when called again, and the problem does not say so."""
    k = int(np.argmax(moves[what]))
    again = repeated.cost_again[k] if what == "cost" else repeated.other_cost[k]
    first, row = f"{repeated.cost[k]:,.10g}", repeated.rows[k]
    found = f"`{what}` answered differently when called again: at row {row} the cost was {first}"
    noisy = "both" if all(moved.any() for moved in moves.values()) else what
    do = f"fix the seed (for a solver also the gap, and rebuild its model each time), or declare noisy={noisy!r}"
    return Finding("repeatable", "mend", f"{found}, then {again:,.10g}", do)


def minimises(trials: Trials) -> Finding:
    """Does `solve` minimise the cost that it is judged by?"""
    name, own = "minimises the cost", trials.optimum[trials.solved]
    regret = trials.predicted.regret[trials.solved]
    others = np.column_stack([trials.known, own + regret])
    tolerance = (SOLVER_GAP * np.abs(own) + 1e-9 + 3 * trials.repeated.noise)[:, None]
    better = others < own[:, None] - tolerance
    evaluated = ~np.isnan(others)
    rows = int(better.any(axis=1).sum())
    if rows == 0:
        compared = int(evaluated.sum())
        return Finding(
            name, "ok", f"none of {compared} other decisions was better under the truth than the solver's own"
        )
    differs = evaluated & (np.abs(others - own[:, None]) > tolerance)
    gain = float(np.nanmax((own[:, None] - others) / np.maximum(np.abs(own), 1e-300)[:, None]))
    if better.sum() >= NEARLY_ALL * differs.sum() and rows > 1:
        found = f"{better.sum()} of {differs.sum()} other decisions cost less under the truth than the solver's own"
        do = "`cost` is minimised: for a profit return its negative; otherwise check the parameters that `solve` gets"
        return Finding(name, "mend", found, do)
    found = f"for {rows} of {len(own)} rows some other decision costs less under the truth, by up to {gain:.2%} of it"
    do = (
        "this is normal for a heuristic, a gap, or a solver that does not know the whole cost: regrets may be below 0; "
        "otherwise make `solve` minimise `cost`"
    )
    return Finding(name, "note", found, do)


def speed(trials: Trials) -> Finding:
    """How long do solve and cost take, and do workers help?"""
    name, predicted, beside = "seconds and workers", trials.predicted, trials.beside
    found = f"a solve takes {duration(predicted.seconds['solve'])}, a cost call {duration(predicted.seconds['cost'])}"
    if beside is None:
        return Finding(name, "ok", f"{found}: too short for worker processes to help", "leave workers=1")
    if beside.refused is not None:
        return Finding(name, "note", f"{found}; worker processes cannot be used: {beside.refused}", "")
    found += f"; two worker processes are {number(beside.speed_up)} times as quick as one"
    cores = platform.cores()
    if predicted.cores > 1.5:
        busy = f"`solve` keeps {number(predicted.cores)} cores busy"
        do = f"{busy}: set its solver to one thread and give workers={cores}"
        return Finding(name, "note", found, do)
    if beside.speed_up >= 1.2:
        return Finding(name, "ok", found, f"give workers={cores}, one per core of this machine")
    if (load := platform.load()) > cores:
        return Finding(
            name, "note", f"{found}, on a busy machine (load {number(load)})", "run the doctor again when it is idle"
        )
    do = "leave workers=1, or find what the solves wait for: a lock, a licence, memory"
    return Finding(name, "note", found, do)


def gain(trials: Trials) -> Finding:
    """Is regret sensitive to the prediction, and how much could be gained at best?"""
    name, regret = "what can be gained", trials.predicted.regret
    regret = regret[~np.isnan(regret)]
    if not len(regret):
        return Finding(name, "mend", "no prediction led to a decision with a cost", "see the other findings")
    at, up, down = trials.shifted
    tried = np.concatenate([regret, up[~np.isnan(up)], down[~np.isnan(down)]])
    price = float(np.mean(np.abs(trials.optimum[trials.solved])))
    if np.ptp(tried) <= 1e-12 * max(price, 1e-300):
        found = f"the regret is {number(regret[0])} at all {len(tried)} predictions that were tried, right or wrong"
        own = trials.optimum[trials.solved][:, None]
        if np.nanmax(np.abs(trials.known - own), initial=0.0) > 1e-12 * max(price, 1e-300):
            return Finding(name, "note", found, "predictions decide as well as the truth: method='pfl' costs no solve")
        return Finding(name, "mend", found, "check that `cost` depends on the decision, and the decision on y_hat")
    mean, share = float(regret.mean()), float(regret.mean()) / max(price, 1e-300)
    error = float(regret.std(ddof=1) / np.sqrt(len(regret))) if len(regret) > 1 else float("nan")
    shifted = [number(float(np.nanmean(regrets))) for regrets in (at, up, down)]
    nothing = price <= NO_COST * float(np.abs(regret).mean())
    of_cost = "the best decisions cost about 0" if nothing else f"{number(share)} of the cost of the best decisions"
    found = (
        f"the regret of predictions by {trials.predictor_name} is {number(mean)} ± {number(error)} ({of_cost}), which "
        f"is all that can be gained; x explains {_share(trials.explained)} of the variance of y. Raising every "
        f"prediction by half its typical error changes the regret from {shifted[0]} to {shifted[1]}; lowering it, to "
        f"{shifted[2]}"
    )
    if mean < -2 * error:
        do = "regrets below 0 are refused by `fit`: `cost` is a profit (return its negative), or `solve` is not optimal"
        return Finding(name, "mend", found, do)
    if share < WORTHWHILE:
        return Finding(name, "note", found, "there is next to nothing to gain: method='pfl' costs no solve")
    if trials.explained < 0.05:
        do = (
            f"{trials.predictor_name} explains almost none of the variance of y: more context, or another predictor "
            f"(predictor=), such as one that all items share, may help more than any method"
        )
        return Finding(name, "note", found, do)
    return Finding(name, "ok", found)


def bounds(trials: Trials) -> Finding:
    """Do predictions need bounds?"""
    name, bounded = "bounds of predictions", trials.oracle.problem.bounded
    low = trials.Y.min(axis=0)
    failed = [k for k, z in enumerate(trials.predicted.decisions) if isinstance(z, Failure)]
    if failed:
        first, y_hat = _message(trials.predicted.decisions[failed[0]]), trials.y_hat[trials.at[failed]]
        found = f"{len(failed)} of {len(trials.at)} predictions could not be solved; the first: {first}"
        sides = {"lower": bool((y_hat < low).any()), "upper": bool((y_hat > trials.Y.max(axis=0)).any())}
        return Finding(name, "mend", found, _bounds_advice(trials, [side for side, beyond in sides.items() if beyond]))
    ends = zip(("below the smallest", "above the largest"), ("lower", "upper"), trials.outside, strict=True)
    if beyond := [(f"{where} values of Y: {_message(z)}", side) for where, side, z in ends if isinstance(z, Failure)]:
        where = f"`solve` fails {' and '.join(one for one, _ in beyond)}"
        return Finding(name, "note", where, _bounds_advice(trials, [side for _, side in beyond]))
    if bounded:
        return Finding(name, "ok", "`solve` accepts everything within the bounds of the problem")
    negative = float(np.mean((trials.y_hat < 0)[:, low >= 0])) if (low >= 0).any() else 0.0
    if negative > RARE:
        found = f"{negative:.1%} of the predictions are below 0, where Y never is; `solve` accepts them"
        return Finding(
            name, "note", found, "check that such values make sense to your solver, or declare Problem(lower=0)"
        )
    return Finding(name, "ok", "`solve` accepts values below and above all values of Y")


def _bounds_advice(trials: Trials, sides: list[str]) -> str:
    """What to do about predictions beyond the range of Y on these sides ("lower", "upper") that cannot be solved."""
    problem, nonnegative = trials.oracle.problem, bool((trials.Y >= 0).all())
    values = {"lower": "0" if nonnegative else _in_code(trials.Y.min()), "upper": _in_code(trials.Y.max())}
    missing = [side for side in sides if getattr(problem, side) is None]
    if missing:
        bounds = ", ".join(f"{side}={values[side]}" for side in missing)
        return f"declare Problem({bounds}), or the bounds that `solve` needs, or use on_failure='penalise'"
    if sides:
        given = ", ".join(f"{side}={getattr(problem, side)}" for side in sides)
        return f"`solve` fails within the bounds of the problem: tighten {given}, or use on_failure='penalise'"
    return "`solve` fails at predictions within the range of Y: fix it, or use on_failure='penalise'"


def _in_code(value: float) -> str:
    """Three digits, as a program writes them."""
    return f"{float(f'{value:.3g}'):_.0f}" if abs(value) >= 1e3 else f"{value:.3g}"


def parameters(trials: Trials) -> Finding:
    """Does the decision depend on all parameters?"""
    name, moved, n_y = "uses all parameters", trials.moved, trials.oracle.n_y
    idle = [one for one in moved if not one.changes_decision]
    parts = f"{n_y} parameters" if len(moved) == n_y else f"{len(moved)} groups of the {n_y} parameters"
    found = f"the decision changed with {len(moved) - len(idle)} of {parts} at the far end of their range"
    if dead := [one for one in idle if not one.changes_cost]:
        found += f"; neither decision nor cost with these columns of Y: {_columns(dead)}"
        return Finding(name, "note", found, "leave them out of Y, if `solve` and `cost` never read them")
    if len(idle) == len(moved):
        return Finding(
            name,
            "note",
            found,
            "check that `solve` reads y_hat; if it does, moves of one parameter alone are too small",
        )
    if idle and len(moved) == n_y and 2 * len(idle) <= n_y:
        found += f", not with these columns of Y: {_columns(idle)}"
        return Finding(name, "note", found, "check that `solve` reads them")
    return Finding(name, "ok", found)


def linearity(trials: Trials) -> Finding | None:
    """Is the cost linear in y, so that more methods fit?"""
    said, index = trials.oracle.problem.linear, trials.at[trials.solved]
    labels, optimum = trials.oracle.labels(index), trials.optimum[trials.solved]
    fits: list[str] = []
    if all(isinstance(z, np.ndarray) and z.shape == (trials.oracle.n_y,) for z in labels):
        value = np.einsum("ij,ij->i", trials.Y[index], np.stack(labels))
        fits = [
            sense for sense, claimed in (("min", value), ("max", -value)) if np.allclose(claimed, optimum, rtol=1e-6)
        ]
    if said is not None and said not in fits:
        found = f"the problem declares linear={said!r}, but the cost is not {_product(said)}"
        return Finding("linear", "mend", found, "leave `linear` out")
    if said is None and fits and np.ptp(optimum) > 0:
        do = f"if y changes the objective only, declare linear={fits[0]!r}: methods such as spo+ then apply"
        return Finding("linear", "note", f"the cost is {_product(fits[0])}", do)
    if said is not None:
        found = f"the cost is {_product(said)}, as the problem declares"
        return Finding("linear", "ok", found, "method='spo+' uses this; compare it with the default")
    return None


def order(trials: Trials) -> Finding | None:
    """Does x reveal the position of a row in the table, so that random rows are easier than later ones?"""
    if len(trials.X) < FEWEST_ROWS or trials.order < ORDERED:
        return None
    found = f"x explains {trials.order:.0%} of the variance of the row number: the rows seem to be in time order"
    do = "if you decide for later rows, sort by time and give validation='last 20 %'; otherwise shuffle the table"
    return Finding("order of rows", "note", found, do)


QUESTIONS: tuple[Callable[[Trials], Finding | None], ...] = (
    repeatable,
    minimises,
    speed,
    gain,
    bounds,
    parameters,
    linearity,
    order,
)


def _differ(a: Array, b: Array) -> Array:
    differ: Array = np.abs(a - b) > REPEAT_TOLERANCE * np.maximum(1.0, np.abs(a))
    return differ


def _product(sense: str) -> str:
    return "y @ z" if sense == "min" else "-y @ z"


def _share(explained: float) -> str:
    """A share of a variance; predictions that are worse than the mean explain none of it."""
    return f"{explained:.0%}" if explained >= 0.005 else "none"


def _message(z: object) -> str | None:
    return z.message if isinstance(z, Failure) else None


def _columns(moved: list[Moved]) -> str:
    numbers = [str(column) for one in moved for column in one.parameters.tolist()]
    return ", ".join(numbers[:LISTED_COLUMNS]) + (
        f" and {len(numbers) - LISTED_COLUMNS} more" if len(numbers) > LISTED_COLUMNS else ""
    )
