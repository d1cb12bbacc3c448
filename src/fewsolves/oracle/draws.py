"""Draws of a noisy cost: how often a label is costed, and the seeds that a cost may take.

A label g(y_i, z*(y_i)) of a noisy cost is the mean of several draws, since its error would stay in every regret of its
row. They are distinguished by their numbers, so each is paid for once; validation also uses draw 0 if the cost takes
a seed, so that two predictors are compared under the same noise. Every other call is a draw of its own.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from fewsolves.oracle.budget import Budget
from fewsolves.problem import Array, Problem

LABEL_DRAWS = 8  # an eighth of the variance of one, and fewer calls than training makes for a row
LABEL_BUDGET_DIVISOR = 4  # labels take this fraction of a budget of cost calls


def label_draws(problem: Problem, n_rows: int, budget: Budget) -> int:
    """Cost calls for the label of each row: 8, and with Budget(cost_calls=) a quarter of it for all rows together."""
    if not problem.noisy_cost:
        return 1
    if budget.cost_calls is None:
        return LABEL_DRAWS
    return max(1, min(LABEL_DRAWS, budget.cost_calls // (LABEL_BUDGET_DIVISOR * max(1, n_rows))))


def seeds_of_draws(rows: Array, draws: Array) -> Array:
    """Seeds of numbered draws, the same in every run."""
    return _seeds("draw", np.stack([rows, draws], axis=1))


def seeds_of_calls(first: int, number: int) -> Array:
    """Seeds of calls that are draws of their own, by their numbers in the run."""
    return _seeds("call", np.arange(first, first + number)[:, None])


def _seeds(what: str, numbers: Array) -> Array:
    """One for each row of `numbers`, below 2^32: every random generator takes them."""
    person, content = what.encode(), np.ascontiguousarray(numbers, dtype="<i8")
    return np.array(
        [int.from_bytes(blake2b(row.tobytes(), digest_size=4, person=person).digest(), "little") for row in content]
    )
