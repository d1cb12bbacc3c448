"""The three networks of Donti, Amos and Kolter (2017) for the schedule, one seed, about half as many steps as there.

    RMSE       least squares, 500 steps of all rows (there 1,000)
    weighted   least squares with each day and hour weighted by what it cost in the round before, under a spread of 1:
               three rounds of 100 epochs (there ten)
    task       from the first on four fifths of the days, by the slope of the cost through the schedule itself, until
               the last fifth gets no better over 20 steps

The network adds two hidden layers of 200 units (batch normalisation, ReLU, dropout 0.2) to a least-squares line. The
spread that the schedule is given is that of the network's errors on its training days.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.benchmarks.catalogue import Benchmark
from fewsolves.benchmarks.real.pjm import OVER, RAMP, UNDER, hourly_costs
from fewsolves.benchmarks.real.ramped_schedule import schedules, slope_in_mu
from fewsolves.data import Scale
from fewsolves.predictor import seeded
from fewsolves.problem import Array

HIDDEN, DROPOUT = 200, 0.2
STEPS, ROUNDS, EPOCHS, BATCH = 500, 3, 100, 100
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

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.line(x) + self.rest(x)
        return out


class _Scheduled(torch.autograd.Function):
    """mu -> schedule, with the slope of its interior point."""

    @staticmethod
    def forward(ctx: Any, mu: Tensor, sigma: Array) -> Tensor:
        Z, curvature, weight = schedules(mu.detach().numpy(), sigma, UNDER, OVER, RAMP)
        ctx.inside = curvature, weight
        return torch.as_tensor(Z, dtype=mu.dtype)

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        return torch.as_tensor(slope_in_mu(slopes[0].numpy(), *ctx.inside), dtype=slopes[0].dtype), None


def rmse_net(X: Tensor, Y: Tensor, steps: int = STEPS) -> ResidualNet:
    net = ResidualNet(X, Y)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(steps):
        _step(optimiser, nn.functional.mse_loss(net.train()(X), Y))
    return net


def weighted_net(X: Tensor, Y: Tensor, rounds: int = ROUNDS, epochs: int = EPOCHS) -> ResidualNet:
    weights = torch.ones_like(Y)
    for _ in range(rounds):
        net = ResidualNet(X, Y)
        optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
        for _ in range(epochs):
            for x, y, w in zip(X.split(BATCH), Y.split(BATCH), weights.split(BATCH), strict=True):
                _step(optimiser, (w * (net.train()(x) - y) ** 2).mean(dim=0).sqrt().sum())
        with torch.no_grad():
            mu = net.eval()(X).double().numpy()
        Z, *_ = schedules(mu, np.ones(Y.shape[1]), UNDER, OVER, RAMP)  # as published: the spread is set at the end
        weights = torch.as_tensor(hourly_costs(Y.numpy(), Z), dtype=Y.dtype)
    return net


def task_net(X: Tensor, Y: Tensor, steps: int = STEPS, start: int = STEPS) -> ResidualNet:
    held = torch.randperm(len(X)) < HELD_OUT * len(X)
    net = rmse_net(X[~held], Y[~held], start)
    sigma, through = _spread(net, X[~held], Y[~held]), cast(Any, _Scheduled).apply
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-4)
    best, least, since = copy.deepcopy(net), np.inf, 0
    for _ in range(steps):
        _step(optimiser, _cost(through(net.train()(X[~held]), sigma), Y[~held]))
        with torch.no_grad():
            reading = float(_cost(through(net.eval()(X[held]), sigma), Y[held]))
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


def _spread(net: ResidualNet, X: Tensor, Y: Tensor) -> Array:
    with torch.no_grad():
        spread: Array = ((net.eval()(X) - Y) ** 2).mean(dim=0).sqrt().double().numpy()
    return spread


def scheduled(net: ResidualNet, X: Tensor, X_train: Tensor, Y_train: Tensor) -> tuple[Array, Array]:
    """Schedules for X, and the predictions that they are for."""
    with torch.no_grad():
        mu = net.eval()(X).double().numpy()
    return schedules(mu, _spread(net, X_train, Y_train), UNDER, OVER, RAMP)[0], mu


NETS: dict[str, Callable[[Tensor, Tensor], ResidualNet]] = {
    "RMSE net": rmse_net,
    "weighted RMSE net": weighted_net,
    "task net": task_net,
}


def costs_of_net(name: str, dataset: Benchmark, **sizes: int) -> Array:
    """True costs of the test days under one of the networks, trained on all days before them."""
    assert dataset.split is not None
    past = np.sort(np.concatenate([dataset.split.train, dataset.split.valid]))
    scale = Scale.of(dataset.X[past])
    X = torch.as_tensor((dataset.X - scale.mean) / scale.std, dtype=torch.float32)
    Y = torch.as_tensor(dataset.Y, dtype=torch.float32)
    net = seeded(lambda: NETS[name](X[past], Y[past], **sizes), 0)
    Z, _ = scheduled(net, X[dataset.split.test], X[past], Y[past])
    costs: Array = hourly_costs(dataset.Y[dataset.split.test], Z).sum(axis=1)
    return costs
