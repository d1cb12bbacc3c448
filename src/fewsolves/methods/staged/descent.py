"""Stochastic descent of several models side by side: slopes from a stand-in, corrected by paid antithetic pairs.

    i (B,)   rows of a step       e (B, d)  standard normal, or m orthogonal directions     sigma   width of a draw
    R        true regret, paid    S         that of the stand-in                            rho     its coefficient

    paid pair    R+ = R_i(u + sigma e), R- = R_i(u - sigma e)                      two solves
    slope        rho dS/du + w ((R+ - R-) / 2 - rho (S+ - S-) / 2) e / sigma

The stand-in is a control variate: what it predicts costs nothing, and what it leaves over is paid for. S is evaluated
before what was paid enters the pool, so that the residual is honest. Without a stand-in S = 0, and pairs are the
black-box gradient. Each model has batches of its own bag and slopes at its own predictions; all models learn from one
pool, and the solves of a step are shared out among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.replicas import Replicas
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.methods.staged.stand_ins.base import DescentPlan, StandIn
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.problem import Array


class Descent:
    """One descent of `models`; the averaged weights are left in them."""

    def __init__(
        self,
        rows: TrainingRows,
        models: Replicas,
        pool: Pool | None,
        stand_in: StandIn | None,
        tuning: Tuning,
        at_once: int | None = None,
    ) -> None:
        """`at_once`: solves that are requested together. None: those of a step."""
        self.rows, self.models, self.pool, self.stand_in, self.tuning = rows, models, pool, stand_in, tuning
        self.at_once = at_once

    def run(self, plan: DescentPlan, after_epoch: Callable[[float], None] = lambda regret: None) -> None:
        """Make all steps of the plan; `after_epoch` gets the mean regret that was paid since it was last called."""
        tuning, models = self.tuning, self.models
        counted = self.rows.n if self.stand_in is None else max(self.rows.n, tuning.steps_rows)
        steps, every = max(1, round(plan.epochs * counted / plan.batch)), max(1, counted // plan.batch)
        self.begin(plan, plan.solves / steps)
        batches = [self._batches(bag) for bag in models.bags]
        ahead = max(1, int(self.at_once / self.per_step)) if self.at_once and self.per_step else 1
        models.begin()
        for step in range(steps):
            if self.stand_in is not None and (step == 0 or (plan.grow and step % every == 0)):
                self.stand_in.refresh()
            if step % ahead == 0:
                coming = [[next(some) for some in batches] for _ in range(min(ahead, steps - step))]
                paid = None if ahead == 1 else self._pay_ahead(coming)
            rate = max(tuning.lowest_rate, 1 - step / steps)
            self._step(coming[step % ahead], plan.rate * rate, None if paid is None else paid[step % ahead])
            if (step + 1) % every == 0 or step == steps - 1:
                models.end_epoch(rate, steps / every)
                after_epoch(self._mean_regret())
            if step >= (1 - tuning.tail) * steps or step == steps - 1:
                models.collect()
        models.settle()

    def begin(self, plan: DescentPlan, per_step: float) -> None:
        """Set out on a plan; `per_step` solves are paid in a step on average, and those of the plan at most."""
        self.plan, self._seen = plan, list[float]()
        self.per_step, self._due, self._left = per_step, 0.0, plan.solves

    def _step(self, batches: list[Array], rate: float, paid: Array | None = None) -> None:
        """One step of all models; `paid` (B, d) are residuals that were paid for before, None: some rows pay now."""
        index, u = np.concatenate(batches), self._predictions(batches)
        slope = self.gradient(index, u) if paid is None else self._slope(index, u) + paid
        slope = self.rows.weighted(slope, index)
        ends = np.cumsum([len(batch) for batch in batches])
        for k, part in enumerate(np.split(slope, ends[:-1])):
            if np.isfinite(part).all() and part.any():
                self.models.step(k, part, rate)

    def gradient(self, index: Array, u: Array) -> Array:
        """(B, d): the slope of the regret of each row at u; some rows are paid for."""
        b, rng = len(index), self.rows.rng
        chosen = rng.permutation(b)[: self._number_to_pay(b)]
        slope = self._slope(index, u)
        if self.stand_in is None:  # draws for all rows, paid or not: with these the recorded results of pairs repeat
            e = rng.standard_normal(u.shape)[chosen]
        else:
            e = rng.standard_normal((len(chosen), u.shape[1]))
        if len(chosen):
            slope[chosen] += self._paid_residual(index[chosen], u[chosen], e, b)
        return np.asarray(slope)

    def _slope(self, index: Array, u: Array) -> Array:
        """(B, d): the slope of the stand-in, as far as it is followed."""
        return np.zeros(u.shape) if self.stand_in is None else self.stand_in.rho * self.stand_in.slope(index, u)

    def _predictions(self, batches: list[Array]) -> Array:
        """u (B, d) of the rows of a step, each by the model whose batch it is in."""
        return np.concatenate([self.models.forward(k, batch) for k, batch in enumerate(batches)])

    def _pay_ahead(self, steps: list[list[Array]]) -> list[Array]:
        """Pay for the rows of several steps in one request, at the present predictions: the residuals (B, d) of each.

        Workers then wait for each other once per request, and not once per step.
        """
        index, u = [*map(np.concatenate, steps)], [*map(self._predictions, steps)]
        out, rng = [np.zeros(one.shape) for one in u], self.rows.rng
        chosen = [rng.permutation(len(rows))[: self._number_to_pay(len(rows))] for rows in index]
        if any(map(len, chosen)):
            rows, at = (np.concatenate([of[k] for of, k in zip(them, chosen, strict=True)]) for them in (index, u))
            residual = self._paid_residual(rows, at, rng.standard_normal(at.shape), sum(map(len, index)))
            parts = np.split(residual, np.cumsum([len(k) for k in chosen])[:-1])
            for one, k, part in zip(out, chosen, parts, strict=True):
                one[k] = part
        return out

    def _paid_residual(self, index: Array, u: Array, e: Array, b: int) -> Array:
        """Pay for these of the b rows of a step: what is added to their slopes; nothing for single points."""
        plan, m = self.plan, len(index)
        if plan.pay == "points":
            drawn = u + plan.jitter * e
            self._take(index, drawn if self.stand_in is None else self.stand_in.query_points(index, u, drawn))
            return np.zeros_like(u)
        predicted = np.zeros(m)
        if self.stand_in is not None:  # before what is paid enters the pool
            value = self.stand_in.value(index, u, u[:, None] + plan.sigma * np.stack([e, -e], axis=1))
            predicted = np.nan_to_num((value[:, 0] - value[:, 1]) / 2)
        regret = self._take(np.r_[index, index], np.r_[u + plan.sigma * e, u - plan.sigma * e])
        true = (regret[:m] - regret[m:]) / 2
        known = ~np.isnan(true)
        rho = 0.0 if self.stand_in is None else self.stand_in.rho
        residual = np.where(known, true - rho * predicted, 0.0)
        if self.stand_in is not None:
            self.stand_in.fit_rho(predicted[known], true[known])
        weight = b / m if plan.residual is None else plan.residual
        return np.asarray(weight * (residual / plan.sigma)[:, None] * e)

    def _take(self, index: Array, u: Array) -> Array:
        paid = self.rows.pay(index, u)
        self._left -= len(index)
        self._seen += paid.regret[~np.isnan(paid.regret)].tolist()
        if self.pool is not None and self.plan.grow:
            self.pool.learn(index, u, paid)
        return paid.regret

    def _mean_regret(self) -> float:
        seen, self._seen = self._seen, []
        return float(np.mean(seen)) if seen else float("nan")

    def _number_to_pay(self, b: int) -> int:
        """Rows of this step that pay."""
        each = 2 if self.plan.pay == "pairs" else 1
        self._due += self.per_step / each
        number = int(min(self._due + 1e-9, b, self._left // each))
        self._due -= number
        return number

    def _batches(self, bag: Array) -> Iterator[Array]:
        """Rows of a bag in a random order that is drawn again when it is used up."""
        size, rng = min(self.plan.batch, len(bag)), self.rows.rng
        while True:
            order = rng.permutation(bag)
            yield from (order[k : k + size] for k in range(0, len(bag) - size + 1, size))


def pairs_plan(solves: int, rows: TrainingRows, tuning: Tuning) -> DescentPlan:
    """Antithetic pairs, and nothing else."""
    per_row = solves / rows.n
    return DescentPlan(
        epochs=per_row / 2,
        solves=solves,
        sigma=tuning.width(rows.d),
        rate=tuning.rate / math.sqrt(rows.d),
        batch=int(np.clip(8 * math.sqrt(per_row), 16, 64)),
    )
