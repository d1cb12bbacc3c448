"""What a study is: its cells, what was published, and what it shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fewsolves_studies.real.cell import Cell, Done


@dataclass(frozen=True)
class Published:
    """A figure that others have printed, for one setting."""

    name: str
    setting: str
    cost: float


@dataclass(frozen=True)
class Frontier:
    """A panel of the picture of cost against solves."""

    title: str
    setting: str
    predictor: str
    shown: tuple[str, ...] = ()  # published figures and references that are drawn as lines


@dataclass(frozen=True, kw_only=True)
class RealStudy:
    """One of the three."""

    name: str
    title: str
    about: str
    unit: str  # of the cost
    cells: Callable[[bool], list[Cell]]  # of the quick size, or all
    published: Sequence[Published]
    frontiers: Sequence[Frontier]
    picture: Callable[[Sequence[Done]], Any]  # a day of decisions, as a figure; None where runs are missing
    sentences: Callable[[Sequence[Done]], list[str]]  # what a planner wants to know, in sentences with figures
    slow: bool = False  # solves are on record as they are paid
    notes: Sequence[str] = field(default_factory=tuple)
