"""The surrogate: the regret of every training example as a function of its prediction, learned from what was paid for.

    u               (B, d)    predictions in standardised units: y_hat / scale of y
    regret          in the units of cost; the Gaussian processes see (regret - mean_r) / std_r
    mean_r, std_r   of the first design; they stay, so that the losses of all epochs compare
    v_i             (k,)      landscape of example i: its standardised regrets at points common to all examples

Samples keep their raw regret and the distribution they were drawn from. Targets are smoothed from them at each fit, so
the level of smoothing can change without a new sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np
from scipy.spatial import cKDTree

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.gp.covariance import Kernel
from fewsolves.methods.gp_surrogate.gp.processes import Fitting, GPConfig, GPs
from fewsolves.methods.gp_surrogate.gp.tensors import mean_and_std, rows_of
from fewsolves.methods.gp_surrogate.surrogate.design import Design
from fewsolves.methods.gp_surrogate.surrogate.samples import Growing, Samples
from fewsolves.methods.gp_surrogate.surrogate.smoothing import Form, smooth
from fewsolves.problem import Array
from fewsolves.settings import setting, settings

if TYPE_CHECKING:
    from fewsolves.methods.torch_slopes import Tensor

MOST_SHARERS = 8  # the cost of a process grows with the square of its points, and the paper's d_max bounds nothing


@settings
class SurrogateConfig:
    """Settings of the surrogate."""

    pooled: bool = setting(
        "one length-scale, output scale and noise for all examples; False: each its own (paper)", default=True
    )
    refit_after: int = setting(
        "new samples, of all examples together, before hyperparameters are fitted again", default=40, least=0
    )
    smoothing: Form = setting("targets; 'samples' is the paper's, 'off': the raw regrets", default="off")
    smoothing_sigma: float = setting(
        "level of smoothing, in standard deviations of each parameter", default=0.1, above=0
    )
    sharing: bool = setting(
        "examples with similar landscapes learn from each other's samples (paper's option)", default=False
    )
    share_within: float = setting(
        "d_max: largest distance of two landscapes that share, in root mean square per point", default=0.5, least=0
    )
    kernel: Kernel = setting("covariance; 'rbf' is the paper's, 'matern52' rougher", default="rbf", since="0.2.0")
    most_points: int | None = setting(
        "points that a process keeps when it is fitted: the truth, and those nearest to the newest prediction of its "
        "example; None: all",
        default=150,
        least=2,
        since="0.2.0",
        without=None,
    )

    @property
    def gp(self) -> GPConfig:
        """The part of the settings that the Gaussian processes see."""
        return GPConfig(kernel=self.kernel, pooled=self.pooled)

    @property
    def fitting(self) -> Fitting | None:
        """How hyperparameters are found; None: by the search for their optimum."""
        return None


NO_PROCESS = -1  # holds a sample that was dropped
SCALARS = ("mean_r", "std_r", "sigma", "effective_sample_size", "_fitted")  # of the state of a surrogate


class RegretSurrogate:
    """(u, example) -> mean and std of the regret, with their slopes by u; never calls a solver."""

    def __init__(
        self, truth: Array, design: Design, regret: Array, config: SurrogateConfig, besides: Array | None = None
    ) -> None:
        """Learn from the truth (M, d), where the regret is 0, and from a design with its regrets (k, M).

        A regret that is NaN is not known: its solve failed. `besides` (N,) are regrets that will be learned from later,
        for the units.
        """
        self.config, self.truth, self.sigma = config, truth, config.smoothing_sigma
        known = regret[~np.isnan(regret)]
        self.mean_r, self.std_r = units_of(known if besides is None else np.concatenate([known, besides]))
        everyone = np.arange(len(truth))
        landscapes = _landscapes(design, np.nan_to_num(self.standardise(regret))) if config.sharing else None
        self._sharers = None if landscapes is None else _sharers(landscapes, config.share_within)
        # the hypercube is normalised by its own spread (paper); other designs are in standard deviations of y already
        self.units = np.ones(truth.shape[1])
        if design.box is not None and len(design.points) > 1:
            self.units = design.points[:, 0].std(axis=0)
        self.samples = Samples(*truth.shape)
        M, d = truth.shape
        self.gps = GPs(M, d, config.gp, landscapes=landscapes, fitting=config.fitting)
        self.least = np.full(M, np.inf)  # the least standardised regret seen for each example
        self._targets = Growing()
        self._holds = Growing(np.int64, 2)  # what the processes hold: which of them, and the row of the samples
        self._fitted = 0
        self.effective_sample_size = 1.0  # median over the targets that were smoothed last
        self.samples.add_given(everyone, truth, np.zeros(len(truth)))
        design.record(self.samples, regret)
        self.learn()
        self.refit(force=True)

    def standardise(self, regret: Array) -> Array:
        """Regret in the units of the processes."""
        return np.asarray((regret - self.mean_r) / self.std_r)

    def learn(self) -> None:
        """Hand the samples that arrived since the last call to the processes; hyperparameters stay."""
        self._hand_over(self._new_targets())

    def _new_targets(self) -> Array:
        """Standardise the samples that arrived since the last call, and return their rows."""
        rows = np.arange(len(self.targets), len(self.samples))
        self._targets.add(self.standardise(self.samples.regret[rows]))
        np.minimum.at(self.least, self.samples.example[rows], self.targets[rows])
        return rows

    def _hand_over(self, rows: Array) -> None:
        holder, row = self._holders(rows)
        self._holds.add(np.stack([holder, row], axis=1))
        places = self.samples.centre if self.config.smoothing == "centres" else self.samples.point
        self.gps.add(holder, places[row] / self.units, self.targets[row], self.samples.example[row])

    @property
    def targets(self) -> Array:
        """Standardised and smoothed, one per sample."""
        return self._targets.values

    def refit(self, *, force: bool = False) -> bool:
        """Smooth targets and fit hyperparameters, where at least `refit_after` samples arrived since the last fit.

        Only the processes of examples with new samples are touched (pooled hyperparameters are common to all).
        """
        if not force and len(self.samples) - self._fitted < self.config.refit_after:
            return False
        if self.config.smoothing != "off":
            self._smooth(np.arange(len(self.truth)) if force else self.samples.examples_since(self._fitted))
        first = self._fitted == 0
        self._forget_far_points()
        self.gps.fit()
        if self.config.sharing and first:
            self.gps.fit_log_alpha()
        self._fitted = len(self.samples)
        return True

    def _forget_far_points(self) -> None:
        """Limit each process to `most_points` points; all paid samples are kept on record.

        Its cost is cubic in them, and what lies far from where predictions are now says little of what is there.
        """
        most, holder = self.config.most_points, self._holds.values[:, 0]
        many = np.flatnonzero(self.gps.n_points > most) if most is not None else np.empty(0, dtype=np.int64)
        if many.size == 0:
            return
        order = np.argsort(holder, kind="stable")  # as the processes hold them
        order = order[np.isin(holder[order], many)]
        kept = []
        for held in np.split(order, np.cumsum(self.gps.n_points[many])[:-1]):
            points = self.samples.point[self._holds.values[held, 1]]
            now = self.samples.centre[self._holds.values[held[-1], 1]]
            distance = np.square((points - now) / self.units).sum(axis=1)
            distance[0] = -1.0  # the truth was the first
            nearest = np.zeros(len(held), dtype=bool)
            nearest[np.argsort(distance, kind="stable")[:most]] = True
            holder[held[~nearest]] = NO_PROCESS
            kept.append(nearest)
        self.gps.keep(many, np.concatenate(kept))

    def evaluated(self, u: Array, index: Array, *, slopes: bool) -> tuple[Array, Array, Array]:
        """Mean and std (B,) of the standardised smoothed regret, and their slopes (B, 2, d) by u if wanted."""
        queries = np.ascontiguousarray(u / self.units)
        mean, std, found = self.gps.evaluated(queries, index, slopes=slopes)
        found /= self.units
        return mean, std, found

    @overload
    def posterior(self, u: Array, index: Array) -> tuple[Array, Array]: ...
    @overload
    def posterior(self, u: Tensor, index: Any) -> tuple[Tensor, Tensor]: ...
    def posterior(self, u: Any, index: Any) -> tuple[Any, Any]:
        """Mean and std (B,) of the standardised smoothed regret; of a tensor u differentiable tensors."""
        rows = rows_of(index)
        return mean_and_std(u, lambda points, slopes: self.evaluated(points, rows, slopes=slopes))

    def gate_std(self, std: Array, index: Array) -> Array:
        """The std (B,) that the gate compares with beta, by the posterior std (B,): the same."""
        return std

    def prior_std(self, index: Array) -> Array:
        """The std (B,) before anything was known."""
        return np.sqrt(self.gps.outputscale_of(index))

    @overload
    def regret(self, u: Array, index: Array) -> tuple[Array, Array]: ...
    @overload
    def regret(self, u: Tensor, index: Any) -> tuple[Tensor, Tensor]: ...
    def regret(self, u: Any, index: Any) -> tuple[Any, Any]:
        """Mean and std (B,) of the regret in the units of cost; of a tensor u differentiable tensors."""
        mean, std = self.posterior(u, index)
        return self.mean_r + self.std_r * mean, self.std_r * std

    def state(self) -> tuple[dict[str, Array], dict[str, float]]:
        """Arrays and numbers from which `from_state` makes the same surrogate, to the last bit."""
        arrays = {f"gps.{name}": values for name, values in self.gps.state().items()}
        arrays |= {f"samples.{name}": values for name, values in self.samples.state().items()}
        arrays |= {"units": self.units, "least": self.least, "targets": self.targets}
        arrays |= {"holder": self._holds.values[:, 0], "row": self._holds.values[:, 1]}
        return arrays, {name: getattr(self, name) for name in SCALARS}

    @classmethod
    def from_state(
        cls, truth: Array, arrays: dict[str, Array], numbers: dict[str, float], config: SurrogateConfig
    ) -> RegretSurrogate:
        self = cls.__new__(cls)
        self.config, self.truth = config, truth
        part = {
            name: {key.removeprefix(f"{name}."): values for key, values in arrays.items() if key.startswith(f"{name}.")}
            for name in ("gps", "samples")
        }
        self.gps = GPs.from_state(part["gps"], config.gp, config.fitting)
        self.samples = Samples.from_state(part["samples"])
        self._sharers = _sharers(part["gps"]["landscapes"], config.share_within) if config.sharing else None
        self.units, self.least = (arrays[name].copy() for name in ("units", "least"))
        self._targets, self._holds = Growing(), Growing(np.int64, 2)
        self._targets.add(arrays["targets"])
        self._holds.add(np.stack([arrays["holder"], arrays["row"]], axis=1))
        for name in SCALARS:
            setattr(self, name, numbers[name])
        return self

    def _smooth(self, examples: Array) -> None:
        smoothed = smooth(self.samples, examples, self.sigma, self.config.smoothing)
        self.targets[self.samples.rows_of(examples)] = self.standardise(smoothed.targets)
        self.effective_sample_size = float(np.median(smoothed.effective_sample_size))
        holder, row = self._holds.values.T
        touched = np.setdiff1d(holder[np.isin(self.samples.example[row], examples)], NO_PROCESS)
        order = np.argsort(holder, kind="stable")  # as the processes hold them: by example, then by arrival
        order = order[np.isin(holder[order], touched)]
        self.gps.set_targets(touched, self.targets[row[order]])

    def _holders(self, rows: Array) -> tuple[Array, Array]:
        """Which processes learn from which rows: the example's own, and those that share with it.

        The first design is not shared: every example has its own regrets at the same points.
        """
        example = self.samples.example[rows]
        if self._sharers is None or self._fitted == 0:
            return example, rows
        sharers = [self._sharers[i] for i in example]
        return np.concatenate(sharers), np.repeat(rows, [len(each) for each in sharers])


def units_of(regret: Array) -> tuple[float, float]:
    """Mean and std; where all regrets are one number, and their std is rounding, that number is the unit."""
    if regret.size == 0:
        return 0.0, 1.0
    mean, std = float(regret.mean()), float(regret.std())
    return mean, std if std > 1e-12 * abs(mean) else abs(mean) or 1.0


def _landscapes(design: Design, regret: Array) -> Array:
    """v_i (M, k), for points that are the same for all examples."""
    if not (design.points == design.points[:, :1]).all():
        raise InputError("sharing compares regrets at points common to all examples; it needs design='box'")
    return np.ascontiguousarray(regret.T)


def _sharers(landscapes: Array, within: float) -> list[Array]:
    """For each example the `MOST_SHARERS` with the nearest landscapes at most d_max away, itself among them."""
    tree, (M, k) = cKDTree(landscapes), landscapes.shape
    most = within * np.sqrt(k) * (1 + 1e-9)
    distance, near = (np.reshape(found, (M, -1)) for found in tree.query(landscapes, k=min(MOST_SHARERS, M)))
    return [np.union1d(i, near[i, distance[i] <= most]) for i in range(M)]
