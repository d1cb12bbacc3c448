"""What a predictor sees of a table: an array with one row per row of the table, and the names of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

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

    @property
    def n_x(self) -> int:
        """The number of columns."""
        return int(self.array.shape[-1])

    @cached_property
    def tensor(self) -> Tensor:
        """All rows as a tensor that shares the memory of `array`."""
        return torch.as_tensor(self.array)

    def take(self, rows: Array) -> Array:
        """The inputs of some rows, as an array.

        Args:
            rows: (B,) Numbers of rows of the table.
        """
        taken: Array = self.array[rows]
        return taken

    def scale(self, rows: Array) -> Scale:
        """Mean and standard deviation of each column over some rows.

        Args:
            rows: (B,) Numbers of rows of the table.
        """
        return Scale.of(self.array[rows])
