"""The public shapes of decision-focused learning, each a small definition of our own, with quick solvers that count.

    energy-C    0/1 knapsack of 48 half-hours: values are energy prices, to be maximised, weights 3, 5 or 7, capacity C;
                eight features per half-hour, one linear layer that all half-hours share. The structure is that of the
                SEM-O data of Ifrim, O'Sullivan and Simonis (2012) as Mandi et al. (2020) use them; the data are
                generated here: calendar, forecasts of load, wind and price, and spikes.
    path-D      shortest path through a grid of 5 x 5, costs of degree D in five features: PyEPO's generator
    two-stage   knapsack whose weights are predicted: items are chosen, then the true weights show, and what does not
                fit is dropped at a loss. Which items to drop is a knapsack too: the cost is itself a solve.

`neighbours` gives the vertices next to a decision, where the objective is linear: paths with one detour, and
feasible sets of items that differ by one item or by an exchange of two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn

import fewsolves as fs

HALF_HOURS, FEATURES = 48, 8
GRID = (5, 5)
ITEMS, TWO_STAGE_FEATURES, LOSS = 20, 6, 0.5  # share of an item's value that dropping it costs, beside the value


class Counted:
    """A solver that counts its calls."""

    def __init__(self, best: Callable[[np.ndarray], np.ndarray]) -> None:
        self.best, self.solves = best, 0

    def __call__(self, y_hat: np.ndarray) -> np.ndarray:
        self.solves += 1
        return self.best(y_hat)


class Shape(NamedTuple):
    """A table, fresh rows, and the problem."""

    problem: fs.Problem
    solver: Counted
    X: np.ndarray
    Y: np.ndarray
    X_fresh: np.ndarray
    Y_fresh: np.ndarray
    network: Callable[[], nn.Module]  # untrained; in the units of Y
    neighbours: Callable[[np.ndarray], np.ndarray] | None = None  # (m, d) next to a decision (d,)
    gurobi: Callable[[], Any] | None = None  # the same problem as a model of PyEPO that Gurobi solves

    @property
    def linear(self) -> bool:
        return self.problem.linear is not None


class SharedLayer(nn.Module):
    """One linear layer for all half-hours."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(FEATURES, 1, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = self.layer(x)[:, :, 0]
        return made


@njit
def fill(values: np.ndarray, weights: np.ndarray, room: int) -> np.ndarray:
    """The most valuable subset of items with whole weights within `room`."""
    n = len(values)
    most = np.zeros((n + 1, room + 1))
    for k in range(n):
        for left in range(room + 1):
            most[k + 1, left] = most[k, left]
            if weights[k] <= left and values[k] > 0.0:
                taken = most[k, left - weights[k]] + values[k]
                if taken > most[k + 1, left]:
                    most[k + 1, left] = taken
    chosen, left = np.zeros(n), room
    for k in range(n - 1, -1, -1):
        if most[k + 1, left] != most[k, left]:
            chosen[k] = 1.0
            left -= weights[k]
    return chosen


