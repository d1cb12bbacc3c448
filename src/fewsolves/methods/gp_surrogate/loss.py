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
from typing import Any, ClassVar

import numpy as np

from fewsolves.errors import BudgetSpent, InputError
from fewsolves.methods.base import LOOP, Context, Demand, GradientTrainer, State, TrainConfig
from fewsolves.methods.gp_surrogate.background_draws import InFlight
from fewsolves.methods.gp_surrogate.background_draws import refuse as refuse_in_flight
from fewsolves.methods.gp_surrogate.config import PAPER, REACH, GPSurrogateConfig
from fewsolves.methods.gp_surrogate.fallback import Answer, Noise, build, refuse_spo_plus
from fewsolves.methods.gp_surrogate.gate import Paying, doubts
from fewsolves.methods.gp_surrogate.surrogate import design
from fewsolves.methods.gp_surrogate.surrogate.calibration import AUDITED, Calibration, calibrate
from fewsolves.methods.gp_surrogate.surrogate.export import ExportedSurrogate, export_surrogate
from fewsolves.methods.gp_surrogate.surrogate.regret import RegretSurrogate
from fewsolves.methods.gp_surrogate.trusted import Looked
from fewsolves.methods.loss import PayingLoss, stream_state
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


class SurrogateLoss(PayingLoss):
    """One Gaussian process for each row of the oracle; `fs.GPSurrogateLoss` is the same for a torch loop.

    Without `start`, the first call samples the box of Y.
    """

    surrogate_class: ClassVar[type[RegretSurrogate]] = RegretSurrogate  #: what it learns the regret with

    def __init__(self, oracle: Oracle, config: GPSurrogateConfig | None = None, *, seed: Any = 0) -> None:
        super().__init__(oracle)
        self.config = config = config or GPSurrogateConfig()
        check_settings(config, self.oracle.problem, self.oracle.solving)
        self.rng = np.random.default_rng(seed)
        self.truth = self.oracle.Y / self.scale
        self.noise = Noise(self.scale, config.sigma or SIGMAS[0], trainable=config.train_sigma, rng=self.rng)
        self.fallback = build(config.fallback, self.oracle, self.noise, config.correction)
        self.background: InFlight | None = None
        if self.oracle.solving.asynchronous:
            self.background = InFlight(self.oracle, self.noise)
        self.paying = Paying(self.oracle, self.fallback, self.background)
        self.surrogate: RegretSurrogate | None = None
        self._seen = self._doubted = 0
        self._all_trusted = True  # in the last step
        self._slope_of_sigma: Array | None = None

    def start(self, y_hat: Array) -> None:
        self._check(y_hat, len(self.truth))
        self._pretrain(y_hat / self.scale, self.config.design)

    def begin_epoch(self, predict: Callable[[], Array] | None = None) -> None:
        self._seen = self._doubted = 0
        self.paying.epoch += 1
        if self.surrogate is not None:
            if self.background is not None:
                self.background.begin_epoch(self.surrogate)
            self.surrogate.refit()
            if not self.config.train_sigma:
                self._set_sigma(self.surrogate)

    def trained(self) -> list[Array]:
        return [self.noise.log_sigma] if self.noise.trainable else []

    def trained_slopes(self) -> list[Array | None]:
        return [self._slope_of_sigma] if self.noise.trainable else []

    @property
    def trusted(self) -> float | None:
        return 1.0 - self._doubted / self._seen if self._seen else None

    def with_slope(self, y_hat: Array, index: Array) -> tuple[float, Array]:
        """The loss of some rows and its slope; pays for a solve where the surrogate is not sure."""
        self._check(y_hat, len(index))
        u = y_hat / self.scale
        if self.surrogate is None:
            self._pretrain(self.truth, "box")
        assert self.surrogate is not None
        if self.background is not None:
            self.background.collect(self.surrogate)
        slopes = self.config.differentiate and self._all_trusted
        looked = Looked(u, index, self.surrogate, slopes=slopes)
        doubted, doubt = doubts(looked.std, index, self.surrogate, self.config)
        n_doubted = int(doubted.sum())
        self._seen, self._doubted = self._seen + len(index), self._doubted + n_doubted
        self._all_trusted = n_doubted == 0  # as in most steps, and so in the next
        total = _Total(u)
        if not self._all_trusted:
            self._pay(total, u, index, doubted, doubt)
        elif slopes:
            total.add(slice(None), looked.answer(self.config))
        else:
            total.add(slice(None), self._queried(u, index, np.ones(len(index))))
        self._slope_of_sigma = None if total.by_log_sigma is None else total.by_log_sigma / len(index)
        return total.value / len(index), total.slope / self.scale / len(index)

    def finish(self, y_hat: Array) -> dict[str, Any]:
        """Facts about the surrogate for result.json; pays for a few held-out solves at the final predictions."""
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
        calibration = self._audit(y_hat)
        if calibration is not None:
            report["calibration"] = calibration.record()
            report["warnings"] += [calibration.warning] if calibration.warning else []
        return report

    def paid_points(self) -> PaidPoints | None:
        if self.surrogate is None:
            return None
        samples, n = self.surrogate.samples, len(self.truth)  # the first n are the truths
        return PaidPoints(samples.example[n:], samples.point[n:] * self.scale, samples.regret[n:])

    def state(self) -> State | None:
        if self.surrogate is None:
            return None
        if self.background is not None:
            self.background.finish(self.surrogate)  # calls in flight have no saved state
        arrays, numbers = self.surrogate.state()
        facts = {"surrogate": numbers, "epoch": self.paying.epoch, "short_since": self.paying.short_since}
        own = {"scale": self.scale.copy(), "noise.log_sigma": self.noise.log_sigma.copy()}
        own |= {f"surrogate.{name}": values for name, values in arrays.items()}
        return State(own, {"rng": stream_state(self.rng), **facts})

    def restore(self, state: State) -> None:
        own = "surrogate."
        arrays = {name.removeprefix(own): a for name, a in state.arrays.items() if name.startswith(own)}
        self.surrogate = self.surrogate_class.from_state(self.truth, arrays, state.facts["surrogate"], self.config)
        self.noise.log_sigma[:] = state.arrays["noise.log_sigma"]
        self.rng.bit_generator.state = state.facts["rng"]
        self.paying.epoch, self.paying.short_since = state.facts["epoch"], state.facts["short_since"]

    def export(self) -> ExportedSurrogate | None:
        if self.surrogate is None:
            return None
        config = self.config
        return export_surrogate(self.surrogate, scale=self.scale, pessimism=config.pessimism, sober=config.sober)

    def calibration(self, y_hat: Array, rows: Array, regret: Array) -> Calibration:
        """The posterior against regrets (B,) of these rows that it has not seen."""
        assert self.surrogate is not None
        mean, std = self.surrogate.posterior(y_hat / self.scale, rows)
        noise = self.surrogate.gps.noise[rows]
        return calibrate(self.surrogate.standardise(regret), mean, np.sqrt(std**2 + noise))

    def _audit(self, y_hat: Array) -> Calibration | None:
        """Against a few solves at the final predictions, as far as the budget goes."""
        n = min(AUDITED, self.oracle.budget_left.room("validation"))
        rows = np.sort(self.rng.permutation(len(self.truth))[:n])
        if len(rows) == 0:
            return None
        try:
            regret = self.oracle.regret(rows, y_hat[rows], phase="validation")
        except BudgetSpent:
            return None
        known = ~np.isnan(regret)  # the others failed
        return self.calibration(y_hat[rows[known]], rows[known], regret[known]) if known.any() else None

    def _check(self, y_hat: Array, n: int) -> None:
        if y_hat.shape != (n, self.oracle.n_y):
            raise InputError(f"expected predictions of shape {(n, self.oracle.n_y)}, got {y_hat.shape}")

    def _pretrain(self, start: Array, kind: design.Kind) -> None:
        config = self.config
        k = config.points if config.points is not None else design.papers_number_of_points(self.oracle.n_y)
        drawn = design.draw(kind, self.truth, start, k, config.spread, self.rng)
        scale = self.scale
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

    def _pay(self, total: _Total, u: Array, rows: Array, doubted: Array, doubt: Array) -> None:
        """Pay for doubted rows, and ask the surrogate for the others."""
        assert self.surrogate is not None
        paid, answer = self.paying(u, rows, doubted, doubt, self.surrogate)
        if answer is not None:
            total.add(paid, answer)
        known = ~self.surrogate.gps.failed[rows]
        weight = np.where(doubted, 0.0, 1.0)
        weight[doubted & known] = 1.0  # without a paid call, the surrogate is used despite the doubt
        weight[paid & known] = self.fallback.surrogate_weight
        queried = weight > 0
        if queried.any():
            total.add(queried, self._queried(u[queried], rows[queried], weight[queried]))

    def _queried(self, u: Array, rows: Array, weight: Array) -> Answer:
        """What the surrogate says of some rows, times `weight` (B,)."""
        assert self.surrogate is not None
        if not self.config.differentiate:
            drawn = self.noise.draw(u)
            looked = Looked(drawn.point, rows, self.surrogate, slopes=False)
            return drawn.scored(weight * looked.value(self.config))
        answer = Looked(u, rows, self.surrogate, slopes=True).answer(self.config)
        return Answer(weight * answer.loss, weight[:, None] * answer.slope)


