"""What happened, epoch by epoch, as plain records."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fewsolves.oracle import PHASES
from fewsolves.text import csv_cell

Stage = Literal["start", "train"]


@dataclass(frozen=True, kw_only=True)
class EpochRecord:
    """One epoch; counts and seconds are totals since the run began."""

    stage: Stage  # "start": the prediction-focused warm start
    epoch: int
    train_loss: float
    validation_regret: float | None  # None where this epoch was not validated
    validation_error: float | None  # its standard error
    trusted: float | None  # share of examples whose surrogate was trusted
    solves: Mapping[str, int] = field(default_factory=dict)  # by phase
    cost_calls: Mapping[str, int] = field(default_factory=dict)
    seconds: float
    solver_seconds: float

    def row(self) -> dict[str, Any]:
        """Flat, for a CSV file."""
        flat = {k: v for k, v in vars(self).items() if k not in ("solves", "cost_calls", "seconds", "solver_seconds")}
        flat |= {f"solves_{phase}": self.solves.get(phase, 0) for phase in PHASES}
        flat |= {f"cost_calls_{phase}": self.cost_calls.get(phase, 0) for phase in PHASES}
        return flat | {"seconds": round(self.seconds, 4), "solver_seconds": round(self.solver_seconds, 4)}


def write_csv(records: Iterable[EpochRecord], path: Path) -> None:
    """One line per epoch."""
    rows = [record.row() for record in records]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else ["stage", "epoch"])
        writer.writeheader()
        writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in rows)
