"""Counters of paid calls of `solve` and `cost`, by phase, and the seconds inside them."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field

import numpy as np

from fewsolves._internal.html import html_table
from fewsolves._internal.text import duration
from fewsolves.execution.base import KINDS, PHASES, TRAINING, Kind, Phase, paid
from fewsolves.problem import Array

NAMES: dict[Kind, str] = dict(zip(KINDS, ("solves", "cost calls"), strict=True))


def _zeros() -> dict[Kind, dict[Phase, int]]:
    return {kind: dict.fromkeys(PHASES, 0) for kind in KINDS}


@dataclass(repr=False)
class Calls:
    """Running totals of one run."""

    counts: dict[Kind, dict[Phase, int]] = field(default_factory=_zeros)  #: by kind ("solve", "cost") and phase
    evaluations: dict[Phase, int] = field(default_factory=lambda: dict.fromkeys(PHASES, 0))  #: regrets requested
    seconds: float = 0.0  #: inside `solve` and `cost`, added up over the workers
    seconds_in: dict[Kind, float] = field(default_factory=lambda: dict.fromkeys(KINDS, 0.0))  #: the same, by kind
    replayed: dict[Kind, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))  #: paid before, by this same run
    shared: dict[Kind, int] = field(
        default_factory=lambda: dict.fromkeys(KINDS, 0)
    )  #: paid by others, without the test
    unanswered: dict[Kind, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    """Begun and not recorded, without the test: under way when the run was killed, given up, or repeated to check a
    ledger; or recorded, and not requested by the replay. They count against the budget; the other counts are those of
    an uninterrupted run."""
    lowest: float = math.inf  #: regret seen, without the test
    highest: float = -math.inf  #: likewise
    dearest: float = 0.0  #: largest cost by absolute value

    def __str__(self) -> str:
        """The paid calls, in one or two sentences."""
        parts = []
        for kind, what in NAMES.items():
            phases = ", ".join(f"{number:,} {phase}" for phase, number in self.by_phase(kind).items() if number)
            others = f"; {self.shared[kind]:,} of them were paid by other runs" if self.shared[kind] else ""
            parts.append(f"{sum(self.counts[kind].values()):,} {what} ({phases or 'none'}{others})")
        more = [f"{self.unanswered[kind]:,} {what}" for kind, what in NAMES.items() if self.unanswered[kind]]
        beyond = f". Beyond these: {' and '.join(more)}, to check a ledger or lost to a kill" if more else ""
        return f"{parts[0]}, {parts[1]}, {duration(self.seconds)} in your functions{beyond}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """In a notebook: calls by phase."""
        shown = [phase for phase in PHASES if any(self.counts[kind][phase] for kind in KINDS)]
        rows = [
            (name, *(f"{self.counts[kind][phase]:,}" for phase in shown), f"{sum(self.counts[kind].values()):,}")
            for kind, name in NAMES.items()
        ]
        return html_table(("", *shown, "all"), rows, above=f"Calls paid, {duration(self.seconds)} in your functions")

    def saw(self, regret: Array, cost: Array) -> None:
        """Update the range of the regrets; NaN, a skipped failure, is ignored."""
        if regret.size:
            self.lowest = min(self.lowest, float(np.fmin.reduce(regret)))
            self.highest = max(self.highest, float(np.fmax.reduce(regret)))
            self.dearest = max(self.dearest, float(np.fmax.reduce(abs(cost))))

    @property
    def flat(self) -> bool:
        """Whether all regrets so far are one number, up to rounding in the difference of two costs."""
        return self.lowest <= self.highest <= self.lowest + 4 * sys.float_info.epsilon * self.dearest

    def add(self, kind: Kind, phase: Phase, number: int, seconds: float) -> None:
        """Count `number` calls."""
        self.counts[kind][phase] += number
        self.seconds += seconds
        self.seconds_in[kind] += seconds

    def recall(self, kind: Kind, phase: Phase, seconds: float, *, own: bool, attempts: int = 1) -> None:
        """Count an answer from the ledger as if it were paid now: a resumed run counts like an uninterrupted one."""
        self.add(kind, phase, attempts, seconds if own else 0.0)
        if own:
            self.replayed[kind] += 1
        elif phase != "test":
            self.shared[kind] += 1

    def mean_seconds(self, kind: Kind) -> float:
        """Mean seconds of a call so far."""
        return self.seconds_in[kind] / max(1, sum(self.counts[kind].values()))

    def by_phase(self, kind: Kind) -> dict[str, int]:
        """The counts of one kind, as they are now."""
        return {str(phase): number for phase, number in self.counts[kind].items()}

    def training(self, kind: Kind = "solve") -> int:
        """Evaluations that training requested, without labels, validation and test: the paper's count."""
        return sum(self.counts[kind][phase] for phase in TRAINING)

    def training_evaluations(self) -> int:
        """Regrets that training requested, whether their solve was new or remembered."""
        return sum(self.evaluations[phase] for phase in TRAINING)

    def total(self, kind: Kind = "solve") -> int:
        """All paid calls, without those of the test."""
        return paid(self.counts[kind])
