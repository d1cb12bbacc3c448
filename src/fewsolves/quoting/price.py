"""The least price of a method: labels, its first points, and the readings that choose the result.

n_train, n_valid   rows to train and to validate on        p_i   evaluations of each example before training

    phase          solves                                            cost calls
    probe          1                                                 1
    labels         different y among the rows that are looked at     one per row, several where the cost is noisy
    pre-training   n_train p_i, or p_i where all share the points    n_train p_i
    validation     n_valid for each start and for the final reading  the same
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fewsolves.data import Split
from fewsolves.errors import InputError
from fewsolves.methods.base import Trainer
from fewsolves.methods.registry import METHODS
from fewsolves.oracle import KINDS, Budget, Kind, Phase
from fewsolves.oracle.draws import label_draws
from fewsolves.problem import Array, Problem

READ = 2  # starts whose regret is read on the validation rows; more are narrowed down by prediction loss
EVIDENCE_ROWS = 6  # the fewest that a method needs that judges its result by itself


class Workload(NamedTuple):
    """The properties of a fit that its price depends on."""

    problem: Problem
    Y: Array
    split: Split
    starts: int = 1  # predictors that are started and compared
    budget: Budget = Budget()  # which may allow few draws of a noisy cost
    known_rows: int = 0  # the first rows of the table, which a former run has paid for

    def of(self, method: Trainer) -> Workload:
        """The same with the rows alone that this method labels."""
        return self if self.known_rows else self._replace(split=method.rows_to_label(self.split, self.budget.solves))


Price = dict[Kind, dict[Phase, int]]


def least_price(method: Trainer, work: Workload, n_y: int | None = None) -> Price:
    """Calls by phase without which this method cannot give a result; what it pays online comes on top.

    `n_y` asks for the same work with another number of parameters.
    """
    work = work.of(method)
    problem, Y, split = work.problem, work.Y, work.split
    n_valid, demand = len(split.valid), method.demand(n_y or Y.shape[1])
    probed = np.union1d(split.train[[0, -1]], split.valid)
    looked_at = np.union1d(probed, split.train) if demand.training_rows else probed
    probed, looked_at = (rows[rows >= work.known_rows] for rows in (probed, looked_at))
    n_new = int((split.train >= work.known_rows).sum())
    different = len(looked_at) if problem.instances is not None else len(np.unique(Y[looked_at], axis=0))
    shared = demand.common_points and problem.instances is None
    again = {  # training reads its start itself
        "solve": method.looks_at_regret and problem.noisy_solve,
        "cost": method.looks_at_regret and (problem.noisy_solve or (problem.noisy_cost and not problem.takes_seed)),
    }
    read_again = n_valid if again["cost"] else int((split.valid >= work.known_rows).sum())
    last = demand.training_rows
    readings = {kind: read_again * work.starts + n_valid * (twice + last) for kind, twice in again.items()}
    if method.cross_fits:  # it needs some rows of evidence, of its start and of its result
        readings = dict.fromkeys(readings, 2 * EVIDENCE_ROWS)
    probe = int(problem.deterministic)
    labels_with_cost = looked_at if demand.cost_calls else probed
    return {
        "solve": {
            "probe": probe,
            "labels": different,
            "pre-training": demand.points * (1 if shared else n_new),
            "validation": readings["solve"],
        },
        "cost": {
            "probe": probe,
            "labels": len(labels_with_cost) * label_draws(problem, len(Y), work.budget),
            "pre-training": demand.points * n_new,
            "validation": readings["cost"],
        },
    }


def check_budget(budget: Any) -> Budget | None:
    """The budget, checked."""
    if budget is None or isinstance(budget, Budget):
        return budget
    say = f"write Budget(solves={budget})" if isinstance(budget, int) else "such as Budget(solves=1000)"
    raise InputError(f"budget must be a Budget or None, got {budget!r:.80}; {say}")


def refuse_unaffordable(method: Trainer, work: Workload, budget: Budget, whole: Split) -> None:
    """Raise, with what it would cost and what fits instead, where the budget does not cover the least price.

    Args:
        method: What is priced.
        work: The fit, with the rows that the method labels.
        budget: What may be paid.
        whole: All rows of the table, which other methods would label.
    """
    if all(budget.limit(kind) is None for kind in KINDS):  # finding different rows takes a sort of the table
        return
    price = least_price(method, work)
    for kind in KINDS:
        limit, least = budget.limit(kind), sum(price[kind].values())
        if limit is None or least <= limit:
            continue
        parts = " + ".join(f"{number:,} {phase}" for phase, number in price[kind].items() if number)
        what = "solves" if kind == "solve" else "cost_calls"
        raise InputError(
            f"Budget({what}={limit:,}) does not cover what method {method.name!r} needs before and after training: "
            f"{least:,} {what.replace('_', ' ')} = {parts}; {_advice(work._replace(split=whole), budget, what, least)}"
        )


def affordable(work: Workload, budget: Budget) -> list[str]:
    """Methods that fit the problem and whose least price fits the budget, by their default settings."""
    fitting = []
    for method in METHODS.values():
        if method.refuse(work.problem) is None:
            price = least_price(method.with_settings({}), work)
            if all(sum(price[kind].values()) <= (budget.limit(kind) or math.inf) for kind in KINDS):
                fitting.append(method.name)
    return fitting


def _advice(work: Workload, budget: Budget, what: str, least: int) -> str:
    fitting = affordable(work, budget)
    instead = f"or take one of {', '.join(fitting)}" if fitting else "or give fewer rows: no method fits"
    return f"raise it to {what}={least} at least, {instead}"


def held_back(method: Trainer, work: Workload, room: int) -> int:
    """Evaluations that training leaves to validation, of the `room` that there is when it begins.

    One reading for the end; several where training goes on without solves, of at most a third of the rest.
    """
    n_valid = len(work.split.valid)
    spare = room - method.demand(work.Y.shape[1]).points * len(work.split.train)
    return n_valid * max(1, min(method.readings_held_back, spare // (3 * n_valid)))
