"""Before a call is paid for: its request is named, and the ledger is asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fewsolves.execution.base import Kind, Phase
from fewsolves.ledger.keys import cost_keys, solve_keys
from fewsolves.ledger.ledger import Ledger
from fewsolves.ledger.rows import Found, Request
from fewsolves.problem import Array, Problem


def look_up(
    ledger: Ledger,
    problem: Problem,
    kind: Kind,
    phase: Phase,
    rows: Array,
    columns: Sequence[Any],
    drawn: tuple[Array, Array] | None,
    solved_at: Array | None,
) -> tuple[list[Request], dict[int, Found]]:
    """The requests by their positions in the run, and by their number those that the ledger answers.

    `columns` are those of the user's function; `drawn` and `solved_at` are those of `Oracle.pay`.
    """
    own, what, solves = problem.instances is not None, columns[-1], None
    if kind == "solve":
        keys = solve_keys(rows, what, own=own)
    else:
        keys = cost_keys(rows, what)
        if solved_at is not None:
            solves = [ledger.seq_of(key) for key in solve_keys(rows, solved_at, own=own)]
    requests = ledger.requests(kind, phase, rows, keys, columns, solves, drawn)
    # a probe asks the solver itself; a solver that is not deterministic answers anew each time
    content = phase != "probe" and (problem.deterministic or phase == "labels" or kind == "cost")
    found = {k: ledger.find(request, content=content) for k, request in enumerate(requests)}
    return requests, {k: one for k, one in found.items() if one is not None}
