"""Progress of training: a live line in a terminal; silence in a pipe."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from fewsolves.oracle import TRAINING
from fewsolves.text import clean
from fewsolves.training.history import EpochRecord, Stop


class Progress:
    """A callback that shows the epoch, the regret and what was paid."""

    def __init__(self, label: str = "", *, quiet: bool = False) -> None:
        self.label = label
        self._live: Any = None
        if quiet or not sys.stderr.isatty():
            return
        try:
            from rich.console import Console
            from rich.live import Live
        except ImportError:
            return
        self._live = Live(console=Console(stderr=True), refresh_per_second=8, transient=True)
        self._regret = "–"

    def __enter__(self) -> Progress:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, record: EpochRecord) -> Stop | None:
        if self._live is None:
            return None
        from rich.text import Text

        if record.validation_regret is not None:
            self._regret = f"{record.validation_regret:.4g}"
        what = "warm start" if record.stage == "start" else "training"
        paid = sum(record.solves[phase] for phase in TRAINING)
        parts = [self.label, f"{what}, epoch {record.epoch}"]
        if record.stage == "train":
            parts += [f"validation regret {self._regret}", f"{paid:,} solves paid in training"]
        if record.trusted is not None:
            parts.append(f"surrogate trusted for {record.trusted:.0%}")
        parts.append(f"{record.seconds:.0f} s, {record.solver_seconds:.0f} s of it in the solver")
        self._live.update(Text(clean(" · ".join(part for part in parts if part))))  # a string would be read as markup
        return None
