"""Stochastic descent of several models side by side: slopes from a stand-in, corrected by paid antithetic pairs.

    i (B,)   rows of a step       e (B, d)  standard normal, or m orthogonal directions     sigma   width of a draw
    R        true regret, paid    S         that of the stand-in                            rho     its coefficient

    paid pair    R+ = R_i(u + sigma e), R- = R_i(u - sigma e)                      two solves
    slope        rho dS/du + w ((R+ - R-) / 2 - rho (S+ - S-) / 2) e / sigma

The stand-in is a control variate: what it predicts costs nothing, and what it leaves over is paid for. S is evaluated
before what was paid enters the pool, so that the residual is honest. Without a stand-in S = 0, and pairs are the
black-box gradient.

All models make a step on the same batch, each on those of its rows that are in its bag, with slopes at its own
predictions. What is paid, around the anchor of the models' predictions, corrects the slope of every model that may see
the row: a model is as good as if it had paid for all solves itself, and so what it does to unseen rows is evidence for
the result.
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
        batches, self._in_bag = self._batches(), membership(models.bags, self.rows.n)
        models.begin()
        coming: list[tuple[Array, Array | None]] = []
        for step in range(steps):
            if self.stand_in is not None and (step == 0 or (plan.grow and step % every == 0)):
                self.stand_in.refresh()
            if not coming:
                coming = self._coming(batches, steps - step)
            rate = max(tuning.lowest_rate, 1 - step / steps)
            batch, paid = coming.pop(0)
            self._step(batch, plan.rate * rate, paid)
            if (step + 1) % every == 0 or step == steps - 1:
                models.end_epoch(rate, steps / every)
                after_epoch(self._mean_regret())
            if step >= (1 - tuning.tail) * steps or step == steps - 1:
                models.collect()
        models.settle()

    def _coming(self, batches: Iterator[Array], left: int) -> list[tuple[Array, Array | None]]:
        """The batches of the next steps, of `left`; with residuals where several steps are paid together."""
        ahead = int(self.at_once / self.per_step) if self.at_once and self.per_step else 1
        if ahead <= 1:
            return [(next(batches), None)]
        some = [next(batches) for _ in range(min(ahead, left))]
        return [*zip(some, self._pay_ahead(some), strict=True)]

    def begin(self, plan: DescentPlan, per_step: float) -> None:
        """Set out on a plan; `per_step` solves are paid in a step on average, and those of the plan at most."""
        self.plan, self._seen = plan, list[float]()
        self.per_step, self._due, self._left = per_step, 0.0, plan.solves

    def _step(self, batch: Array, rate: float, paid: Array | None = None) -> None:
        """One step of all models; `paid` (B, d) are residuals that were paid for before, None: some rows pay now."""
        u = self._predictions(batch)
        slopes = self._slopes_of_models(batch, u)  # before what is paid now changes the stand-in
        paid = self._pay_some(batch, self.models.anchor(u, self.rows.rng)) if paid is None else paid
        for k, slope in slopes.items():
            some = self._in_bag[k, batch]
            of_model = self.rows.weighted(slope + paid[some], batch[some])
            if np.isfinite(of_model).all() and of_model.any():
                self.models.step(k, of_model, rate)

    def _predictions(self, batch: Array) -> Array:
        """(K, B, d): predictions of the rows of a batch by each model, NaN where it may not see the row."""
        u = np.full((len(self._in_bag), len(batch), self.rows.d), np.nan)
        for k, some in enumerate(self._in_bag[:, batch]):
            if some.any():
                u[k, some] = self.models.forward(k, batch[some])
        return u

    def _slopes_of_models(self, batch: Array, u: Array) -> dict[int, Array]:
        """By model, the slope of the stand-in at its predictions of the rows it sees, as far as it is followed."""
        which, some = np.nonzero(self._in_bag[:, batch])
        slope = self._slope(batch[some], u[which, some])
        return {k: slope[which == k] for k in np.unique(which).tolist()}

    def _pay_some(self, batch: Array, u: Array) -> Array:
        """(B, d): what paid residuals at u (B, d) add to the slopes; zero for the rows that pay nothing."""
        chosen, e = self._draws(u)
        out = np.zeros_like(u)
        if len(chosen):
            out[chosen] = self._paid_residual(batch[chosen], u[chosen], e, len(batch))
        return out

    def _draws(self, u: Array) -> tuple[Array, Array]:
        """Positions (m,) of the rows that pay in this step, and their draws (m, d)."""
        rng = self.rows.rng
        chosen = rng.permutation(len(u))[: self._number_to_pay(len(u))]
        if self.models.along is not None:
            return chosen, np.broadcast_to(self.models.along, (len(chosen), u.shape[1]))
        if self.stand_in is None:  # draws for all rows, paid or not: with these the recorded results of pairs repeat
            return chosen, rng.standard_normal(u.shape)[chosen]
        return chosen, rng.standard_normal((len(chosen), u.shape[1]))

    def gradient(self, index: Array, u: Array) -> Array:
        """(B, d): the slope of the regret of each row at u; some rows are paid for."""
        slope = self._slope(index, u)
        return np.asarray(slope + self._pay_some(index, u))

    def _slope(self, index: Array, u: Array) -> Array:
        """(B, d): the slope of the stand-in, as far as it is followed."""
        one, along = self.stand_in, self.models.along
        if one is None:
            return np.zeros(u.shape)
        return one.rho * (one.slope(index, u) if along is None else one.slope_along(index, u, along))

    def _pay_ahead(self, batches: list[Array]) -> list[Array]:
        """Pay for the rows of several steps in one request, at the present predictions: the residuals (B, d) of each.

        Workers then wait for each other once per request, and not once per step.
        """
        sizes = [len(batch) for batch in batches]
        anchors = [self.models.anchor(self._predictions(batch), self.rows.rng) for batch in batches]
        chosen = [self.rows.rng.permutation(size)[: self._number_to_pay(size)] for size in sizes]
        which = np.concatenate([some + first for some, first in zip(chosen, np.cumsum([0, *sizes]), strict=False)])
        index, u = np.concatenate(batches), np.concatenate(anchors)
        out = np.zeros_like(u)
        if len(which):
            along, shape = self.models.along, (len(which), u.shape[1])
            e = self.rows.rng.standard_normal(shape) if along is None else np.broadcast_to(along, shape)
            out[which] = self._paid_residual(index[which], u[which], e, len(index))
        return np.split(out, np.cumsum(sizes)[:-1])

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
        if self.models.along is not None:
            weight /= len(self.models.along)  # exact in one direction, and no part of a mean over draws
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

    def _batches(self) -> Iterator[Array]:
        """Rows of all bags in a random order that is drawn again when it is used up."""
        bag, rng = union(self.models.bags), self.rows.rng
        size = min(self.plan.batch, len(bag))
        while True:
            order = rng.permutation(bag)
            yield from (order[k : k + size] for k in range(0, len(bag) - size + 1, size))


def membership(bags: list[Array], n: int) -> Array:
    """(K, n): whether model k may see row i."""
    seen = np.zeros((len(bags), n), dtype=bool)
    for k, bag in enumerate(bags):
        seen[k, bag] = True
    return seen


def union(bags: list[Array]) -> Array:
    """The rows of all bags, each as often as in the bag that repeats it most."""
    most: dict[int, int] = {}
    for bag in bags:
        for row, times in zip(*np.unique(bag, return_counts=True), strict=True):
            most[row] = max(times, most.get(row, 0))
    rows = np.array(sorted(most), dtype=int)
    return np.repeat(rows, [most[row] for row in rows])


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


def correction_plan(stand_in: StandIn | None, solves: int, rows: TrainingRows, tuning: Tuning) -> DescentPlan:
    """The descent of a correction per output; by pairs where there is no stand-in."""
    sloped = stand_in is not None and stand_in.sloped
    return DescentPlan(
        epochs=tuning.correction_epochs if stand_in is not None else solves / rows.n / 2,
        solves=solves,
        pay="points" if sloped else "pairs",
        jitter=tuning.far,
        sigma=tuning.width(rows.d),
        rate=tuning.correction_rate / math.sqrt(rows.d),
        batch=tuning.batch if stand_in is None or sloped else tuning.probed_batch,
        residual=None if stand_in is None else tuning.residual,
    )
