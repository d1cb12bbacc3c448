"""Crews to sites whose work is unknown; which crews are absent is known and differs from row to row.

y   (J,)     hours of work at the sites              z   (M J,)   0 or 1, crew i at site j, crew by crew
a   (M,)     1 where a crew is there: known data of the row
R   (M, J)   hours that crew i does at site j        c   (M, J)   what sending it there costs

cost   g(y, z) = c.z + overtime sum_j max(0, y_j - sum_i R_ij z_ij); NaN where z sends a crew that is absent or two ways
solve  the least g at the predicted hours, by a mixed-integer program (scipy's HiGHS at gap 0); negative ones are 0

Most decisions of other rows send a crew that is absent here. Hours without a crew cost more than a crew too
many: it pays to predict too high.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.panel.responses import Factors, random_signal


@dataclass(frozen=True, eq=False)
class Crews(Batched):
    """Solve and cost; `present` are the known data of the rows. A batch is a loop."""

    hours: Array  # R
    send: Array  # c
    overtime: float

    def solve_batch(self, Y_hat: Array, present: Sequence[tuple[int, ...]]) -> Array:
        Y_hat = np.maximum(0.0, parameter_rows(Y_hat, self.hours.shape[1]))
        return np.array([self._sent(y, a) for y, a in zip(Y_hat, present, strict=True)])

    def cost_batch(self, Y: Array, Z: Array, present: Sequence[tuple[int, ...]]) -> Array:
        Y = parameter_rows(Y, self.hours.shape[1])
        sent = np.asarray(Z, dtype=np.float64).reshape(-1, *self.hours.shape)
        missing = np.maximum(0.0, Y - np.einsum("bij,ij->bj", sent, self.hours)).sum(axis=1)
        cost: Array = np.einsum("bij,ij->b", sent, self.send) + self.overtime * missing
        cost[(sent.sum(axis=2) > np.asarray(present)).any(axis=1)] = np.nan
        return cost

    def _sent(self, y: Array, present: tuple[int, ...]) -> Array:
        """Its variables: z, and the overtime of each site."""
        n_crews, n_sites = self.hours.shape
        size = n_crews * n_sites
        one_site = np.kron(np.eye(n_crews), np.ones(n_sites))
        work = np.vstack([np.diag(row) for row in self.hours]).T
        result = milp(
            np.concatenate([self.send.ravel(), np.full(n_sites, self.overtime)]),
            constraints=[
                LinearConstraint(np.hstack([one_site, np.zeros((n_crews, n_sites))]), -np.inf, np.array(present)),
                LinearConstraint(np.hstack([work, np.eye(n_sites)]), y, np.inf),
            ],
            bounds=Bounds(0.0, np.concatenate([np.ones(size), np.full(n_sites, np.inf)])),
            integrality=np.concatenate([np.ones(size), np.zeros(n_sites)]),
            options={"mip_rel_gap": 0.0},
        )
        if result.x is None:
            raise RuntimeError(f"HiGHS found no decision: {result.message}")
        return np.rint(result.x[:size]).astype(np.int64)


def crews(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_crews: int = 8,
    n_sites: int = 4,
    n_features: int = 5,
    curvature: float = 0.4,
    spread: float = 0.4,
    noise: float = 0.3,
    overtime: float = 6.0,  # of what an hour of a crew costs
    absent: float = 0.2,  # probability
) -> Dataset:
    """Crews are better at some sites than at others; all of them together do twice what is needed."""
    fixed = streams.fixed
    hours = fixed.uniform(6.0, 14.0, (n_crews, n_sites))
    send = 8.0 + fixed.uniform(0.0, 4.0, (n_crews, n_sites))
    level = fixed.uniform(0.7, 1.3, n_sites)
    level *= float(hours.mean(axis=1).sum()) / (2.2 * level.sum())
    gangs = Crews(hours, send, overtime)
    signal = random_signal(n_sites, n_features, fixed, curvature=curvature, shared=0.3)
    problem = gangs.problem(name="crews")
    source = Factors(signal, level, spread, noise, common=0.2, known=partial(_random_presence, n_crews, absent))
    return Dataset(problem, source, *source.draw(n, streams.rows))


def _random_presence(n_crews: int, absent: float, n: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    return [tuple(row) for row in (rng.uniform(size=(n, n_crews)) >= absent).astype(int).tolist()]
