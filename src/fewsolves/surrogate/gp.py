"""One exact Gaussian process per training example, all of them at once.

    M, d          examples, inputs (parameters that are predicted)          i    example
    X_i, y_i      (n_i, d), (n_i,)    points and targets of example i: predictions tried so far, and their regret
    l_i, s2_i     length-scale and output scale (a variance) of example i
    noise_i       variance of the noise; at least `noise_floor` times s2_i

    y_i = f_i(X_i) + noise,    f_i ~ GP(0, s2_i exp(-|x - x'|^2 / 2 l_i^2))

Hyperparameters maximise log p(y_i | X_i, l_i, s2_i, noise_i) + log p(l_i) with the paper's LogNormal(log(d) / 2, 1)
as the prior of the length-scale. Everything is float64; inputs are expected to be normalised by the caller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from fewsolves.errors import InputError
from fewsolves.surrogate.gp_blocks import Array, empty_blocks, with_room
from fewsolves.surrogate.gp_fit_kernels import factorise, fit
from fewsolves.surrogate.gp_point_kernels import Sharing, append, solve_weights
from fewsolves.surrogate.gp_posterior import Posterior

LARGEST = 1e150  # its square is still a float64


@dataclass(frozen=True, kw_only=True)
class GPConfig:
    """Settings of the Gaussian processes."""

    pooled: bool = False  # one length-scale, output scale and noise for all, by the sum of the marginal likelihoods
    lengthscale_prior: tuple[float, float] | None = None  # mean and std of log l; None: (log(d) / 2, 1), the paper's
    noise_floor: float = 1e-4  # smallest noise variance, relative to the output scale


class GPs:
    """M Gaussian processes on d inputs, each with its own points and hyperparameters."""

    def __init__(self, n_examples: int, n_inputs: int, config: GPConfig = GPConfig()) -> None:
        self.config = config
        self.n_examples, self.n_inputs = n_examples, n_inputs
        self._mu, self._sigma = config.lengthscale_prior or (math.log(n_inputs) / 2, 1.0)
        self._blocks = empty_blocks(n_examples, n_inputs)
        self._hyper = np.tile([math.exp(self._mu), config.noise_floor, 1.0], (n_examples, 1))  # l, noise / s2, s2
        self._scanned_at = np.zeros(n_examples, dtype=np.int64)
        self._dirty = np.zeros(n_examples, dtype=bool)
        self.failed = np.zeros(n_examples, dtype=bool)
        self._sharing = Sharing(np.zeros((n_examples, 0)), 0.0)

    @property
    def n_points(self) -> Array:
        return self._blocks.count.copy()

    @property
    def lengthscale(self) -> Array:
        return self._hyper[:, 0].copy()

    @property
    def outputscale(self) -> Array:
        return self._hyper[:, 2].copy()

    @property
    def noise(self) -> Array:
        return np.asarray(self._hyper[:, 1] * self._hyper[:, 2])

    def points_of(self, example: int) -> Array:
        first = self._blocks.row[example]
        return self._blocks.points[first : first + self._blocks.count[example], : self.n_inputs].copy()

    def targets_of(self, example: int) -> Array:
        first = self._blocks.row[example]
        return self._blocks.targets[first : first + self._blocks.count[example]].copy()

    def add(self, index: ArrayLike, points: ArrayLike, targets: ArrayLike) -> None:
        """Append points[b], with its target, to example index[b]; hyperparameters stay as they are."""
        rows = self._checked_index(index)
        x, y = _checked("points", points), _checked("targets", targets)
        if x.shape != (rows.size, self.n_inputs) or y.shape != rows.shape:
            raise InputError(f"expected points ({rows.size}, {self.n_inputs}) and as many targets, got {x.shape}, {y.shape}")
        distinct, n_new = np.unique(rows, return_counts=True)
        self._blocks = with_room(self._blocks, distinct, n_new)
        append(self._blocks, rows, x, y, rows, self._hyper, self.failed, self._sharing)
        self._dirty[distinct] = True

    def set_targets(self, index: ArrayLike, targets: Sequence[ArrayLike] | Array) -> None:
        """New targets for all points of some examples: one array each, or all of them in one flat array."""
        rows = self._checked_index(index)
        sizes = self._blocks.count[rows]
        flat = targets if isinstance(targets, np.ndarray) else np.concatenate([np.asarray(t, float) for t in targets])
        y = _checked("targets", flat)
        if y.shape != (sizes.sum(),):
            raise InputError(f"expected {sizes.sum()} targets for these examples, got shape {y.shape}")
        ends = np.cumsum(sizes)
        self._blocks.targets[np.arange(y.size) + np.repeat(self._blocks.row[rows] - ends + sizes, sizes)] = y
        solve_weights(self._blocks, rows)
        self._dirty[rows] = True

    def fit(self, index: ArrayLike | None = None) -> None:
        """MAP hyperparameters of the examples `index` (default: those whose data changed since their last fit)."""
        rows = np.flatnonzero(self._dirty) if index is None else np.unique(self._checked_index(index))
        rows = rows[self._blocks.count[rows] > 0]
        if rows.size == 0:
            return
        order = rows[np.argsort(self._blocks.count[rows], kind="stable")]
        count = self._blocks.count[order]
        cold = count >= 1.5 * self._scanned_at[order]
        for some, starts in ((order[cold], self._far_starts(order[cold])), (order[~cold], self._near_starts(order[~cold]))):
            if some.size:
                fit(self._blocks, some, starts, self._mu, self._sigma, self.config.noise_floor, self._hyper, self._sharing)
        self._scanned_at[order[cold]] = count[cold]
        factorise(self._blocks, order, self._hyper, self.failed, self._sharing)
        self._dirty[order] = False

    def _far_starts(self, order: Array) -> Array:
        return np.tile(self._mu + np.array([-2.2, -1.1, 0.0, 1.1]), (order.size, 1))

    def _near_starts(self, order: Array) -> Array:
        return np.log(self._hyper[order, 0])[:, None] + np.array([0.0, -0.3, 0.3])

    def posterior(self, y_hat: Tensor, index: ArrayLike | Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation (noise not included) of f_i at y_hat[b], i = index[b]; differentiable in y_hat.

        Without points: (0, sqrt(s2)). Where the factorisation failed: (0, inf), so that no gate trusts it.
        """
        rows = self._checked_index(index)
        if y_hat.shape != (rows.size, self.n_inputs):
            raise InputError(f"expected y_hat ({rows.size}, {self.n_inputs}), got {tuple(y_hat.shape)}")
        if not bool((y_hat.detach().abs() < LARGEST).all()):
            raise InputError("y_hat must be finite; a predictor that diverged needs a smaller learning rate")
        mean, std = Posterior.apply(y_hat, rows, self._blocks, self._hyper, self.failed, self._sharing)  # type: ignore[no-untyped-call]
        return mean, std

    def _checked_index(self, index: ArrayLike | Tensor) -> Array:
        rows = np.asarray(index, dtype=np.int64)
        if rows.ndim != 1 or (rows.size and not 0 <= rows.min() <= rows.max() < self.n_examples):
            raise InputError(f"index must be a vector of examples 0..{self.n_examples - 1}, got {index!r}")
        return rows


def _checked(name: str, values: Any) -> Array:
    array = np.ascontiguousarray(values, dtype=np.float64)
    if not (np.abs(array) < LARGEST).all():
        raise InputError(f"{name} must be finite numbers below {LARGEST:g}")
    return array