class _Total:
    """The sum of answers, with its slopes by u (B, d) and by the logarithm of sigma (d,)."""

    def __init__(self, u: Array) -> None:
        self.value, self.slope = 0.0, np.zeros(u.shape)
        self.by_log_sigma: Array | None = None  # None: nothing depended on sigma

    def add(self, rows: Array | slice, answer: Answer) -> None:
        """An answer for some of the rows."""
        self.value += float(answer.loss.sum())
        self.slope[rows] += answer.slope
        if answer.by_log_sigma is not None:
            before = 0.0 if self.by_log_sigma is None else self.by_log_sigma
            self.by_log_sigma = before + answer.by_log_sigma


class GPSurrogate(GradientTrainer):
    """Minimises `SurrogateLoss`."""

    name = "gp-surrogate"
    summary = "one Gaussian process per row, solves only where it is uncertain; any problem, few solves"
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

    def loss(self, context: Context) -> SurrogateLoss:
        return SurrogateLoss(context.train_oracle, self.settings, seed=context.rng)

    def check_settings(self, problem: Problem, solving: SolveConfig) -> None:
        check_settings(self.settings, problem, solving)

    def demand(self, n_y: int) -> Demand:
        points = design.papers_number_of_points(n_y) if self.settings.points is None else self.settings.points
        return Demand(points=points, common_points=self.settings.design == "box", bytes_stored=75)


class PaperGPSurrogate(GPSurrogate):
    """The same with the settings of the paper."""

    name = "gp-surrogate-paper"
    summary = "gp-surrogate with the paper's settings: Latin hypercube, beta 1, smoothed samples, SFGE as fallback"
    settings = PAPER
    common = LOOP
    asynchronous = False


METHODS = (GPSurrogate(), PaperGPSurrogate())
