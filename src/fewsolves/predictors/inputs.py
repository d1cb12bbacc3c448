"""The inputs of a predictor: an array with one row per row of the table, and the names of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fewsolves.data import Scale
from fewsolves.problem import Array


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of the predictor for all rows of the table.

    Args:
        array: (n, ...) One entry per row of the table, of any rank.
        names: Names of the columns, where they are known.
    """

    array: Array
    names: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.array)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one row."""
        return tuple(self.array.shape[1:])

    def take(self, rows: Array) -> Array:
        """The inputs of some rows, as an array.

        Args:
            rows: (B,) Numbers of rows of the table.
        """
        taken: Array = self.array[rows]
        return taken

    def scale(self, rows: Array) -> Scale:
        """Mean and standard deviation over some rows: of each column, or of each feature over rows and items.

        Args:
            rows: (B,) Numbers of rows of the table.
        """
        return Scale.of(self.array[rows])
