"""How many agents in every hour of a day, when the calls per hour are unknown; what it costs, a simulation tells.

y   (H,)   arrivals per hour                 z   (H,)   agents in every hour, integers >= 1
mu         calls that one agent serves per hour          theta      rate at which one who waits hangs up

solve  hour by hour, the least number of agents with which a call waits with probability at most `delay` by
       Erlang's C formula: a rule, which knows neither prices nor hang-ups nor what an hour leaves to the next
cost   wages + price of waiting * (time waited) + price of a lost call * (hang-ups), in one simulated day: Poisson
       arrivals, exponential services and patience, so a day is a Markov chain; every call of `cost` is another
       day, unless `frozen`, where a day's randomness follows from y and z
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numba import njit

from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.panel.responses import Factors, random_signal

MOST_AGENTS = 80
GAMMA = np.uint64(0x9E3779B97F4A7C15)  # of splitmix64 (Steele, Lea and Flood, 2014)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, eq=False)
class Staffing(Batched):
    """Solve and cost of one call centre; `rng` gives the days."""

    n_hours: int
    service: float
    patience: float
    delay: float
    wage: float
    waiting: float
    lost: float
    days: int
    frozen: bool
    rng: np.random.Generator

    def solve_batch(self, Y_hat: Array) -> Array:
        rates = np.ascontiguousarray(np.maximum(0.0, parameter_rows(Y_hat, self.n_hours)))
        Z = np.empty(rates.shape, np.int64)
        _erlang(rates / self.service, self.delay, Z)
        return Z

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        Y = np.ascontiguousarray(parameter_rows(Y, self.n_hours))
        Z = np.ascontiguousarray(Z, dtype=np.int64)
        if self.frozen:
            seeds = np.array([zlib.crc32(y.tobytes() + z.tobytes()) for y, z in zip(Y, Z, strict=True)], np.uint64)
        else:
            seeds = self.rng.integers(0, 2**63, len(Y), dtype=np.uint64)
        waited, lost = np.zeros(len(Y)), np.zeros(len(Y))
        _simulate(Y, Z, seeds, self.days, self.service, self.patience, waited, lost)
        cost: Array = self.wage * Z.sum(axis=1) + (self.waiting * waited + self.lost * lost) / self.days
        return cost


@njit(cache=True, nogil=True, error_model="numpy")
def _erlang(loads, delay, Z):  # type: ignore[no-untyped-def]
    for b in range(len(loads)):
        for t in range(loads.shape[1]):
            load, blocked, agents = loads[b, t], 1.0, 0
            while agents < MOST_AGENTS:
                agents += 1
                blocked = load * blocked / (agents + load * blocked)  # Erlang's B, by recursion
                if agents > load and agents * blocked <= delay * (agents - load * (1.0 - blocked)):
                    break
            Z[b, t] = agents


@njit(cache=True, nogil=True, error_model="numpy")
def _simulate(Y, Z, seeds, days, service, patience, waited, lost):  # type: ignore[no-untyped-def]
    for b in range(len(Y)):
        state = seeds[b]
        for _ in range(days):
            calls = 0
            for t in range(Y.shape[1]):
                agents, left = Z[b, t], 1.0
                while True:
                    queue = max(0, calls - agents)
                    leaving = service * (calls - queue)
                    total = Y[b, t] + leaving + patience * queue
                    if total <= 0.0:
                        break
                    state, u = _uniform(state)
                    step = -np.log(1.0 - u) / total
                    if step >= left:
                        waited[b] += queue * left
                        break
                    left -= step
                    waited[b] += queue * step
                    state, u = _uniform(state)
                    u *= total
                    if u < Y[b, t]:
                        calls += 1
                    else:
                        calls -= 1
                        if u >= Y[b, t] + leaving:
                            lost[b] += 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def _uniform(state):  # type: ignore[no-untyped-def]
    """splitmix64: the next state, and a number in [0, 1)."""
    state = state + GAMMA
    bits = (state ^ (state >> np.uint64(30))) * MIX_1
    bits = (bits ^ (bits >> np.uint64(27))) * MIX_2
    bits = bits ^ (bits >> np.uint64(31))
    return state, np.float64(bits >> np.uint64(11)) / 9007199254740992.0


def staffing(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_hours: int = 8,
    n_features: int = 6,
    curvature: float = 0.4,
    spread: float = 0.35,
    noise: float = 0.25,
    service: float = 5.0,  # mu
    patience: float = 3.0,  # theta
    delay: float = 0.4,  # what the rule aims at
    wage: float = 20.0,
    waiting: float = 30.0,  # per hour waited
    lost: float = 25.0,  # per hang-up
    days: int = 1,  # simulated for one cost, and averaged
    frozen: bool = False,
) -> Dataset:
    """A day with a busy middle."""
    fixed = streams.fixed
    hours = np.arange(n_hours)
    level = 20.0 + 25.0 * np.sin(np.pi * (hours + 0.5) / n_hours) * fixed.uniform(0.8, 1.2, n_hours)
    signal = random_signal(n_hours, n_features, fixed, curvature=curvature, shared=0.6)
    rng = np.random.default_rng(fixed.integers(2**63))
    centre = Staffing(n_hours, service, patience, delay, wage, waiting, lost, days, frozen, rng)
    problem = centre.problem(name="staffing", noisy=None if frozen else "cost")
    source = Factors(signal, level, spread, noise, common=0.5)
    return Dataset(problem, source, *source.draw(n, streams.rows))
