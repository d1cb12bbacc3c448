"""Small networks beside the predictor: from context to the parameters of a form (EGL), from an error to its regret
(LANCER).

Both are float32: they are fitted to noisy regrets, and are most of what their methods compute.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.methods.comparison.local_forms import Form, Preset
from fewsolves.predictors.torch_net import seeded

WIDTH = 500
HEAD = 0.1  # what x adds to the common parameters at first, next to them


def mlp(sizes: Sequence[int], activation: type[nn.Module], rng: np.random.Generator) -> nn.Sequential:
    """Linear layers of the given sizes with `activation` between them."""

    def build() -> nn.Sequential:
        layers: list[nn.Module] = []
        for n_in, n_out in pairwise(sizes):
            layers += [nn.Linear(n_in, n_out), activation()]
        return nn.Sequential(*layers[:-1])

    return seeded(build, int(rng.integers(2**63)))


class ParameterNetwork(nn.Module):
    """x (n, n_x) -> theta (n, *shape) of a form.

    As published, a sigmoid holds every parameter between 0 and 1. Robust: the network adds to a common start, which
    the form chooses for values of the order of 1.
    """

    def __init__(self, n_x: int, form: Form, preset: Preset, rng: np.random.Generator) -> None:
        super().__init__()
        self.form, self.bounded = form, preset == "paper"
        n_out = int(np.prod(form.shape))
        hidden = [WIDTH] * (3 if self.bounded else 2)
        self.net = mlp([n_x, *hidden, n_out], nn.ReLU, rng)
        self.common = nn.Parameter(torch.zeros(form.shape) if self.bounded else form.initial(1, rng)[0])

    def forward(self, x: Tensor) -> Tensor:
        own: Tensor = self.net(x).unflatten(-1, self.form.shape)
        return own.sigmoid() if self.bounded else self.common + HEAD * own


class _Schedule(NamedTuple):
    batch: int | None  # examples in a step; None: all
    epochs: int
    patience: int


SCHEDULES: dict[Preset, _Schedule] = {"paper": _Schedule(None, 100, 10), "robust": _Schedule(32, 200, 20)}


def fit_parameters(
    network: ParameterNetwork, x: Tensor, errors: Tensor, regret: Tensor, rng: np.random.Generator
) -> None:
    """Fit to regrets (n, K) of errors (n, K, d); the network keeps the weights that were best on the held-out pairs."""
    form, f = network.form, network.form.features(errors)
    schedule = SCHEDULES["paper" if network.bounded else "robust"]
    fit, held = _split(regret.shape, network.bounded, rng)

    def error(rows: Tensor, mask: Tensor) -> Tensor:
        square = (form.value(network(x[rows]), f[rows]) - regret[rows]).square()
        return (square * mask[rows]).sum() / mask[rows].sum()

    fit_rows, held_rows = fit.any(1).nonzero()[:, 0], held.any(1).nonzero()[:, 0]
    adam = torch.optim.Adam(network.parameters(), 1e-3, fused=True)
    best, best_error, since = copy.deepcopy(network.state_dict()), float("inf"), 0
    for _ in range(schedule.epochs):
        for rows in fit_rows[torch.as_tensor(rng.permutation(len(fit_rows)))].split(schedule.batch or len(fit_rows)):
            adam.zero_grad()
            error(rows, fit).backward()
            adam.step()
        with torch.no_grad():
            now = float(error(held_rows, held))
        since += 1
        if now < best_error:
            best, best_error, since = copy.deepcopy(network.state_dict()), now, 0
        if since >= schedule.patience:
            break
    network.load_state_dict(best)


def _split(shape: tuple[int, ...], by_pair: bool, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Masks (n, K) to fit on and to choose on: 30 and 30 % of all pairs as published, else 80 and 20 % of the examples.

    Pairs of one example share their x: with some in both parts, the choice cannot see what was learnt by heart.
    """
    draw = torch.as_tensor(rng.uniform(size=shape if by_pair else (shape[0], 1))).expand(shape)
    share = 0.3 if by_pair else 0.8
    return draw < share, (draw >= share) & (draw < (0.6 if by_pair else 1.0))


class RegretNetwork(nn.Module):
    """Error e (n, d) -> regret (n,): two tanh layers of 200 on the squared error, `signed`: on [e+^2, e-^2]."""

    def __init__(self, d: int, *, signed: bool, positive: type[nn.Module], rng: np.random.Generator) -> None:
        super().__init__()
        self.signed, self.positive = signed, positive()
        self.net = mlp([2 * d if signed else d, 200, 200, 1], nn.Tanh, rng)

    def forward(self, e: Tensor) -> Tensor:
        f = torch.cat([e.clamp(min=0), e.clamp(max=0)], dim=-1) if self.signed else e
        value: Tensor = self.positive(self.net(f.square()))[:, 0]
        return value
