"""Importance samples: every evaluation that the surrogate learns from, with the distribution it was drawn from.

    N, M, d         rows, examples, inputs          i    example          all rows in order of arrival
    example         (N,)      the example that the row was evaluated for
    point, regret   (N, d), (N,)    the prediction tried, and its regret
    kind            (N,)      how the point came about: NORMAL, BOX or GIVEN
    centre, sigma   (N, d)    NORMAL: mean and standard deviation at the time of drawing; else the point itself, and 0
    box             (2, d)    low and high of the one box of all BOX rows; NaN before the first of them

A GIVEN point was not drawn at random here: the truth, whose regret is 0, or what another run paid for. No density
belongs to it, and the density q of the others says nothing about how often it would be met (1/q there may be huge), so
it is an exact target at its own place and takes no part in importance sampling. Coordinates are standardised by the
caller.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.gp.lanes import compiled

Array = NDArray[Any]
NORMAL, BOX, GIVEN = 0, 1, 2
GROWTH = 1.5
ROUNDING = 1e-9  # how far a point may lie outside its box, in widths


class Growing:
    """An array (N, *width) to which rows are added at a price that does not grow with it."""

    def __init__(self, dtype: Any = float, *width: int) -> None:
        self._kept: Array = np.zeros((0, *width), dtype=dtype)
        self.values = self._kept
        """The added rows: a view, renewed by each `add`."""

    def add(self, values: Array) -> None:
        first, end = len(self.values), len(self.values) + len(values)
        self._kept = _with_room(self._kept, end)
        self._kept[first:end] = values
        self.values = self._kept[:end]


class Samples:
    """Growing arrays for `n_examples` examples on `n_inputs` inputs; the columns are views, renewed by each add."""

    example: Array
    kind: Array
    point: Array
    regret: Array
    centre: Array
    sigma: Array

    def __init__(self, n_examples: int, n_inputs: int) -> None:
        self.n_examples, self.n_inputs = n_examples, n_inputs
        self.box: Array = np.full((2, n_inputs), np.nan)
        self._columns: dict[str, Array] = {name: np.zeros(0, dtype=np.int64) for name in ("example", "kind")}
        self._columns |= {name: np.zeros((0, n_inputs)) for name in ("point", "centre", "sigma")}
        self._columns |= {"regret": np.zeros(0), "before": np.zeros(0, dtype=np.int64)}
        vars(self).update({name: values for name, values in self._columns.items() if name != "before"})
        self._last = np.full(n_examples, -1)  # the newest row of each example; "before" leads on to the older ones
        self._n_of = np.zeros(n_examples, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.example)

    @property
    def n_of(self) -> Array:
        """Number of rows of each example (M,)."""
        return self._n_of.copy()

    def add(self, example: ArrayLike, point: ArrayLike, regret: ArrayLike, centre: ArrayLike, sigma: ArrayLike) -> None:
        """Append points (B, d) drawn from N(centre, sigma^2); centre and sigma are (B, d) or broadcast to it."""
        deviation = _finite("sigma", sigma)
        if not (deviation > 0.0).all():
            raise InputError("sigma must be positive; a point that was not drawn at random goes to `add_given`")
        self._append(NORMAL, example, point, regret, _finite("centre", centre), deviation)

    def add_box(self, example: ArrayLike, point: ArrayLike, regret: ArrayLike, low: ArrayLike, high: ArrayLike) -> None:
        """Append points (B, d) drawn uniformly from [low, high], floats or (d,), the same in every call."""
        box = np.stack([_spread("low and high", _finite("the box", edge), (self.n_inputs,)) for edge in (low, high)])
        if not (box[0] < box[1]).all():
            raise InputError("the box needs low < high in every input")
        if not (np.isnan(self.box).all() or np.array_equal(self.box, box)):
            raise InputError("the box differs from that of the earlier samples; there is one for all")
        x, slack = _finite("point", point), ROUNDING * (box[1] - box[0])
        if x.shape[1:] == box.shape[1:] and not ((x >= box[0] - slack) & (x <= box[1] + slack)).all():
            raise InputError("some points lie outside the box that they were drawn from")
        self._append(BOX, example, x, regret)
        self.box = box

    def add_given(self, example: ArrayLike, point: ArrayLike, regret: ArrayLike) -> None:
        """Append points (B, d) that were not drawn at random, such as the truth with regret 0."""
        self._append(GIVEN, example, point, regret)

    def of(self, i: int) -> Array:
        """The rows of example i in order of arrival."""
        return self.rows_of([i])

    def rows_of(self, examples: ArrayLike) -> Array:
        """The rows of some examples, one example after the other."""
        index = self._checked_examples(examples)
        ends = np.cumsum(self._n_of[index])
        rows = np.empty(ends[-1] if ends.size else 0, dtype=np.int64)
        _follow(self._last, self._columns["before"], index, ends, rows)
        return rows

    def examples_since(self, n: int) -> Array:
        """The examples, ascending, with rows after the first n."""
        return np.unique(self.example[n:])

    def state(self) -> dict[str, Array]:
        """Everything as plain arrays."""
        names = ("example", "kind", "point", "regret", "centre", "sigma", "box", "n_of")
        return {name: getattr(self, name).copy() for name in names}

    @classmethod
    def from_state(cls, state: dict[str, Array]) -> Samples:
        samples = cls(len(state["n_of"]), state["box"].shape[1])
        samples._append(*(state[name] for name in ("kind", "example", "point", "regret", "centre", "sigma")))
        samples.box = np.array(state["box"], dtype=np.float64)
        return samples

    def _append(
        self, kind: Any, example: ArrayLike, point: ArrayLike, regret: ArrayLike, centre: Any = None, sigma: Any = 0.0
    ) -> None:
        index, x, r = self._checked_examples(example), _finite("point", point), _finite("regret", regret)
        if x.shape != (index.size, self.n_inputs) or r.shape != index.shape:
            expected = f"point ({index.size}, {self.n_inputs}) and regret ({index.size},)"
            raise InputError(f"expected {expected}, got {x.shape} and {r.shape}")
        new = {"example": index, "kind": kind, "point": x, "regret": r, "before": -1}
        new["centre"] = _spread("centre", x if centre is None else centre, x.shape)
        new["sigma"] = _spread("sigma", sigma, x.shape)
        first, end = len(self), len(self) + index.size
        for name, values in new.items():
            self._columns[name] = column = _with_room(self._columns[name], end)
            column[first:end] = values
            if name != "before":
                setattr(self, name, column[:end])
        _chain(self._last, self._columns["before"], self._n_of, index, first)

    def _checked_examples(self, examples: ArrayLike) -> Array:
        index = np.array(examples, dtype=np.int64)  # a copy: of one layout, for compiled functions
        if index.ndim != 1 or (index.size and not 0 <= index.min() <= index.max() < self.n_examples):
            raise InputError(f"expected a vector of examples 0..{self.n_examples - 1}, got {examples!r}")
        return index


@compiled
def _chain(last: Array, before: Array, n_of: Array, index: Array, first: int) -> None:
    for b in range(index.size):
        i = index[b]
        before[first + b], last[i] = last[i], first + b
        n_of[i] += 1


@compiled
def _follow(last: Array, before: Array, index: Array, ends: Array, rows: Array) -> None:
    for b in range(index.size):
        row, position = last[index[b]], ends[b]
        while row >= 0:
            position -= 1
            rows[position] = row
            row = before[row]


def _with_room(values: Array, n: int) -> Array:
    if n <= len(values):
        return values
    longer = np.zeros((max(n, int(GROWTH * len(values))), *values.shape[1:]), dtype=values.dtype)
    longer[: len(values)] = values
    return longer


def _finite(name: str, values: Any) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite numbers")
    return array


def _spread(name: str, values: Any, shape: tuple[int, ...]) -> Array:
    try:
        return np.broadcast_to(values, shape)
    except ValueError as error:
        raise InputError(f"{name} must have shape {shape} or broadcast to it, got {np.shape(values)}") from error
