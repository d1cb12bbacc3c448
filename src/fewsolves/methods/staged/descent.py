"""Stochastic descent on the regret: slopes from a stand-in, corrected by paid antithetic pairs, or by pairs alone.

    i (B,)   rows of a step       e (B, d)  standard normal, or m orthogonal directions     sigma   width of a draw
    R        true regret, paid    S         that of the stand-in                            rho     its coefficient

    paid pair    R+ = R_i(u + sigma e), R- = R_i(u - sigma e)                      two solves
    slope        rho dS/du + w ((R+ - R-) / 2 - rho (S+ - S-) / 2) e / sigma

S is asked before what was paid enters the pool, so that the correction is honest. Without a stand-in S = 0, w = 1: the
black-box gradient by antithetic draws. Single solves (`pay="points"`) teach the stand-in and have no part in the slope.
The rate falls linearly to nothing over a descent of stated length, and what is handed back is the mean of the weights
over its last half.

Every paid solve audits the stand-in, since it is paid where the predictions are now: where the regrets that were paid
rise while those of the stand-in fall, the stand-in is being exploited, and the descent ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves._internal.adam import Adam
from fewsolves.errors import BudgetSpent
from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.scene import Scene
from fewsolves.methods.staged.stand_ins import StandIn
from fewsolves.predictors.boosted.trees import Rounds
from fewsolves.problem import Array

RISING, FALLING = 1.64, 0.0  # standard errors: one-sided 95 %; and what the stand-in says meanwhile
FEWEST_AUDITS = 20  # paid solves in the first and in the last third of those so far
FEWEST_ROWS = 240  # steps through known decisions cost no solve: there are as many as with so many rows
LOWEST_RATE = 0.05  # of the first
TAIL = 0.5  # share of the steps whose weights are averaged
REACH = 1.0  # units by which all rounds of a descent change predictions, if all go one way; and one of them at the most
FARTHEST = 0.15
FORGETTING = 0.99  # of what the coefficient rho is fitted to, by step


@dataclass(frozen=True, kw_only=True)
class Course:
    """How far a descent goes, and what it pays."""

    epochs: float
    solves: float = 0.0  # per row, at the most
    pay: Literal["points", "pairs"] = "pairs"
    sigma: float  # of pairs, and of the probes of a stand-in without slope
    rate: float
    batch: int
    jitter: float = 0.0  # standard deviation of single points around the prediction
    residual: float = 1.0  # w
    directions: int = 6  # probes per row and step of a stand-in without slope
    fit_coefficient: bool = False  # rho by least squares on the paid pairs, else 1
    grow: bool = True  # what is paid enters the pool


class Descent:
    """One descent of `parameters`; `predict(i)` gives the predictions of rows i in the user's units."""

    def __init__(
        self,
        scene: Scene,
        predict: Callable[[Tensor], Tensor],
        parameters: list[nn.Parameter],
        *,
        pool: Pool | None = None,
        stand_in: StandIn | None = None,
        rounds: Rounds | None = None,
    ) -> None:
        """`rounds` grow with each epoch, where the predictor is one of trees."""
        self.rounds = rounds
        self.scene, self.predict, self.parameters = scene, predict, parameters
        self.pool, self.stand_in = pool, stand_in
        self._slope, self._asks = getattr(stand_in, "slope", None), getattr(stand_in, "asks", None)

    def run(self, course: Course, after_epoch: Callable[[float], None] = lambda loss: None) -> bool:
        """Leaves the averaged weights; False where the budget ended it."""
        n = self.scene.n
        steps = max(1, round(course.epochs * self._rows(course) / course.batch))
        optimiser = Adam(self.parameters, course.rate, eps=1e-30, fused=False)  # regrets come in any unit
        self.course, self._rho, self._sums = course, 1.0, np.full(2, 1e-300)
        self._seen: list[float] = []  # regrets that were paid in this epoch
        self._audits: list[tuple[Array, Array]] = []  # regrets that were paid, and what the stand-in said of them
        self.exploited = False
        self._per_step = course.solves * n / steps / (2 if course.pay == "pairs" else 1)
        self._left, self._due = int(course.solves * n + 0.5), 0.0
        mean, averaged, finished = [torch.zeros_like(p) for p in self.parameters], 0, True
        every = max(1, n // course.batch)
        batches = self._batches(course.batch)
        if self.stand_in is not None:
            self.stand_in.prepare(steps * course.batch, 2 * course.directions)
        for step in range(steps):
            if step % every == 0:
                if self.stand_in is not None and course.grow:
                    self.stand_in.refresh()
                if step:
                    after_epoch(self._mean_regret())
                self.exploited = self._rising()
            optimiser.learning_rate = course.rate * max(LOWEST_RATE, 1 - step / steps)
            try:
                self._step(next(batches), optimiser)
            except BudgetSpent:
                finished = False
            if self.rounds is not None and ((step + 1) % every == 0 or step == steps - 1):
                reach = min(FARTHEST, 2 * REACH * every / steps)
                self.rounds.grow(self.scene.narrow * reach * max(LOWEST_RATE, 1 - step / steps))
            if step >= (1 - TAIL) * steps or step == steps - 1 or not finished or self.exploited:
                averaged += 1
                for total, parameter in zip(mean, self.parameters, strict=True):
                    total += parameter.detach()
            if not finished or self.exploited:
                break
        with torch.no_grad():
            for total, parameter in zip(mean, self.parameters, strict=True):
                parameter.copy_(total / averaged)
        after_epoch(self._mean_regret())
        return finished

    def _rows(self, course: Course) -> int:
        """Rows whose number of steps are made: with few rows the steps of an epoch get nowhere."""
        n, asked = self.scene.n, int(course.epochs * FEWEST_ROWS)
        more = n < FEWEST_ROWS and self.stand_in is not None and self.stand_in.affords(asked, 2 * course.directions)
        return FEWEST_ROWS if more else n

    def _step(self, index: Array, optimiser: Adam) -> None:
        y_hat = self.predict(torch.as_tensor(index))
        u = self.scene.units(y_hat.detach().numpy())
        slope = self.scene.weighted(self._gradient(index, u), index)
        if not np.isfinite(slope).all() or not slope.any():
            return
        optimiser.zero_grad()
        by_y_hat = torch.as_tensor(slope / self.scene.scale.std)
        # the sum has this slope, to the last bit; were it given to `backward`, torch would import sympy to check it
        (y_hat * (by_y_hat / len(index))).sum().backward()
        optimiser.step()
        if self.rounds is not None:
            self.rounds.note(torch.as_tensor(index), by_y_hat)

    def _gradient(self, index: Array, u: Array) -> Array:
        """(B, d): the slope of the regret of each row at u."""
        course, rng, (b, d) = self.course, self.scene.rng, u.shape
        paying = self._number_to_pay(b)
        if self.stand_in is None:
            e, slope, predicted = rng.standard_normal((b, 1, d)), np.zeros((b, d)), np.zeros(paying)
        elif self._slope is not None:
            e, slope, predicted = rng.standard_normal((b, 1, d)), self._rho * self._slope(index, u), np.zeros(paying)
            if paying and course.pay == "pairs":
                predicted = self._probe(index[:paying], u[:paying], e[:paying])[:, 0]
        else:
            e = directions(rng, b, course.directions, d)
            probed = self._probe(index, u, e)
            slope = self._rho * np.einsum("bm,bmd->bd", probed, e) / course.directions / course.sigma
            predicted = probed[:paying, 0]
        if paying:
            self._pay(index[:paying], u[:paying], e[:paying, 0], predicted, slope)
        return np.asarray(slope)

    def _probe(self, index: Array, u: Array, e: Array) -> Array:
        """(B, m): half the difference of the stand-in's regrets at u + sigma e and u - sigma e."""
        assert self.stand_in is not None
        m, sigma = e.shape[1], self.course.sigma
        value = self.stand_in.value(index, u, u[:, None] + sigma * np.concatenate([e, -e], axis=1))
        return np.nan_to_num((value[:, :m] - value[:, m:]) / 2)

    def _pay(self, index: Array, u: Array, e: Array, predicted: Array, slope: Array) -> None:
        """Pay for these rows; corrects their `slope` in place."""
        course, paying = self.course, len(index)
        if course.pay == "points" and self._asks is not None:  # elsewhere than at the predictions: no audit of those
            self._take(index, self._asks(index, u))
            return
        if course.pay == "points":
            around = u + course.jitter * self.scene.rng.standard_normal(u.shape)
            said = None if self.stand_in is None else self.stand_in.value(index, u, around[:, None])[:, 0]
            regret = self._take(index, around)
            if said is not None:
                self._audits.append((regret, said))
            return
        twice, around = np.r_[index, index], np.r_[u + course.sigma * e, u - course.sigma * e]
        regret = self._take(twice, around)
        true = (regret[:paying] - regret[paying:]) / 2
        known = ~np.isnan(true)
        off = np.where(known, true - self._rho * predicted, 0.0)
        weight = course.residual if self.stand_in is not None else len(slope) / paying
        slope[:paying] += weight * (off / course.sigma)[:, None] * e
        if course.fit_coefficient:
            x, y = predicted[known], true[known]
            self._sums = FORGETTING * self._sums + [(x * y).sum(), (x * x).sum()]
            self._rho = float(np.clip(self._sums[0] / self._sums[1], 0.0, 1.5))

    def _take(self, index: Array, u: Array) -> Array:
        paid = self.scene.pay(index, u)
        self._left -= len(index)
        self._seen += paid.regret[~np.isnan(paid.regret)].tolist()
        if self.pool is not None and self.course.grow:
            self.pool.learn(index, u, paid)
        return paid.regret

    def _rising(self) -> bool:
        """Whether paid regrets rise from the first to the last third of the audits while the stand-in's fall."""
        if not self._audits:
            return False
        paid, said = (np.concatenate(part) for part in zip(*self._audits, strict=True))
        third = len(paid) // 3
        if third < FEWEST_AUDITS:
            return False

        def change(values: Array) -> float:
            """From the first third to the last, in standard errors."""
            first, last = values[:third], values[-third:]
            error = np.sqrt((np.nanvar(first) + np.nanvar(last)) / third)
            return float((np.nanmean(last) - np.nanmean(first)) / error) if error > 0 else 0.0

        return change(paid) > RISING and change(said) < FALLING

    def _mean_regret(self) -> float:
        """Of what was paid since the last time this was asked."""
        seen, self._seen = self._seen, []
        return float(np.mean(seen)) if seen else float("nan")

    def _number_to_pay(self, b: int) -> int:
        """Rows of this step that pay."""
        self._due += self._per_step
        number = int(min(self._due + 1e-9, b, self._left // (2 if self.course.pay == "pairs" else 1)))
        self._due -= number
        return number

    def _batches(self, size: int) -> Iterator[Array]:
        """Rows in a random order that is drawn anew when it is used up."""
        while True:
            order = self.scene.rng.permutation(self.scene.n)
            yield from (order[k : k + size] for k in range(0, max(1, self.scene.n - size + 1), size))


def directions(rng: np.random.Generator, b: int, m: int, d: int) -> Array:
    """(b, m, d): random directions as long as normal draws, orthogonal in groups of d: no two ask the same."""
    out = rng.standard_normal((b, m, d))
    if d == 1 or m == 1:
        return out
    for k in range(0, m, d):
        group = out[:, k : k + d]
        q = np.linalg.qr(group.transpose(0, 2, 1))[0].transpose(0, 2, 1)
        sign = np.sign(np.einsum("bmd,bmd->bm", q, group))[:, :, None]
        out[:, k : k + d] = q * np.linalg.norm(group, axis=2, keepdims=True) * sign
    return out
