"""Which data each Gaussian process has not taken into account yet.

    M         examples            size    (M,)    points that each example has now

Between two fits, points arrive and targets change; computation is deferred until a posterior is evaluated. This record
tracks how far hyperparameters and factors are up to date. `processes` reports each change and queries what is stale.
"""

from __future__ import annotations

import numpy as np

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.gp.blocks import Array


class Freshness:
    """One entry for each of `n_examples` examples."""

    def __init__(self, n_examples: int) -> None:
        self.dirty = np.zeros(n_examples, dtype=bool)
        """Data changed since the last fit."""
        self.failed = np.zeros(n_examples, dtype=bool)
        """The covariance could not be factorised."""
        self.factored = np.zeros(n_examples, dtype=np.int64)
        """Number of points that the factor knows."""
        self.scanned = np.zeros(n_examples, dtype=np.int64)
        """Number of points at the last search that did not begin at the last optimum."""
        self._changed: list[Array] = []  # a scan of all examples would be expensive where few get points in each step

    def points_added(self, examples: Array) -> None:
        self._changed.append(examples)
        self.dirty[examples] = True

    def points_removed(self, examples: Array) -> None:
        """Their factors begin again with the first point."""
        self.factored[examples] = 0
        self.points_added(examples)

    def targets_changed(self, examples: Array) -> None:
        self.dirty[examples] = True

    def behind(self, size: Array) -> Array:
        """Examples, ascending, whose factors do not know all points; the caller lets them know."""
        if not self._changed:
            return np.zeros(0, dtype=np.int64)
        changed = np.unique(np.concatenate(self._changed))
        self._changed = []
        return np.asarray(changed[self.factored[changed] < size[changed]])

    def fitted(self, examples: Array, size: Array, searched_afresh: Array) -> None:
        """Hyperparameters and factors of `examples` are up to date; searched_afresh (M,): by a search of that kind."""
        self.scanned = np.where(searched_afresh, size, self.scanned)
        self.factored[examples] = size[examples]
        self.dirty[examples] = False

    def state(self) -> dict[str, Array]:
        """Plain arrays; factors are taken to know all points."""
        return {name: getattr(self, name).copy() for name in ("scanned", "dirty", "failed")}

    @classmethod
    def from_state(cls, state: dict[str, Array], size: Array) -> Freshness:
        one = cls(size.size)
        one.factored = size.copy()
        for name, new in one.state().items():
            if state[name].shape != new.shape:
                raise InputError(f"the state does not fit together: {name} needs shape {new.shape}")
            getattr(one, name)[:] = state[name]
        return one
