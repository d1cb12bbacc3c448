"""The three networks of Donti, Amos and Kolter (2017) for the schedule, with their sizes, steps and rates.

    RMSE       least squares, 1,000 steps of all rows
    weighted   least squares with each day and hour weighted by what it cost in the round before, under a spread of 1:
               ten rounds of 100 epochs in batches of 100 days that follow each other; or, which was not published, of
               100 days in a random order
    task       from the first on four fifths of the days, by the slope of the cost through the schedule itself, until
               the other fifth gets no better over 20 steps, at most 1,000; the best of them is kept

The network adds two hidden layers of 200 units (batch normalisation, ReLU, dropout 0.2) to a least-squares line. With
its predictions the schedule is given a spread, one number per hour: that of the errors on its training days, which the
task net trains too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.data import Scale
from fewsolves.demo.benchmark import Benchmark
from fewsolves.predictors.torch_net import seeded
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.real.pjm import OVER, RAMP, UNDER, hourly_costs
from fewsolves_studies.benchmarks.real.ramped_schedule import schedules, slopes_of

HIDDEN, DROPOUT = 200, 0.2
STEPS, ROUNDS, EPOCHS, BATCH = 1000, 10, 100, 100
HELD_OUT, PATIENCE = 0.2, 20


class ResidualNet(nn.Module):
    """A line and what it leaves."""

    def __init__(self, X: Tensor, Y: Tensor) -> None:
        super().__init__()
        design = torch.cat([X, torch.ones(len(X), 1)], dim=1)
        weights = torch.linalg.lstsq(design.double(), Y.double()).solution.float()
        self.line = nn.Linear(X.shape[1], Y.shape[1])
        with torch.no_grad():
            self.line.weight.copy_(weights[:-1].T)
            self.line.bias.copy_(weights[-1])
        layers: list[nn.Module] = []
        for width in (X.shape[1], HIDDEN):
            layers += [nn.Linear(width, HIDDEN), nn.BatchNorm1d(HIDDEN), nn.ReLU(), nn.Dropout(DROPOUT)]
        self.rest = nn.Sequential(*layers, nn.Linear(HIDDEN, Y.shape[1]))
        self.spread = nn.Parameter(torch.ones(Y.shape[1]))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.line(x) + self.rest(x)
        return out

    def set_spread(self, X: Tensor, Y: Tensor) -> ResidualNet:
        with torch.no_grad():
            self.spread.copy_(((self.eval()(X) - Y) ** 2).mean(dim=0).sqrt())
        return self

    def schedule(self, X: Tensor) -> Tensor:
        """(B, T)"""
        out: Tensor = cast(Any, _Scheduled).apply(self(X), self.spread)
        return out


class _Scheduled(torch.autograd.Function):
    """mu, sigma -> schedule, with its slopes."""

    @staticmethod
    def forward(ctx: Any, mu: Tensor, sigma: Tensor) -> Tensor:
        given = mu.detach().double().numpy(), sigma.detach().double().numpy()
        Z, curvature, weight = schedules(*given, UNDER, OVER, RAMP)
        ctx.inside = Z, *given, curvature, weight
        return torch.as_tensor(Z, dtype=mu.dtype)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, Tensor]:
        in_mu, in_sigma = slopes_of(slopes[0].numpy(), *ctx.inside)
        dtype = slopes[0].dtype
        return torch.as_tensor(in_mu, dtype=dtype), torch.as_tensor(in_sigma.sum(axis=0), dtype=dtype)


def rmse_net(X: Tensor, Y: Tensor, steps: int = STEPS) -> ResidualNet:
    net = ResidualNet(X, Y)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(steps):
        _step(optimiser, nn.functional.mse_loss(net.train()(X), Y))
    return net.set_spread(X, Y)


def weighted_net(
    X: Tensor, Y: Tensor, rounds: int = ROUNDS, epochs: int = EPOCHS, *, shuffled: bool = False
) -> ResidualNet:
    weights = torch.ones_like(Y)
    for _ in range(rounds):
        net = ResidualNet(X, Y)
        optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
        for _ in range(epochs):
            order = torch.randperm(len(X)) if shuffled else torch.arange(len(X))
            for i in order.split(BATCH):
                _step(optimiser, (weights[i] * (net.train()(X[i]) - Y[i]) ** 2).mean(dim=0).sqrt().sum())
        with torch.no_grad():  # as published: the spread is 1 until it is set at the end
            weights = torch.as_tensor(hourly_costs(Y.numpy(), net.eval().schedule(X).numpy()), dtype=Y.dtype)
    return net.set_spread(X, Y)


def task_net(X: Tensor, Y: Tensor, steps: int = STEPS, start: int = STEPS) -> ResidualNet:
    held = torch.randperm(len(X)) < HELD_OUT * len(X)
    net = rmse_net(X[~held], Y[~held], start)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-4)
    best, least, since = copy.deepcopy(net), np.inf, 0
    for _ in range(steps):
        _step(optimiser, _cost(net.train().schedule(X[~held]), Y[~held]))
        with torch.no_grad():
            reading = float(_cost(net.eval().schedule(X[held]), Y[held]))
        since += 1
        if reading < least:
            best, least, since = copy.deepcopy(net), reading, 0
        elif since >= PATIENCE:
            break
    return best


def _cost(z: Tensor, y: Tensor) -> Tensor:
    miss = z - y
    return (UNDER * (-miss).clamp(min=0) + OVER * miss.clamp(min=0) + 0.5 * miss**2).mean(dim=0).sum()


def _step(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


NETS: dict[str, Callable[..., ResidualNet]] = {
    "RMSE net": rmse_net,
    "weighted RMSE net": weighted_net,
    "task net": task_net,
}
SHUFFLED = "weighted RMSE net, days shuffled"


def costs_of_net(name: str, dataset: Benchmark, **sizes: int) -> Array:
    """True costs of the test days under one of the networks, trained on all days before them."""
    assert dataset.split is not None
    past = np.sort(np.concatenate([dataset.split.train, dataset.split.valid]))
    scale = Scale.of(dataset.X[past])
    X = torch.as_tensor((dataset.X - scale.mean) / scale.std, dtype=torch.float32)
    Y = torch.as_tensor(dataset.Y, dtype=torch.float32)
    train = NETS | {SHUFFLED: partial(weighted_net, shuffled=True)}
    net = seeded(lambda: train[name](X[past], Y[past], **sizes), 0)
    with torch.no_grad():
        Z = net.eval().schedule(X[dataset.split.test]).double().numpy()
    costs: Array = hourly_costs(dataset.Y[dataset.split.test], Z).sum(axis=1)
    return costs
