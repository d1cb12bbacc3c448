"""A round trip over n stops whose travel times are unknown, planned by local search.

y   (n_y,)  travel time of every pair of stops, both ways the same; n_y = n (n - 1) / 2, pairs in the order of
            (0, 1), (0, 2), ..., (n - 2, n - 1)
z   (n,)    the stops in the order of the visit, from stop 0

solve  from the tour 0, 1, ..., n - 1: reverse a stretch (2-opt) or move one to three stops (or-opt), always the
       first change that shortens the predicted tour, until none does: good, often not the best
cost   g(y, z) = the tour's true length
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from fewsolves.demo.sources import Dataset, Streams, parameter_rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.panel.batched import Batched
from fewsolves_studies.benchmarks.panel.responses import Factors, random_signal

LEAST_GAIN = 1e-9  # a change that shortens the tour by less is rounding


@dataclass(frozen=True)
class Tour(Batched):
    """Solve and cost over `n_stops` stops."""

    n_stops: int

    @property
    def n_y(self) -> int:
        return self.n_stops * (self.n_stops - 1) // 2

    def solve_batch(self, Y_hat: Array) -> Array:
        Y_hat = np.ascontiguousarray(parameter_rows(Y_hat, self.n_y))
        Z = np.tile(np.arange(self.n_stops), (len(Y_hat), 1))
        _improve_rows(Y_hat, Z)
        return Z

    def cost_batch(self, Y: Array, Z: Array) -> Array:
        Y, Z = parameter_rows(Y, self.n_y), np.asarray(Z, dtype=np.int64)
        after = np.roll(Z, -1, axis=1)
        first, second = np.minimum(Z, after), np.maximum(Z, after)
        pair = first * (2 * self.n_stops - first - 1) // 2 + second - first - 1
        length: Array = np.take_along_axis(Y, pair, axis=1).sum(axis=1)
        return length


@njit(cache=True, nogil=True, error_model="numpy")
def _improve_rows(Y, Z):  # type: ignore[no-untyped-def]
    n = Z.shape[1]
    D = np.zeros((n, n))
    for b in range(len(Y)):
        k = 0
        for i in range(n):
            for j in range(i + 1, n):
                D[i, j] = D[j, i] = Y[b, k]
                k += 1
        while _reverse(D, Z[b]) or _move(D, Z[b]):
            pass


@njit(cache=True, nogil=True, error_model="numpy")
def _reverse(D, z):  # type: ignore[no-untyped-def]
    """Reverse the first stretch z[i..j] that shortens the tour; False when none does. Stop 0 stays first."""
    n = len(z)
    for i in range(1, n - 1):
        for j in range(i + 1, n):
            before, after = z[i - 1], z[(j + 1) % n]
            if D[before, z[j]] + D[z[i], after] < D[before, z[i]] + D[z[j], after] - LEAST_GAIN:
                z[i : j + 1] = z[i : j + 1][::-1].copy()
                return True
    return False


@njit(cache=True, nogil=True, error_model="numpy")
def _move(D, z):  # type: ignore[no-untyped-def]
    """Move the first stretch of one to three stops to a place where the tour is shorter, either way round."""
    n = len(z)
    for length in range(1, 4):
        for i in range(1, n - length + 1):
            head, tail, before, after = z[i], z[i + length - 1], z[i - 1], z[(i + length) % n]
            saved = D[before, head] + D[tail, after] - D[before, after]
            for k in range(n):  # between z[k] and z[k + 1], both outside of the stretch
                if i - 1 <= k < i + length:
                    continue
                left, right = z[k], z[(k + 1) % n]
                straight = D[left, head] + D[tail, right]
                turned = D[left, tail] + D[head, right]
                if min(straight, turned) - D[left, right] < saved - LEAST_GAIN:
                    part = z[i : i + length].copy()
                    rest = np.concatenate((z[:i], z[i + length :]))
                    place = k + 1 if k < i else k + 1 - length
                    z[:place] = rest[:place]
                    z[place : place + length] = part if straight <= turned else part[::-1]
                    z[place + length :] = rest[place:]
                    return True
    return False


def tour(
    streams: Streams,
    *,
    n: int = 300,  # rows
    n_stops: int = 11,
    n_features: int = 6,
    curvature: float = 0.4,
    spread: float = 0.35,
    noise: float = 0.2,
) -> Dataset:
    """Stops in a square; the time of a leg is its length times a congestion that the features tell in part."""
    fixed = streams.fixed
    trips = Tour(n_stops)
    place = fixed.uniform(0.0, 30.0, (n_stops, 2))
    first, second = np.triu_indices(n_stops, 1)
    base = 3.0 + np.linalg.norm(place[first] - place[second], axis=1)
    signal = random_signal(trips.n_y, n_features, fixed, curvature=curvature, shared=0.2)
    problem = trips.problem(name="tour")
    source = Factors(signal, base, spread, noise, common=0.2)
    return Dataset(problem, source, *source.draw(n, streams.rows))
