"""Jobs of unknown duration on parallel machines, by a rule of the shop floor.

y   (n,)   durations                    z   (2 n,)  the jobs in the order of their start, then their machines
w   (n,)   weights of the jobs          d   (n,)    due dates, known           C_j   completion of job j

solve  whenever a machine is free, by the predicted durations p, it starts the waiting job of largest
       w_j / p_j exp(-max(0, d_j - p_j - t) / (k mean p))          (apparent tardiness cost: Vepsalainen and
       Morton, 1987); a prediction below `SHORTEST` counts as that; the rule has no regard to what follows
cost   g(y, z) = sum_j w_j (max(0, C_j - d_j) + h C_j): every machine works through its list, true durations
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.panel.responses import Factors, random_signal

SHORTEST = 0.1


@dataclass(frozen=True, eq=False)
class Dispatching(Batched):
    """Solve and cost of one set of jobs."""

    weight: Array
    due: Array
    n_machines: int
    look_ahead: float
    holding: float

    def solve_batch(self, Y_hat: Array) -> Array:
        durations = np.ascontiguousarray(np.maximum(SHORTEST, parameter_rows(Y_hat, len(self.weight))))
        Z = np.empty((len(durations), 2 * len(self.weight)), np.int64)
        _dispatch(durations, self.weight, self.due, self.n_machines, self.look_ahead, Z)
        return Z

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        Y = np.ascontiguousarray(parameter_rows(Y, len(self.weight)))
        cost = np.zeros(len(Y))
        _work(Y, np.ascontiguousarray(Z, dtype=np.int64), self.weight, self.due, self.n_machines, self.holding, cost)
        return cost


@njit(cache=True, nogil=True, error_model="numpy")
def _dispatch(durations, weight, due, n_machines, look_ahead, Z):  # type: ignore[no-untyped-def]
    n = len(weight)
    for b in range(len(durations)):
        p = durations[b]
        scale = look_ahead * p.mean()
        free = np.zeros(n_machines)
        waiting = np.ones(n, np.bool_)
        for position in range(n):
            machine = np.argmin(free)
            best, job = -np.inf, -1
            for j in range(n):
                if waiting[j]:  # the logarithm of the index, which cannot underflow
                    index = np.log(weight[j] / p[j]) - max(0.0, due[j] - p[j] - free[machine]) / scale
                    if index > best:
                        best, job = index, j
            waiting[job] = False
            free[machine] += p[job]
            Z[b, position], Z[b, n + position] = job, machine


@njit(cache=True, nogil=True, error_model="numpy")
def _work(Y, Z, weight, due, n_machines, holding, cost):  # type: ignore[no-untyped-def]
    n = len(weight)
    for b in range(len(Y)):
        free = np.zeros(n_machines)
        for position in range(n):
            job, machine = Z[b, position], Z[b, n + position]
            free[machine] += Y[b, job]
            cost[b] += weight[job] * (max(0.0, free[machine] - due[job]) + holding * free[machine])


def dispatching(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_jobs: int = 12,
    n_machines: int = 3,
    n_features: int = 5,
    curvature: float = 0.4,
    spread: float = 0.4,
    noise: float = 0.3,
    look_ahead: float = 1.0,  # k
    holding: float = 0.05,  # h
) -> Dataset:
    """Due dates spread over the time that the machines need on average."""
    fixed = streams.fixed
    level = fixed.uniform(3.0, 15.0, n_jobs)
    shop = Dispatching(
        fixed.integers(1, 10, n_jobs).astype(np.float64),
        level.sum() / n_machines * fixed.uniform(0.2, 1.0, n_jobs),
        n_machines,
        look_ahead,
        holding,
    )
    signal = random_signal(n_jobs, n_features, fixed, curvature=curvature, shared=0.3)
    problem = shop.problem(name="dispatching")
    source = Factors(signal, level, spread, noise, common=0.3)
    return Dataset(problem, source, *source.draw(n, streams.rows))
