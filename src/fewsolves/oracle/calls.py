"""Counts what is paid: calls of `solve` and of `cost`, by phase, and the seconds inside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["solve", "cost"]
Phase = Literal["probe", "labels", "pre-training", "online", "validation", "test"]
PHASES: tuple[Phase, ...] = ("probe", "labels", "pre-training", "online", "validation", "test")
TRAINING: tuple[Phase, ...] = ("pre-training", "online")  # what the paper counts
KINDS: tuple[Kind, ...] = ("solve", "cost")


def _zeros() -> dict[Kind, dict[Phase, int]]:
    return {kind: dict.fromkeys(PHASES, 0) for kind in KINDS}


@dataclass
class Calls:
    """Running totals of one run."""

    counts: dict[Kind, dict[Phase, int]] = field(default_factory=_zeros)
    evaluations: dict[Phase, int] = field(default_factory=lambda: dict.fromkeys(PHASES, 0))  # regrets asked for
    seconds: float = 0.0

    def add(self, kind: Kind, phase: Phase, number: int, seconds: float) -> None:
        self.counts[kind][phase] += number
        self.seconds += seconds

    def by_phase(self, kind: Kind) -> dict[str, int]:
        """The counts of one kind, as they are now."""
        return {str(phase): number for phase, number in self.counts[kind].items()}

    def training(self, kind: Kind = "solve") -> int:
        """Evaluations that training asked for, without labels, validation and test: the paper's count."""
        return sum(self.counts[kind][phase] for phase in TRAINING)

    def training_evaluations(self) -> int:
        """Regrets that training asked for, whether their solve was new or remembered."""
        return sum(self.evaluations[phase] for phase in TRAINING)

    def total(self, kind: Kind = "solve") -> int:
        """Everything that was paid, but for the test."""
        return sum(number for phase, number in self.counts[kind].items() if phase != "test")
