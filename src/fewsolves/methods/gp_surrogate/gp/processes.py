"""One exact Gaussian process per training example, all of them at once.

    M, d          examples, inputs (the parameters that are predicted)      i    example
    X_i, y_i      (n_i, d), (n_i,)    points and targets of example i: predictions tried so far, and their regret
    l_i, s2_i     length-scale and output scale (a variance) of example i
    noise_i       variance of the noise, between `noise_floor` and `noise_ceiling` times s2_i

    y_i = f_i(X_i) + noise,    f_i ~ GP(0, s2_i k(|x - x'|^2 / 2 l_i^2))        k: see `covariance`

Hyperparameters maximise log p(y_i | X_i, l_i, s2_i, noise_i) + log p(l_i); the paper's prior of the length-scale is
LogNormal(log(d) / 2, 1). Everything is float64; the caller normalises the inputs.

With landscape vectors v_i an example may hold points of other examples ("owners"). The covariance of two points owned
by i and j is then divided by 1 + e^alpha |v_i - v_j|, for all pairs, which keeps it positive definite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.gp import blocks as gp_blocks
from fewsolves.methods.gp_surrogate.gp import fit as gp_fit
from fewsolves.methods.gp_surrogate.gp.blocks import MAX_ABS, Array, Blocks
from fewsolves.methods.gp_surrogate.gp.covariance import KERNELS, Covariance, Kernel
from fewsolves.methods.gp_surrogate.gp.factor import extend, log_likelihood, solve_weights
from fewsolves.methods.gp_surrogate.gp.freshness import Freshness
from fewsolves.methods.gp_surrogate.gp.lanes import warn_if_not_compiled
from fewsolves.methods.gp_surrogate.gp.posterior import evaluated
from fewsolves.methods.gp_surrogate.gp.tensors import mean_and_std, rows_of
from fewsolves.settings import setting, settings

if TYPE_CHECKING:
    from fewsolves.methods.torch_slopes import Tensor


@settings
class GPConfig:
    """Settings of the Gaussian processes."""

    kernel: Kernel = setting(
        "the covariance function; 'matern52' believes in rougher functions", default="rbf", since="0.2.0"
    )
    pooled: bool = setting(
        "one length-scale, output scale and noise for all, by the sum of the marginal likelihoods", default=False
    )
    lengthscale_prior: tuple[float, float] | None = setting(
        "mean and std of log l; None: (log(d) / 2, 1), the paper's", default=None
    )
    noise_floor: float = setting("smallest noise variance, relative to the output scale", default=1e-4, above=0)
    noise_ceiling: float = setting(
        "largest; where targets look like pure noise, the output scale shrinks to match", default=1e3, most=1e6
    )
    rescan_growth: float = setting(
        "once an example has this many times the points, its next search starts afresh", default=1.5, above=0
    )

    def __post_init__(self) -> None:
        if self.noise_floor > self.noise_ceiling:
            raise InputError(f"need noise_floor <= noise_ceiling, got {self.noise_floor}, {self.noise_ceiling}")
        if self.lengthscale_prior is not None and not self.lengthscale_prior[1] > 0.0:
            raise InputError(f"lengthscale_prior needs a positive std, got {self.lengthscale_prior}")


class Fitting(Protocol):
    """Another way to find the hyperparameters of each example than the search for their optimum."""

    @property
    def start(self) -> tuple[float, float, float]:
        """l, noise / s2 and s2 before the first fit."""
        ...

    def __call__(
        self, blocks: Blocks, order: Array, prior: tuple[float, float], hyper: Array, covariance: Covariance
    ) -> None:
        """Write new hyperparameters of some examples.

        Args:
            blocks: Points and targets of all examples.
            order: Examples to fit, sorted by their number of points.
            prior: Mean and std of log l.
            hyper: (M, 3) l, noise / s2 and s2 of all examples, changed in place.
            covariance: The covariance function.
        """


class GPs:
    """M Gaussian processes on d inputs, each with its own points and hyperparameters.

    `fitting` replaces the search for the optimum of each example's hyperparameters; it needs `pooled=False`.
    """

    def __init__(
        self,
        n_examples: int,
        n_inputs: int,
        config: GPConfig | None = None,
        *,
        landscapes: ArrayLike | None = None,
        log_alpha: float = 0.0,
        fitting: Fitting | None = None,
    ) -> None:
        if n_examples < 0 or n_inputs < 1 or abs(log_alpha) > 100:
            needed = "n_examples must be >= 0, n_inputs >= 1 and abs(log_alpha) <= 100"
            raise InputError(f"{needed}; got {n_examples}, {n_inputs} and {log_alpha}")
        warn_if_not_compiled()
        self.config = config = config or GPConfig()
        self._fitting = fitting
        self.n_examples, self.n_inputs = n_examples, n_inputs
        mean, std = config.lengthscale_prior or (math.log(n_inputs) / 2, 1.0)
        self._prior = float(mean), float(std)
        self._bounds = math.log(config.noise_floor), math.log(config.noise_ceiling)
        self._blocks = gp_blocks.empty_blocks(n_examples, n_inputs)
        first = (math.exp(mean), config.noise_floor, 1.0) if fitting is None else fitting.start
        self._hyper = np.tile(first, (n_examples, 1))  # l, noise / s2, s2
        self.freshness = Freshness(n_examples)
        vectors = np.zeros((n_examples, 0)) if landscapes is None else _checked("landscapes", landscapes)
        if vectors.ndim != 2 or len(vectors) != n_examples:
            raise InputError(f"landscapes needs one row per example ({n_examples}), got shape {vectors.shape}")
        self._landscapes, self._log_alpha = vectors, float(log_alpha)

    @property
    def n_points(self) -> Array:
        return self._blocks.size.copy()

    @property
    def lengthscale(self) -> Array:
        return self._hyper[:, 0].copy()

    @property
    def outputscale(self) -> Array:
        return self._hyper[:, 2].copy()

    def outputscale_of(self, index: Array) -> Array:
        """The output scales of some examples, in time that does not depend on the others."""
        return np.asarray(self._hyper[index, 2])

    @property
    def noise(self) -> Array:
        return np.asarray(self._hyper[:, 1] * self._hyper[:, 2])

    @property
    def failed(self) -> Array:
        """Examples whose covariance could not be factorised, even with more noise; `fit` tries again."""
        self._extend_factors()
        return self.freshness.failed.copy()

    @property
    def log_alpha(self) -> float:
        return self._log_alpha

    @property
    def n_bytes(self) -> int:
        """Memory in use by points, targets, distances and factors."""
        rows, entries = self._blocks.capacity, gp_blocks.triangle_size(self._blocks.capacity)
        return int(8 * (rows.sum() * (self._blocks.points.shape[1] + 3) + 2 * entries.sum()))

    def points_of(self, example: int) -> Array:
        return self._rows_of(example, self._blocks.points)[:, : self.n_inputs].copy()

    def targets_of(self, example: int) -> Array:
        return self._rows_of(example, self._blocks.targets).copy()

    def owners_of(self, example: int) -> Array:
        return self._rows_of(example, self._blocks.owners).copy()

    def add(self, index: ArrayLike, points: ArrayLike, targets: ArrayLike, owner: ArrayLike | None = None) -> None:
        """Append points[b] (B, d), with its target, to example index[b]; hyperparameters stay as they are.

        owner (B,): the examples that the points were evaluated for, if others than `index`.
        """
        rows = self._checked_index(index)
        owners = rows if owner is None else self._checked_index(owner)
        x, y = _checked("points", points), _checked("targets", targets)
        if x.shape != (rows.size, self.n_inputs) or y.shape != rows.shape or owners.shape != rows.shape:
            expected = f"points ({rows.size}, {self.n_inputs}), targets and owner ({rows.size},)"
            raise InputError(f"expected {expected}, got {x.shape}, {y.shape}, {owners.shape}")
        distinct, n_new = np.unique(rows, return_counts=True)
        self._blocks = gp_blocks.with_room(self._blocks, distinct, n_new)
        gp_blocks.append(self._blocks, rows, x, y, owners)
        self.freshness.points_added(distinct)

    def set_targets(self, index: ArrayLike, targets: Sequence[ArrayLike] | Array) -> None:
        """New targets for all points of some examples: one array for each, or one flat array for all."""
        rows = self._checked_index(index)
        sizes = self._blocks.size[rows]
        flat = targets if isinstance(targets, np.ndarray) else np.concatenate([np.asarray(t, float) for t in targets])
        y = _checked("targets", flat)
        if y.shape != (sizes.sum(),):
            raise InputError(f"expected {sizes.sum()} targets for these examples, got shape {y.shape}")
        self._extend_factors()
        first = self._blocks.row[rows] - (np.cumsum(sizes) - sizes)
        self._blocks.targets[np.arange(y.size) + np.repeat(first, sizes)] = y
        solve_weights(self._blocks, rows)
        self.freshness.targets_changed(rows)

    def keep(self, index: ArrayLike, kept: Array) -> None:
        """Forget points of some (distinct) examples: all for which the flat array `kept` is not true."""
        rows = self._checked_index(index)
        if kept.dtype != bool or kept.shape != (self._blocks.size[rows].sum(),):
            raise InputError(f"expected {self._blocks.size[rows].sum()} booleans, got {kept.dtype} {kept.shape}")
        gp_blocks.keep(self._blocks, rows, kept)
        self.freshness.points_removed(rows)

    def fit(self, index: ArrayLike | None = None) -> None:
        """MAP hyperparameters of the examples `index`; by default those whose data changed since their last fit.

        Pooled, all examples are fitted together whatever the index. Targets that are all zero say nothing about any
        scale: such an example keeps the hyperparameters that it has.
        """
        examples = np.flatnonzero(self.freshness.dirty) if index is None else np.unique(self._checked_index(index))
        if self.config.pooled and examples.size:
            examples = np.arange(self.n_examples)
        order = gp_fit.by_size(self._blocks, examples[self._blocks.size[examples] > 0])
        if order.size == 0:
            return
        before = self._hyper.copy()
        afresh = self._search(order)
        found = (self._hyper != before).any(axis=1)
        gp_fit.factorise_each(self._blocks, order, self._hyper, self.freshness.failed, self._covariance)
        self.freshness.fitted(order, self._blocks.size, afresh & found)

    def fit_log_alpha(self, grid: ArrayLike = (-6.0, -4.0, -2.0, 0.0, 2.0, 4.0)) -> None:
        """The one alpha of the sharing factor: the value of the grid with the largest sum of `log_posterior`."""
        everyone = np.arange(self.n_examples)
        scores: list[tuple[float, float]] = []
        for log_alpha in np.asarray(grid, dtype=float):
            self._log_alpha = float(log_alpha)
            self.fit(everyone)
            scores.append((float(np.nan_to_num(self.log_posterior(), nan=-np.inf).sum()), self._log_alpha))
        self._log_alpha = max(scores)[1]
        self.fit(everyone)

    def log_posterior(self) -> Array:
        """log p(y_i | X_i, ..) + log p(l_i) of each example (M,); the sum is what `fit` maximises.

        Pooled, the prior counts once, spread evenly over the examples. NaN where the factorisation failed.
        """
        self._extend_factors()
        u, (mu, sigma) = np.log(self._hyper[:, 0]), self._prior
        prior = -u - 0.5 * ((u - mu) / sigma) ** 2 - math.log(sigma * math.sqrt(2 * math.pi))
        if self.config.pooled:
            prior /= self.n_examples
        likelihood = np.empty(self.n_examples)
        log_likelihood(self._blocks, self._hyper, likelihood)
        return np.where(self.freshness.failed, np.nan, likelihood + prior)

    @overload
    def posterior(self, y_hat: Array, index: ArrayLike) -> tuple[Array, Array]: ...
    @overload
    def posterior(self, y_hat: Tensor, index: Any) -> tuple[Tensor, Tensor]: ...
    def posterior(self, y_hat: Any, index: Any) -> tuple[Any, Any]:
        """Mean and standard deviation (noise not included) of f_i at y_hat[b] (B, d), i = index[b] (B,).

        Both are float64 (B,): arrays, or of a tensor y_hat tensors that are differentiable in it. Without points:
        (0, sqrt(s2)). Where the factorisation failed: (0, inf), so that no gate trusts it.
        """
        rows = self._checked_index(rows_of(index))
        if y_hat.shape != (rows.size, self.n_inputs):
            raise InputError(f"expected y_hat ({rows.size}, {self.n_inputs}), got {tuple(y_hat.shape)}")
        return mean_and_std(y_hat, lambda points, slopes: self.evaluated(points, rows, slopes=slopes))

    def evaluated(self, queries: Array, index: Array, *, slopes: bool) -> tuple[Array, Array, Array]:
        """The same at queries (B, d), arrays: mean and std (B,), and their slopes (B, 2, d) if wanted."""
        rows = self._checked_index(index)
        self._extend_factors()
        failed = self.freshness.failed
        return evaluated(queries, rows, self._blocks, self._hyper, failed, self._covariance, slopes=slopes)

    def state(self) -> dict[str, Array]:
        """Everything but the config, as plain arrays; `from_state` gives the same posterior to the last bit."""
        self._extend_factors()
        blocks = self._blocks
        rows = {name: gp_blocks.packed_rows(blocks, getattr(blocks, name)) for name in ("targets", "weights", "owners")}
        return {
            **rows,
            "points": np.ascontiguousarray(gp_blocks.packed_rows(blocks, blocks.points)[:, : self.n_inputs]),
            "factors": gp_blocks.packed_triangles(blocks, blocks.factors),
            "n_points": self.n_points,
            "hyperparameters": self._hyper.copy(),
            **self.freshness.state(),
            "landscapes": self._landscapes.copy(),
            "log_alpha": np.array([self._log_alpha]),
        }

    @classmethod
    def from_state(cls, state: dict[str, Array], config: GPConfig | None = None, fitting: Fitting | None = None) -> GPs:
        """The processes that gave this `state`; `config` and `fitting` are theirs."""
        size, points = np.asarray(state["n_points"], dtype=np.int64), _checked("points", state["points"])
        log_alpha = float(state["log_alpha"][0])
        landscapes, n_inputs = state["landscapes"], points.shape[1]
        gps = cls(size.size, n_inputs, config, landscapes=landscapes, log_alpha=log_alpha, fitting=fitting)
        rows = {name: np.ascontiguousarray(state[name], dtype=float) for name in ("targets", "weights")}
        rows["owners"] = gps._checked_index(state["owners"])
        gps._blocks = gp_blocks.restored_blocks(size, points, rows, np.ascontiguousarray(state["factors"], dtype=float))
        gp_blocks.measure(gps._blocks, np.arange(size.size))
        if state["hyperparameters"].shape != gps._hyper.shape:
            raise InputError(f"the state does not fit together: hyperparameters needs shape {gps._hyper.shape}")
        gps._hyper[:] = state["hyperparameters"]
        gps.freshness = Freshness.from_state(state, size)
        return gps

    @property
    def _covariance(self) -> Covariance:
        return Covariance(KERNELS.index(self.config.kernel), self._landscapes, math.exp(self._log_alpha))

    def _extend_factors(self) -> None:
        """Let the factors know the points added since the last look; a fit in between makes that needless."""
        behind, failed = self.freshness.behind(self._blocks.size), self.freshness.failed
        if behind.size:
            extend(self._blocks, behind, self.freshness.factored, self._hyper, failed, self._covariance)
            lost = gp_fit.by_size(self._blocks, behind[failed[behind]])
            gp_fit.factorise_each(self._blocks, lost, self._hyper, failed, self._covariance)

    def _search(self, order: Array) -> Array:
        """New hyperparameters of the examples `order`; which searches started from afresh (M,)."""
        settings = self._prior, self._bounds
        if self._fitting is not None:
            self._fitting(self._blocks, order, self._prior, self._hyper, self._covariance)
            return np.zeros(self.n_examples, dtype=bool)
        if not self.config.pooled:
            fresh = self._blocks.size >= self.config.rescan_growth * self.freshness.scanned
            gp_fit.fit_each(self._blocks, order, fresh, *settings, self._hyper, self._covariance)
            return fresh
        grown = self._blocks.size.sum() >= self.config.rescan_growth * self.freshness.scanned.sum()
        start = None if grown else math.log(self._hyper[0, 0])
        found = gp_fit.fit_pooled(self._blocks, order, start, *settings, self._covariance)
        if found is not None:
            self._hyper[:] = found
        return np.full(self.n_examples, grown)

    def _rows_of(self, example: int, values: Array) -> Array:
        first = self._blocks.row[example]
        return np.asarray(values[first : first + self._blocks.size[example]])

    def _checked_index(self, index: ArrayLike) -> Array:
        rows = np.asarray(index)
        # a mask is no index, and would pass for one
        numbers = rows.ndim == 1 and (rows.size == 0 or rows.dtype.kind in "iu")
        checked = rows.astype(np.int64, copy=False) if numbers else np.zeros(0, dtype=np.int64)
        # a negative number is a huge one without its sign
        if not numbers or (checked.size and not checked.view(np.uint64).max() < self.n_examples):
            raise InputError(f"index must be a vector of examples 0..{self.n_examples - 1}, got {index!r}")
        return checked


def _checked(name: str, values: Any) -> Array:
    array = np.ascontiguousarray(values, dtype=np.float64)
    # a NaN anywhere makes both extremes NaN, and no comparison with NaN is true
    if array.size and not -MAX_ABS < array.min() <= array.max() < MAX_ABS:
        raise InputError(f"{name} must be finite numbers, below {MAX_ABS:g}")
    return array
