"""One machine, jobs of unknown duration: in which order, so that little is late?

y   (n,)   durations                    z   (n,)   the jobs in the order of their processing
w   (n,)   weights of the jobs          d   (n,)   due dates, known            C_j  completion of job j

solve  the order that minimises sum_j w_j (max(0, C_j - d_j) + h C_j) for the predicted durations, exactly, by
       dynamic programming over the sets of jobs done first (Held and Karp, 1962); negative predictions are 0
cost   g(y, z) = the same sum for that order and the true durations
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.panel.responses import Factors, random_signal


@dataclass(frozen=True, eq=False)
class OneMachine(Batched):
    """Solve and cost of one set of jobs."""

    weight: Array
    due: Array
    holding: float

    def solve_batch(self, Y_hat: Array) -> Array:
        durations = np.maximum(0.0, parameter_rows(Y_hat, len(self.weight)))
        Z = np.empty(durations.shape, np.int64)
        _best_orders(np.ascontiguousarray(durations), self.weight, self.due, self.holding, Z)
        return Z

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        Y, Z = parameter_rows(Y, len(self.weight)), np.asarray(Z, dtype=np.int64)
        completion = np.cumsum(np.take_along_axis(Y, Z, axis=1), axis=1)
        price = np.maximum(0.0, completion - self.due[Z]) + self.holding * completion
        cost: Array = (self.weight[Z] * price).sum(axis=1)
        return cost


@njit(cache=True, nogil=True, error_model="numpy")
def _best_orders(durations, weight, due, holding, Z):  # type: ignore[no-untyped-def]
    n = len(weight)
    best = np.zeros(1 << n)  # of a set: least cost of its jobs when they are done first
    last = np.zeros(1 << n, np.int64)
    elapsed = np.zeros(1 << n)
    for b in range(len(durations)):
        for done in range(1, 1 << n):
            top = 0
            while done >> (top + 1):
                top += 1
            time = elapsed[done ^ (1 << top)] + durations[b, top]
            elapsed[done] = time
            best[done] = np.inf
            for j in range(n):
                if done >> j & 1:
                    cost = best[done ^ (1 << j)] + weight[j] * (max(0.0, time - due[j]) + holding * time)
                    if cost < best[done]:
                        best[done], last[done] = cost, j
        done = (1 << n) - 1
        for position in range(n - 1, -1, -1):
            Z[b, position] = last[done]
            done ^= 1 << last[done]


def scheduling(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_jobs: int = 10,
    n_features: int = 5,
    curvature: float = 0.4,
    spread: float = 0.4,
    noise: float = 0.3,
    holding: float = 0.05,  # h, the price of a job's time in the shop, of that of its lateness
) -> Dataset:
    """Due dates spread over the time that all jobs take on average, so that about half of them are tight."""
    fixed = streams.fixed
    level = fixed.uniform(3.0, 12.0, n_jobs)
    jobs = OneMachine(
        fixed.integers(1, 10, n_jobs).astype(np.float64), level.sum() * fixed.uniform(0.15, 0.85, n_jobs), holding
    )
    signal = random_signal(n_jobs, n_features, fixed, curvature=curvature, shared=0.3)
    problem = jobs.problem(name="scheduling")
    source = Factors(signal, level, spread, noise, common=0.3)
    return Dataset(problem, source, *source.draw(n, streams.rows))