def energy(capacity: int, rows: int, fresh: int, seed: int) -> Shape:
    """The knapsack of energy prices."""
    rng = np.random.default_rng([seed, 1])
    n = rows + fresh
    hour = np.arange(HALF_HOURS) / HALF_HOURS * 2 * np.pi
    season, weekend = rng.uniform(0, 2 * np.pi, (n, 1)), (rng.uniform(size=(n, 1)) < 2 / 7).astype(float)
    load = -0.6 * np.cos(hour) - 0.3 * np.cos(2 * hour) + 0.5 * np.cos(season) - 0.6 * weekend + 0.6 * smooth(rng, n)
    wind, warm = smooth(rng, n), -0.8 * np.cos(season) + 0.5 * smooth(rng, n)
    mean = np.exp(1.2 + 0.5 * load - 0.35 * wind + 0.15 * np.maximum(load - wind - 1.0, 0.0) - 0.1 * warm)
    spikes = (rng.uniform(size=mean.shape) < 0.04) * rng.gamma(1.0, 4.0, mean.shape) * np.maximum(load, 0.1)
    price = mean * rng.gamma(16.0, 1 / 16, mean.shape) + spikes
    forecast = np.log(mean) + 0.3 * rng.normal(size=mean.shape)
    seen_load, seen_wind = load + 0.15 * rng.normal(size=mean.shape), wind + 0.3 * rng.normal(size=mean.shape)
    parts = (forecast, seen_load, seen_wind, warm, weekend, np.cos(hour), np.sin(hour), np.cos(season))
    X = np.stack([np.broadcast_to(part, mean.shape) for part in parts], axis=2)  # (n, 48, 8)
    weights = np.random.default_rng(7).choice([3, 5, 7], HALF_HOURS)
    solver = Counted(lambda y_hat: fill(np.ascontiguousarray(y_hat), weights, capacity))
    problem = fs.Problem(
        solve=solver,
        cost=lambda y, z: -float(y @ z),
        cost_batch=lambda y, z: -np.einsum("ij,ij->i", y, z),
        linear="max",
        name=f"energy-{capacity}",
    )
    table = X[:rows], price[:rows], X[rows:], price[rows:]
    next_to = partial(exchanges, weights=weights, room=capacity)

    def gurobi() -> Any:
        from pyepo.model.grb import knapsackModel

        return knapsackModel(weights[None], [capacity])

    return Shape(problem, solver, *table, SharedLayer, next_to, gurobi)


def smooth(rng: np.random.Generator, n: int) -> np.ndarray:
    """(n, 48): noise of one day that changes slowly."""
    noise = np.cumsum(rng.normal(size=(n, HALF_HOURS)), axis=1) / np.sqrt(HALF_HOURS)
    return rng.normal(size=(n, 1)) + noise


def exchanges(z: np.ndarray, *, weights: np.ndarray, room: int) -> np.ndarray:
    """Feasible sets that differ from z by one item, or by one item for another."""
    left = room - weights @ z
    inside, outside = np.flatnonzero(z == 1), np.flatnonzero(z == 0)
    moves = [((k,), ()) for k in inside] + [((), (j,)) for j in outside if weights[j] <= left]
    moves += [((k,), (j,)) for k in inside for j in outside if weights[j] - weights[k] <= left]
    made = np.repeat(z[None], len(moves), axis=0)
    for one, (drops, takes) in zip(made, moves, strict=True):
        one[list(drops)], one[list(takes)] = 0.0, 1.0
    return made


def path(degree: int, rows: int, fresh: int, seed: int) -> Shape:
    """PyEPO's shortest path."""
    from pyepo.data import shortestpath

    arcs = arcs_of(GRID)
    paths, steps = paths_of(GRID), np.array([sum(divmod(tail, GRID[1])) for tail, _ in arcs])
    X, Y = shortestpath.genData(rows + fresh, 5, GRID, deg=degree, noise_width=0.5, seed=seed)
    X, Y = X.astype(float), Y.astype(np.float32).astype(float)  # PyEPO 2 rounds the costs, PyEPO 0.3 does not
    solver = Counted(lambda y_hat: paths[np.argmin(paths @ y_hat)])
    problem = fs.Problem(
        solve=solver,
        cost=lambda y, z: float(y @ z),
        cost_batch=lambda y, z: np.einsum("ij,ij->i", y, z),
        linear="min",
        name=f"path-{degree}",
    )
    table = X[:rows], Y[:rows], X[rows:], Y[rows:]
    next_to = partial(detours, paths=paths, steps=steps)

    def gurobi() -> Any:
        from pyepo.model.grb import shortestPathModel

        return shortestPathModel(GRID)

    return Shape(problem, solver, *table, partial(separate, 5, Y.shape[1]), next_to, gurobi)


