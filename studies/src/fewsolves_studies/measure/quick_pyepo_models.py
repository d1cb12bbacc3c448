"""PyEPO's shortest path, knapsack and travelling salesman with quick exact solvers, which count their solves.

A study of some hundred thousand solves is then over in minutes. They are `optModel`s as PyEPO's own are, on the same
data, and have the same best objective: studies/tests/measure/test_beside_pyepo.py compares them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyepo
from numba import njit
from pyepo.model.bases import knapsackBase, shortestPathBase, tspABBase
from pyepo.model.opt import optModel

from fewsolves_studies.measure.peer_problems import paths_of

GRID, ITEMS, ROOM, NODES = (5, 5), 32, 20.0, 10


class Counting(optModel):
    """Solves by `best`, a function of the costs, and counts."""

    best: Callable[[np.ndarray], np.ndarray]
    solves = 0

    def _getModel(self) -> tuple[None, list[int]]:  # noqa: N802
        return None, []

    def setObj(self, c: np.ndarray) -> None:  # noqa: N802
        self.c = np.asarray(c, dtype=float)

    def solve(self) -> tuple[np.ndarray, float]:
        self.solves += 1
        w = self.best(self.c)
        return w, float(self.c @ w)


class ShortestPath(shortestPathBase, Counting):
    """All paths through a grid, to the right and down, are listed once."""

    def __init__(self, grid: tuple[int, int]) -> None:
        super().__init__(grid)
        self.paths = paths_of(grid)

    def best(self, c: np.ndarray) -> np.ndarray:
        return self.paths[np.argmin(self.paths @ c)]

    @property
    def num_cost(self) -> int:
        return len(self.arcs)


class Knapsack(knapsackBase, Counting):
    """Depth first, by value per weight, bounded by what is left of all dimensions together."""

    def best(self, c: np.ndarray) -> np.ndarray:
        order = np.argsort(-c / self.weights.sum(axis=0))
        w = np.zeros(len(c))
        w[order] = fill(c[order], np.ascontiguousarray(self.weights[:, order]), self.capacity)
        return w


class Tour(tspABBase, Counting):
    """Held and Karp's recursion over sets of nodes."""

    def best(self, c: np.ndarray) -> np.ndarray:
        between, n = np.zeros((self.num_nodes, self.num_nodes)), self.num_nodes
        rows, columns = np.triu_indices(n, 1)
        between[rows, columns] = between[columns, rows] = c
        tour = shortest_tour(between)
        chosen = {tuple(sorted((tour[k - 1], tour[k]))) for k in range(n)}
        return np.array([float(edge in chosen) for edge in self.edges])


@njit
def fill(values: np.ndarray, weights: np.ndarray, room: np.ndarray) -> np.ndarray:
    """The best subset of items that come in falling order of value per weight."""
    n = len(values)
    together = weights.sum(axis=0)
    best, found = 0.0, np.zeros(n)
    taken, left, value = np.zeros(n), room.copy(), 0.0
    k, forward = 0, True
    while True:
        if forward:
            bound, space, j = value, left.sum(), k
            while j < n and values[j] > 0.0 and together[j] <= space:
                bound, space, j = bound + values[j], space - together[j], j + 1
            if j < n and values[j] > 0.0:
                bound += values[j] * space / together[j]
            if value > best:
                best, found = value, taken.copy()
            if k == n or values[k] <= 0.0 or bound <= best + 1e-12:
                forward = False
            else:
                if np.all(weights[:, k] <= left):
                    taken[k], value = 1.0, value + values[k]
                    left -= weights[:, k]
                k += 1
        else:
            k -= 1
            while k >= 0 and taken[k] == 0.0:
                k -= 1
            if k < 0:
                return found
            taken[k], value = 0.0, value - values[k]
            left += weights[:, k]
            k, forward = k + 1, True


@njit
def shortest_tour(between: np.ndarray) -> np.ndarray:
    """The nodes in order, from the last one, which every tour passes."""
    n = len(between) - 1
    least, before = np.full((1 << n, n), np.inf), np.zeros((1 << n, n), dtype=np.int64)
    for j in range(n):
        least[1 << j, j] = between[n, j]
    for some in range(1 << n):
        for j in range(n):
            if least[some, j] < np.inf:
                for k in range(n):
                    if not some & (1 << k):
                        length = least[some, j] + between[j, k]
                        if length < least[some | (1 << k), k]:
                            least[some | (1 << k), k], before[some | (1 << k), k] = length, j
    some, tour = (1 << n) - 1, np.full(n + 1, n)
    j = np.argmin(least[some] + between[:n, n])
    for at in range(1, n + 1):
        tour[at] = j
        some, j = some ^ (1 << j), before[some, j]
    return tour


Made = tuple[Counting, np.ndarray, np.ndarray]  # a model, x, c


def shortest_path(rows: int, seed: int) -> Made:
    return ShortestPath(GRID), *pyepo.data.shortestpath.genData(rows, 5, GRID, deg=4, noise_width=0.5, seed=seed)


def knapsack(rows: int, seed: int) -> Made:
    weights, x, c = pyepo.data.knapsack.genData(rows, 5, ITEMS, dim=2, deg=4, noise_width=0.5, seed=seed)
    return Knapsack(weights, np.full(2, ROOM)), x, c


def tsp(rows: int, seed: int) -> Made:
    return Tour(NODES), *pyepo.data.tsp.genData(rows, 10, NODES, deg=4, noise_width=0.5, seed=seed)


PROBLEMS = {"shortest path": shortest_path, "knapsack": knapsack, "tsp": tsp}
