"""The paper's method (its Algorithm 1): trust the surrogate of an example where it is confident, pay where it is not.

    u_i            y_hat_i in standard deviations of each parameter
    m_i, s_i       posterior mean and std of the standardised regret of example i at u_i

    loss_i = m_i + pessimism s_i    where s_i is small, differentiated through the Gaussian process
             fallback               elsewhere, after a paid solve that the process learns from

Pessimism is ours: a predictor trained on m alone runs to where the surrogate errs in its favour. So is the bound of
the setting `sober`: where m_i + s_i is below the least regret seen for example i, which is 0 at its truth, m_i is
replaced by that least regret, and only pessimism remains, which leads back to what is known.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from fewsolves.data import check_matrix
from fewsolves.errors import BudgetSpent, InputError
from fewsolves.methods.base import LOOP, Context, Demand, GradientTrainer, State, TrainConfig
from fewsolves.methods.gp_surrogate.background_draws import InFlight
from fewsolves.methods.gp_surrogate.background_draws import refuse as refuse_in_flight
from fewsolves.methods.gp_surrogate.config import PAPER, REACH, GPSurrogateConfig
from fewsolves.methods.gp_surrogate.fallback import Noise, build, refuse_spo_plus
from fewsolves.methods.gp_surrogate.gate import Paying, all_trusted, doubts
from fewsolves.methods.gp_surrogate.surrogate import design
from fewsolves.methods.gp_surrogate.surrogate.calibration import AUDITED, Calibration, calibrate
from fewsolves.methods.gp_surrogate.surrogate.export import ExportedSurrogate, export_surrogate
from fewsolves.methods.gp_surrogate.surrogate.regret import RegretSurrogate
from fewsolves.methods.gp_surrogate.trusted import Looked
from fewsolves.methods.torch_loss import OracleLoss
from fewsolves.oracle import Oracle, SolveConfig
from fewsolves.oracle.former import PaidPoints
from fewsolves.problem import Array, Problem

SIGMAS = (0.05, 0.25)  # where sigma is left open, it stays within these
FREE = 20  # samples of other runs that are taken for each example, those closest to its start


def check_settings(config: GPSurrogateConfig, problem: Problem, solving: SolveConfig) -> None:
    """Raise where they do not go with the problem, or with the way it is solved."""
    if config.fallback == "spo+":
        refuse_spo_plus(problem)
    if solving.asynchronous:
        refuse_in_flight(config.fallback, config.correction)


class GPSurrogateLoss(OracleLoss):
    """A loss for any torch loop, with one Gaussian process for each row of Y.

    >>> import numpy as np, torch, fewsolves as fs
    >>> X = torch.randn(40, 3, dtype=torch.float64); Y = (10 + X @ torch.ones(3, 2).double()).numpy()
    >>> problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: float((z + 9 * np.maximum(y - z, 0)).sum()))
    >>> net = torch.nn.Linear(3, 2).double()
    >>> loss = fs.GPSurrogateLoss(problem, Y)
    >>> loss.start(net(X))                          # evaluates each row at a few points around its prediction
    >>> index = torch.arange(8)
    >>> loss(net(X[index]), index).backward()

    `begin_epoch()` once per epoch refits hyperparameters. Without `start`, the first call samples the box of Y.

    Args:
        problem: The problem, or an `Oracle` that has it already, with a budget or a ledger of its own.
        Y: (M, n_y) True parameters of the training rows; left out with an oracle.
        config: Settings. None: the defaults.
        seed: Of everything that is random.
    """

    surrogate_class: ClassVar[type[RegretSurrogate]] = RegretSurrogate  #: what it learns the regret with

    def __init__(
        self, problem: Problem | Oracle, Y: Any = None, config: GPSurrogateConfig | None = None, *, seed: Any = 0
    ) -> None:
        super().__init__(problem if isinstance(problem, Oracle) else Oracle(problem, check_matrix("Y", Y)))
        self.config = config = config or GPSurrogateConfig()
        check_settings(config, self.oracle.problem, self.oracle.solving)
        self.rng = np.random.default_rng(seed)
        self._scale = self.scale.numpy()  # the same memory
        self.truth = self.oracle.Y / self._scale
        self.noise = Noise(self.scale.numpy(), config.sigma or SIGMAS[0], trainable=config.train_sigma, rng=self.rng)
        self.fallback = build(config.fallback, self.oracle, self.noise, config.correction)
        self.background: InFlight | None = None
        if self.oracle.solving.asynchronous:
            self.background = InFlight(self.oracle, self.noise)
        self.paying = Paying(self.oracle, self.fallback, self.background)
        self.surrogate: RegretSurrogate | None = None
        self._seen = self._doubted = 0
        self._all_trusted = True  # in the last step

    def start(self, y_hat: Tensor) -> None:
        self._check(y_hat, len(self.truth))
        self._pretrain(y_hat.detach().numpy() / self.scale.numpy(), self.config.design)

    def begin_epoch(self, predict: Callable[[], Tensor] | None = None) -> None:
        self._seen = self._doubted = 0
        self.paying.epoch += 1
        if self.surrogate is not None:
            if self.background is not None:
                self.background.begin_epoch(self.surrogate)
            self.surrogate.refit()
            if not self.config.train_sigma:
                self._set_sigma(self.surrogate)

    @property
    def trusted(self) -> float | None:
        return 1.0 - self._doubted / self._seen if self._seen else None

    def forward(self, y_hat: Tensor, index: Tensor) -> Tensor:
        """The loss of some rows; pays for a solve where the surrogate is not sure.

        Args:
            y_hat: (B, n_y) Predictions, differentiable.
            index: (B,) Positions in the training rows.
        """
        rows = np.asarray(index)
        self._check(y_hat, len(rows))
        u = y_hat.double() / self.scale
        if self.surrogate is None:
            self._pretrain(self.truth, "box")
        assert self.surrogate is not None
        if self.background is not None:
            self.background.collect(self.surrogate)
        slopes = self.config.differentiate and self._all_trusted
        looked = Looked(u.detach().numpy(), rows, self.surrogate, slopes=slopes)
        doubted, doubt = doubts(looked.std, rows, self.surrogate, self.config)
        n_doubted = int(doubted.sum())
        self._seen, self._doubted = self._seen + len(rows), self._doubted + n_doubted
        self._all_trusted = n_doubted == 0  # as in most steps, and so in the next
        if self._all_trusted and len(looked.slopes):
            return looked.loss(y_hat, self._scale, self.config)
        if self._all_trusted:
            return self._surrogate_loss(u, rows).sum() / len(rows)
        paid, total = self.paying(u, rows, doubted, doubt, self.surrogate)
        known = torch.as_tensor(~self.surrogate.gps.failed[rows])
        weight = (~doubted).double()
        weight[doubted & known] = 1.0  # without a paid call, the surrogate is used despite the doubt
        weight[paid & known] = self.fallback.surrogate_weight
        queried = weight > 0
        if queried.any():
            total = total + (weight[queried] * self._surrogate_loss(u[queried], rows[queried.numpy()])).sum()
        if not total.requires_grad:
            total = total + 0.0 * u.sum()  # neither surrogate nor paid call: a step of size zero
        return total / len(rows)

    def with_slope(self, y_hat: Tensor, index: Tensor) -> tuple[float, Tensor] | None:
        """The loss and its slope, if all rows of the last step and of this one are trusted; else None.

        Args:
            y_hat: (B, n_y) Predictions.
            index: (B,) Positions in the training rows.
        """
        if self.surrogate is None or self.background is not None or not self._all_trusted:
            return None
        if not self.config.differentiate:
            return None
        rows = index.numpy()
        looked = Looked(y_hat.numpy() / self._scale, rows, self.surrogate, slopes=True)
        if not all_trusted(looked.std, rows, self.surrogate, self.config):
            return None
        self._seen += len(rows)
        return looked.with_slope(self._scale, self.config)

    def finish(self, y_hat: Tensor) -> dict[str, Any]:
        """Return facts about the surrogate for result.json; pays for a few held-out solves at the final predictions.

        Args:
            y_hat: (M, n_y) Predictions for all training rows.
        """
        if self.surrogate is None:
            return {}
        if self.background is not None:
            self.background.finish(self.surrogate)
        report: dict[str, Any] = {
            "warnings": self.paying.warnings(),
            "effective_sample_size": self.surrogate.effective_sample_size,
            "samples_per_example": float(self.surrogate.samples.n_of.mean()),
        }
        if self.paying.short_since is not None:
            report["surrogate_alone_since"] = self.paying.short_since
        calibration = self._audit(y_hat.detach())
        if calibration is not None:
            report["calibration"] = calibration.record()
            report["warnings"] += [calibration.warning] if calibration.warning else []
        return report

    def paid_points(self) -> PaidPoints | None:
        if self.surrogate is None:
            return None
        samples, n = self.surrogate.samples, len(self.truth)  # the first n are the truths
        return PaidPoints(samples.example[n:], samples.point[n:] * self.scale.numpy(), samples.regret[n:])

    def state(self) -> State | None:
        if self.surrogate is None:
            return None
        if self.background is not None:
            self.background.finish(self.surrogate)  # calls in flight have no saved state
        arrays, numbers = self.surrogate.state()
        facts = {"surrogate": numbers, "epoch": self.paying.epoch, "short_since": self.paying.short_since}
        state = self._module_state(self.rng, **facts)
        return State(state.arrays | {f"surrogate.{name}": values for name, values in arrays.items()}, state.facts)

    def restore(self, state: State) -> None:
        own = "surrogate."
        arrays = {name.removeprefix(own): a for name, a in state.arrays.items() if name.startswith(own)}
        surrogate = self.surrogate_class.from_state(self.truth, arrays, state.facts["surrogate"], self.config)
        self._restore_module(state, self.rng)
        self.surrogate = surrogate
        self.paying.epoch, self.paying.short_since = state.facts["epoch"], state.facts["short_since"]

    def export(self) -> ExportedSurrogate | None:
        if self.surrogate is None:
            return None
        scale, config = self.scale.numpy(), self.config
        return export_surrogate(self.surrogate, scale=scale, pessimism=config.pessimism, sober=config.sober)

    def save(self, folder: str | Path) -> Path:
        """Write the surrogate; `fewsolves.load_surrogate` reads it, to train other predictors without a solve.

        Args:
            folder: Where to write.
        """
        exported = self.export()
        if exported is None:
            raise InputError("nothing was learned yet: call start() or train first")
        return exported.save(folder)

    def calibration(self, y_hat: Tensor, rows: Array, regret: Array) -> Calibration:
        """The posterior against regrets that it has not seen.

        Args:
            y_hat: (B, n_y) Predictions.
            rows: (B,) Positions in the training rows.
            regret: (B,) What was paid to know.
        """
        assert self.surrogate is not None
        with torch.no_grad():
            mean, std = self.surrogate.posterior(y_hat / self.scale, rows)
        noise = self.surrogate.gps.noise[rows]
        return calibrate(self.surrogate.standardise(regret), mean.numpy(), np.sqrt(std.numpy() ** 2 + noise))

    def _audit(self, y_hat: Tensor) -> Calibration | None:
        """Against a few solves at the final predictions, as far as the budget goes."""
        n = min(AUDITED, self.oracle.budget_left.room("validation"))
        rows = np.sort(self.rng.permutation(len(self.truth))[:n])
        if len(rows) == 0:
            return None
        try:
            regret = self.oracle.regret(rows, y_hat[rows].numpy(), phase="validation")
        except BudgetSpent:
            return None
        known = ~np.isnan(regret)  # the others failed
        return self.calibration(y_hat[rows[known]], rows[known], regret[known]) if known.any() else None

    def _check(self, y_hat: Tensor, n: int) -> None:
        if y_hat.shape != (n, self.oracle.n_y):
            raise InputError(f"expected predictions of shape {(n, self.oracle.n_y)}, got {tuple(y_hat.shape)}")

    def _pretrain(self, start: Array, kind: design.Kind) -> None:
        config = self.config
        k = config.points if config.points is not None else design.papers_number_of_points(self.oracle.n_y)
        drawn = design.draw(kind, self.truth, start, k, config.spread, self.rng)
        scale = self.scale.numpy()
        _, regret, paid_before = self.oracle.first_points(drawn.points * scale)
        known = self.oracle.free_samples().nearest(start * scale, most=FREE)
        if paid_before.any():  # they come with what is known
            regret[:, paid_before] = np.nan
        besides = known.regret if paid_before.any() else np.empty(0)
        self.surrogate = self.surrogate_class(self.truth, drawn, regret, config, besides)
        if known.index.size:  # what other runs have paid for
            self.surrogate.samples.add_given(known.index, known.y_hat / scale, known.regret)
            self.surrogate.learn()
            self.surrogate.refit(force=True)
        self._set_sigma(self.surrogate)

    def _set_sigma(self, surrogate: RegretSurrogate) -> None:
        """If sigma is None, follow the length-scale: |draw - u| is about sigma sqrt(d), in units of 1."""
        if self.config.sigma is None:
            length = float(np.median(surrogate.gps.lengthscale)) / np.sqrt(np.sum(surrogate.units**-2))
            self.noise.set(float(np.clip(REACH * length, *SIGMAS)))

    def _surrogate_loss(self, u: Tensor, rows: Array) -> Tensor:
        assert self.surrogate is not None
        if self.config.differentiate:
            mean, std = self.surrogate.posterior(u, rows)
            return self._value(mean, std, rows)
        point, log_density, _ = self.noise.draw(u)
        with torch.no_grad():
            mean, std = self.surrogate.posterior(point, rows)
        return self._value(mean, std, rows) * log_density

    def _value(self, mean: Tensor, std: Tensor, rows: Array) -> Tensor:
        """The regret of each row with pessimism added, and the mean bounded from below with `sober`."""
        assert self.surrogate is not None
        if self.config.sober:
            least = torch.as_tensor(self.surrogate.least[rows])
            mean = torch.where(mean + std > least, mean, least)
        return mean + self.config.pessimism * std


class GPSurrogate(GradientTrainer):
    """Minimises `GPSurrogateLoss`."""

    name = "gp-surrogate"
    summary = "one Gaussian process per example, solves only where it is unsure; any problem, few solves"
    settings = GPSurrogateConfig()
    common = TrainConfig(
        learning_rate=3e-3,
        max_epochs=200,
        patience=20,
        averaging=2.0,
        validation_share=0.9,
        validation_move=0.03,
    )
    asynchronous = True

    def loss(self, context: Context) -> GPSurrogateLoss:
        return GPSurrogateLoss(context.train_oracle, config=self.settings, seed=context.rng)

    def check_settings(self, problem: Problem, solving: SolveConfig) -> None:
        check_settings(self.settings, problem, solving)

    def demand(self, n_y: int) -> Demand:
        points = design.papers_number_of_points(n_y) if self.settings.points is None else self.settings.points
        return Demand(points=points, common_points=self.settings.design == "box", bytes_stored=75)


class PaperGPSurrogate(GPSurrogate):
    """The same with the settings of the paper."""

    name = "gp-surrogate-paper"
    summary = "the same with the paper's settings: box hypercube, beta 1, literal smoothing, SFGE as fallback"
    settings = PAPER
    common = LOOP
    asynchronous = False


METHODS = (GPSurrogate(), PaperGPSurrogate())
