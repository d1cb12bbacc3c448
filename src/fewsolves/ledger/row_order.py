"""Whether a table has the rows of a ledger at other places: a ledger knows a row by its number alone.

    recorded    key of the solve at the true y of each row of the ledger (`ledger.keys`)
    Y (n, n_y)  true parameters of the table that is given

A few recorded rows, spread over those that differ, are looked for among the rows of Y. A row that is found shows that
rows have moved, if no other row has the same y; of a table with many equal rows, all must be found.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fewsolves.ledger.keys import solve_keys
from fewsolves.problem import Array

LOOKED_FOR = 20  # recorded rows
MOVED = 0.5  # of them, found elsewhere and only there, from which on a table is in another order


def moved_row(recorded: Mapping[int, bytes], Y: Array, *, own: bool) -> tuple[int, int] | None:
    """A row of the ledger with its new place, where the table is in another order; else None.

    Args:
        recorded: The keys of the ledger, by row.
        Y: (n, n_y) The table that is given.
        own: Whether keys contain the row, because rows differ in their known data.
    """
    keys = solve_keys(np.arange(len(Y)), Y, own=own)
    differ = np.array([row for row, key in enumerate(keys) if recorded.get(row) != key], dtype=int)
    known = [row for row in differ.tolist() if row in recorded]
    sample = [known[k] for k in np.unique(np.linspace(0, len(known) - 1, min(LOOKED_FOR, len(known)), dtype=int))]
    places: dict[int, int] = {}
    for row in sample:
        there = solve_keys(np.full(len(differ), row), Y[differ], own=own)
        same = {place for place, key in zip(differ.tolist(), there, strict=True) if key == recorded[row]}
        if free := same.difference(places.values()):
            places[row] = min(free)  # `differ` is in order
    _, of_row, number = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    alone = [row for row, place in places.items() if number[of_row.ravel()[place]] == 1]
    if len(alone) > MOVED * len(sample):
        return alone[0], places[alone[0]]
    return next(iter(places.items())) if 1 < len(places) == len(sample) else None
