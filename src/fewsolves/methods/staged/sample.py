"""Rows to label where the budget cannot pay for all of them.

    n, n_valid   rows of the table, and those to validate on       B   solves of the budget       m   rows of the sample

With B < 3 n, the labels of all rows would leave too little for training and evidence. So m = B / 4 rows are drawn, for
labels, training and evidence alike: each has four solves, of which one is its label. The prediction-focused start needs
no solve, and is fitted on all rows. In time order the most recent rows are taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fewsolves.data import Split
from fewsolves.problem import Array

ENOUGH = 3  # solves for each row of the table, from which on every row is labelled
EACH = 4  # solves for each row of a sample
LEAST = 10  # rows of a sample: two for each fold
GROUPS = 3  # of each part at least, where there are as many: one that is larger than its share is not taken whole


def sample_split(split: Split, solves: int | None, groups: Array | None, rng: np.random.Generator) -> Split:
    """The rows to label; the same split where the solves suffice for all rows.

    Args:
        split: The rows to train and to validate on.
        solves: Those of the budget. None: no limit.
        groups: (n,) Labels of rows that stay together, or None.
        rng: Draws the sample.
    """
    n_train, n_valid = len(split.train), len(split.valid)
    n = n_train + n_valid
    if solves is None or solves >= ENOUGH * n:
        return split
    m = max(LEAST, solves // EACH)
    if m >= n:
        return split
    low, high = (m - m // 5,) * 2 if split.in_time else (m // 5, m // 2)  # in time order corrections learn from these
    wanted = int(np.clip(round(m * n_valid / n), low, high))
    wanted = min(max(wanted, m - n_train), n_valid)

    def some(rows: Array, number: int) -> Array:
        order = np.sort(rows)[::-1] if split.in_time else rng.permutation(rows)
        return np.sort(order[:number] if groups is None else _of_groups(order, groups[order], number))

    return Split(some(split.train, m - wanted), some(split.valid, wanted), split.test)


def describe_sample(rows: int, every: int, solves: int | None, *, recent: bool) -> dict[str, Any]:
    """How many rows were labelled, and why not all, for the summary."""
    drawn = "the most recent ones" if recent else "drawn at random"
    message = (
        f"{rows:,} of {every:,} rows, {drawn}, were labelled and trained on, since the budget of {solves:,} solves is "
        f"less than {ENOUGH} per row; the start was fitted on the other rows too."
    )
    return {"rows": rows, "of": every, "message": message}


def _of_groups(order: Array, labels: Array, number: int) -> Array:
    """At most `number` rows, in whole groups as far as these are not larger than their share."""
    _, first, group, sizes = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    share = max(number // GROUPS, -(-number // len(sizes)))
    by_group = np.split(order[np.argsort(group, kind="stable")], np.cumsum(sizes)[:-1])
    taken: list[Array] = []
    for k in np.argsort(first):
        if number == 0:
            break
        some = by_group[k][:share]
        if len(some) <= number:
            taken.append(some)
            number -= len(some)
    return np.concatenate(taken)