def arcs_of(grid: tuple[int, int]) -> list[tuple[int, int]]:
    """Arcs to the right and down, in PyEPO's order."""
    height, width = grid
    nodes = [(i, j, i * width + j) for i in range(height) for j in range(width)]
    right = {(i, 0, j): (v, v + 1) for i, j, v in nodes if j < width - 1}
    down = {(i, 1, j): (v, v + width) for i, j, v in nodes if i < height - 1}
    return [arc for _, arc in sorted((right | down).items())]


def paths_of(grid: tuple[int, int]) -> np.ndarray:
    """(paths, arcs): all paths from the first node to the last."""
    number, steps = {arc: k for k, arc in enumerate(arcs_of(grid))}, sum(grid) - 2
    paths = []
    for downs in combinations(range(steps), grid[0] - 1):
        moves = [grid[1] if k in downs else 1 for k in range(steps)]
        nodes = np.cumsum([0, *moves])
        path = np.zeros(len(number))
        path[[number[arc] for arc in pairwise(nodes.tolist())]] = 1.0
        paths.append(path)
    return np.array(paths)


def separate(n_x: int, n_y: int) -> nn.Module:
    return nn.Linear(n_x, n_y, dtype=torch.float64)


def detours(z: np.ndarray, *, paths: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Paths that leave z once and come back to it once; `steps` has the step of a path at which each arc is passed."""
    arcs = np.flatnonzero(z)
    off = paths[:, arcs[np.argsort(steps[arcs])]] == 0  # (paths, steps): where another path is elsewhere
    leaves = (np.diff(off.astype(int), axis=1, prepend=0) == 1).sum(axis=1)
    return np.asarray(paths[leaves == 1])


def two_stage(rows: int, fresh: int, seed: int) -> Shape:
    """Items are chosen by predicted weights; what does not fit under the true ones is dropped."""
    items = np.random.default_rng(11)
    values, mix = items.uniform(5.0, 15.0, ITEMS), items.normal(size=(TWO_STAGE_FEATURES, ITEMS))
    rng = np.random.default_rng([seed, 2])
    X = rng.normal(size=(rows + fresh, TWO_STAGE_FEATURES))
    Y = np.exp(1.6 + 0.25 * X @ mix + 0.15 * (X**2 - 1) @ np.abs(mix) / 2) * rng.gamma(12.0, 1 / 12, (len(X), ITEMS))
    Y = np.clip(Y, 0.5, 40.0)
    room = 40
    solver = Counted(lambda y_hat: fill(values, whole(y_hat), room))

    def cost(y: np.ndarray, z: np.ndarray) -> float:
        kept = fill(values * z, whole(y), room)
        return float(-values @ kept + LOSS * values @ (z - kept))

    problem = fs.Problem(solve=solver, cost=cost, lower=0.5, name="two-stage")
    table = X[:rows], Y[:rows], X[rows:], Y[rows:]
    return Shape(problem, solver, *table, partial(separate, TWO_STAGE_FEATURES, ITEMS))


def whole(weights: np.ndarray) -> np.ndarray:
    """Weights in whole units, rounded up."""
    return np.maximum(1, np.ceil(weights)).astype(np.int64)


Maker = Callable[[int, int, int], Shape]  # rows, fresh rows, seed
SHAPES: dict[str, Maker] = {
    **{f"energy-{capacity}": partial(energy, capacity) for capacity in (60, 120, 180)},
    **{f"path-{degree}": partial(path, degree) for degree in (2, 4, 6)},
    "two-stage": two_stage,
}


def least_squares(shape: Shape) -> Any:
    """The network at least squares on the rows."""
    net = shape.network()
    X, Y, layer = shape.X, shape.Y, getattr(net, "layer", net)
    if isinstance(net, SharedLayer):
        X, Y = X.reshape(-1, FEATURES), Y.reshape(-1, 1)
    W = np.linalg.lstsq(np.c_[X, np.ones(len(X))], Y, rcond=None)[0]
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(W[:-1].T))
        layer.bias.copy_(torch.as_tensor(W[-1]))
    return net
