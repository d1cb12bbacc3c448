"""Built-in predictors where x has items: one net for all of them, or one over all features at once.

x (B, items, k)   features of each item        y_hat (B, items)   one parameter for each item

    NAME           y_hat_j = f(x_j)               shared by all items
    NAME-by-item   y_hat_j = f(x_j) + b_j         shared, with an intercept of its own for each item
    NAME-flat      y_hat   = f(x_1, ..., x_items)   not shared; also for x of any other shape
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fewsolves._internal.dense import Dense, fitting
from fewsolves.errors import InputError
from fewsolves.predictors.net import Around, Net
from fewsolves.problem import Array

NET, INTERCEPTS = "net.", "intercepts"  # in the names of arrays
BY_ITEM, FLAT = "-by-item", "-flat"


def forms_of(name: str) -> tuple[str, ...]:
    """The names of a built-in predictor in all its forms."""
    return name, f"{name}{BY_ITEM}", f"{name}{FLAT}"


def has_items(shape: tuple[int, ...], n_y: int) -> bool:
    """Whether a row of this shape has features for each parameter.

    Args:
        shape: Of a row of X.
        n_y: Parameters that are predicted.
    """
    return len(shape) == 2 and shape[0] == n_y


class Shared(Around):
    """One net for all items, and where wanted an intercept for each of them."""

    prefix = NET

    def __init__(self, net: Dense, items: int, *, own_intercepts: bool) -> None:
        super().__init__(net)
        self.intercepts = np.zeros(items) if own_intercepts else None
        self.features, self.one_layer = net.features, net.one_layer  # of one item

    def weights(self) -> list[Array]:
        """Intercepts, where there are any, and the weights of the net."""
        return [*([] if self.intercepts is None else [self.intercepts]), *super().weights()]

    def names(self) -> list[str]:
        """The names of the arrays of `arrays`."""
        return [*([] if self.intercepts is None else [INTERCEPTS]), *super().names()]

    def arrays(self) -> dict[str, Array]:
        """Copies of all of it."""
        own = {} if self.intercepts is None else {INTERCEPTS: self.intercepts.copy()}
        return own | super().arrays()

    def load(self, arrays: Mapping[str, Array]) -> None:
        """Take what `arrays` gave."""
        super().load(arrays)
        if self.intercepts is not None:
            self.intercepts[:] = fitting(INTERCEPTS, arrays[INTERCEPTS], self.intercepts.shape)

    def forward(self, u: Array) -> tuple[Array, Any]:
        """(B, items) of standardised u (B, items, k), and what `backward` needs."""
        y, kept = self.net.forward(u.reshape(-1, u.shape[-1]))
        y = y.reshape(u.shape[:2])
        return y if self.intercepts is None else y + self.intercepts, kept

    def backward(self, slope: Array, kept: Any) -> list[Array | None]:
        """The slopes by `weights`."""
        own: list[Array | None] = [] if self.intercepts is None else [slope.sum(axis=0)]
        return [*own, *super().backward(slope.reshape(-1, 1), kept)]


class Flat(Around):
    """A net over all entries of a row."""

    prefix = NET

    def __init__(self, net: Dense) -> None:
        super().__init__(net)
        self.features, self.one_layer = net.features, net.one_layer

    def forward(self, u: Array) -> tuple[Array, Any]:
        """(B, n_y) of standardised u (B, ...), and what `backward` needs."""
        y, kept = self.net.forward(u.reshape(len(u), -1))
        return y, kept


def arranged(build: Callable[..., Any], name: str, shape: tuple[int, ...], n_y: int, seed: int | None) -> Net:
    """A net for rows of this shape; `build(n_x, n_y, seed=)` makes it for plain tables."""
    if has_items(shape, n_y) and not name.endswith(FLAT):
        return Shared(build(shape[1], 1, seed=seed), n_y, own_intercepts=name.endswith(BY_ITEM))
    if name.endswith(BY_ITEM):
        raise InputError(
            f"predictor {name!r} needs X of shape (n, items, features) with {n_y} items, one for each column of Y;"
            f" rows of X have shape {shape}"
        )
    if len(shape) == 1:
        plain: Net = build(shape[0], n_y, seed=seed)
        return plain
    return Flat(build(math.prod(shape), n_y, seed=seed))
