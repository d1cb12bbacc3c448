"""What the oracle asks of the ledger, and what the ledger answers."""

from __future__ import annotations

from typing import Any, NamedTuple

from fewsolves.oracle.answers import Failure
from fewsolves.oracle.ledger_rows import pack, pack_decision, short
from fewsolves.problem import Array


class Request(NamedTuple):
    """One call that the oracle is about to make."""

    kind: str
    phase: str
    row: int
    k: int  # which request for this row in this phase
    key: bytes
    y_hat: Array | None  # of a solve
    decision: Array | None  # of a cost call
    solve: int | None = None
    drawn: tuple[Array, Array] | None = None  # centre and sigma

    @property
    def position(self) -> tuple[str, str, int, int]:
        return self.kind, self.phase, self.row, self.k


class Found(NamedTuple):
    """An answer from the ledger."""

    value: Any
    seconds: float
    seq: int
    own: bool  # paid by this run
    attempts: int = 1


def columns_of(request: Request, value: Any) -> dict[str, Any]:
    """The columns of a row that tell what was asked and what came of it."""
    columns: dict[str, Any] = {"solve": request.solve}
    if request.y_hat is not None:
        columns["y_hat"] = pack(request.y_hat)
    if request.drawn is not None:
        columns["centre"], columns["sigma"] = map(pack, request.drawn)
    if isinstance(value, Failure):
        return columns | {"status": value.status, "message": short(value.message)}
    if request.kind == "solve":
        return columns | pack_decision(value)
    decision_key = pack_decision(request.decision)["decision_key"] if request.decision is not None else None
    return columns | {"value": float(value) + 0.0, "decision_key": decision_key}  # + 0.0: SQLite has no -0.0
