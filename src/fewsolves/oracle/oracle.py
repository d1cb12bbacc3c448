"""The only door to the user's functions: evaluates regret, counts, remembers.

    r_i(y_hat) = g(y_i, z*(y_hat)) - g(y_i, z*(y_i))

index  (B,)      positions in this oracle's rows       y_hat (B, n_y)  predictions for them
Rows keep their number in the user's table (`rows`), so that errors name them and parts share what was paid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fewsolves.errors import InputError, SolverError
from fewsolves.oracle.answers import Failure
from fewsolves.oracle.calls import Calls, Kind, Phase
from fewsolves.oracle.memory import Memory, cost_key, solve_key
from fewsolves.oracle.solving import SolveConfig
from fewsolves.problem import Array, Problem

Keep = Callable[[int, Any], None]


class Evaluation(NamedTuple):
    """Regret (B,) and true cost (B,) of B predictions, and the decisions they led to."""

    regret: Array
    cost: Array
    decisions: list[Array]


class Oracle:
    """Regret of predictions for the rows of a table of true parameters Y (n, n_y)."""

    def __init__(self, problem: Problem, Y: Array, *, solving: SolveConfig | None = None) -> None:
        if problem.instances is not None and len(problem.instances) != len(Y):
            raise InputError(f"instances has {len(problem.instances)} entries, Y has {len(Y)} rows; give one per row")
        self.problem = problem
        self.Y = np.ascontiguousarray(Y, dtype=float)
        self.rows = np.arange(len(Y))
        self.calls = Calls()
        self.memory = Memory()
        self.solving = solving or SolveConfig()
        self.execution = self.solving.start(problem)

    def part(self, index: Array) -> Oracle:
        """The same oracle over some of its rows; calls and memory are shared."""
        part = object.__new__(Oracle)
        part.__dict__.update(self.__dict__, Y=self.Y[index], rows=self.rows[index])
        return part

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_y(self) -> int:
        return int(self.Y.shape[1])

    def evaluate(self, index: Array, y_hat: Array, *, phase: Phase) -> Evaluation:
        """Solve at y_hat, pay the true cost, compare with the best that could have been done."""
        optimum = self.optimum(index, phase="test" if phase == "test" else "labels")
        self.calls.evaluations[phase] += len(index)
        decisions = self.solve(index, y_hat, phase=phase)
        cost = self.cost(index, decisions, phase=phase)
        return Evaluation(cost - optimum, cost, decisions)

    def regret(self, index: Array, y_hat: Array, *, phase: Phase) -> Array:
        """r_i(y_hat), (B,)."""
        return self.evaluate(index, y_hat, phase=phase).regret

    def labels(self, index: Array, *, phase: Phase = "labels") -> list[Array]:
        """z*(y_i), solved once."""
        return self.solve(index, self.Y[index], phase=phase)

    def optimum(self, index: Array, *, phase: Phase = "labels") -> Array:
        """g(y_i, z*(y_i)), paid once."""
        return self.cost(index, self.labels(index, phase=phase), phase=phase)

    def solve(self, index: Array, y_hat: Array, *, phase: Phase) -> list[Array]:
        """z*(y_hat); a point that was solved before is not paid again."""
        rows = self.rows[index]
        y_hat = np.asarray(y_hat, dtype=float)
        bad = ~np.isfinite(y_hat).all(axis=1)
        if bad.any():
            raise InputError(f"the prediction for row {rows[bad][0]} is not finite; lower the learning rate")
        if not self.problem.deterministic and phase != "labels":
            return self.pay("solve", phase, rows, y_hat)
        own = self.problem.instances is not None
        keys = [solve_key(point, int(row) if own else None) for point, row in zip(y_hat, rows, strict=True)]
        known = self.memory.decisions
        new = _first_of_each(keys, known)
        if new:
            self.pay("solve", phase, rows[new], y_hat[new], keep=lambda k, z: known.update({keys[new[k]]: z}))
        return [known[key] for key in keys]

    def cost(self, index: Array, decisions: Sequence[Array], *, phase: Phase) -> Array:
        """g(y_i, z), (B,); the same decision for the same row is not paid again."""
        rows = self.rows[index]
        keys = [cost_key(z, int(row)) for z, row in zip(decisions, rows, strict=True)]
        known = self.memory.costs
        new = _first_of_each(keys, known)
        if new:
            columns = self.Y[index][new], [decisions[k] for k in new]
            self.pay("cost", phase, rows[new], *columns, keep=lambda k, g: known.update({keys[new[k]]: g}))
        return np.array([known[key] for key in keys])

    def pay(self, kind: Kind, phase: Phase, rows: Array, *columns: Any, keep: Keep | None = None) -> list[Any]:
        """Call the user's function for these rows; `keep` gets the position and value of each answer as it lands."""
        values: list[Any] = [None] * len(rows)
        for answers in getattr(self.execution, kind)(rows, *columns):
            self.calls.add(kind, phase, len(answers.at), sum(answers.seconds))
            for k, value in zip(answers.at, answers.values, strict=True):
                if isinstance(value, Failure):
                    raise SolverError(value.message, row=int(rows[k])) from value.cause
                values[k] = value
                if keep is not None:
                    keep(k, value)
        return values

    def close(self) -> None:
        """Ends the worker processes, if any."""
        self.execution.close()


def _first_of_each(keys: Sequence[bytes], known: Mapping[bytes, object]) -> list[int]:
    """Positions at which a key occurs for the first time and has no answer yet."""
    first: dict[bytes, int] = {}
    for k, key in enumerate(keys):
        if key not in known:
            first.setdefault(key, k)
    return list(first.values())
