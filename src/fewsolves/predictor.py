"""The predictor: x -> y_hat.

x (B, n_x), y_hat (B, n_y)  in the user's units
net                          works between standardised x and standardised y
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

from fewsolves.data import Scale

HIDDEN = 64
M = TypeVar("M", bound=nn.Module)


class Predictor(nn.Module):
    """A torch module between the user's units; `x_scale` and `y_scale` are those of the training part.

    Without scales the module is taken as it is, in the units of X and Y.
    """

    x_mean: Tensor
    x_std: Tensor
    y_mean: Tensor
    y_std: Tensor

    def __init__(self, net: nn.Module, x_scale: Scale | None = None, y_scale: Scale | None = None) -> None:
        super().__init__()
        self.net = net
        for name, scale in (("x", x_scale), ("y", y_scale)):
            for part in ("mean", "std"):
                value = torch.tensor(getattr(scale, part) if scale else float(part == "std"), dtype=torch.float64)
                self.register_buffer(f"{name}_{part}", value)

    def forward(self, x: Tensor) -> Tensor:
        u = (x.double() - self.x_mean) / self.x_std
        parameter = next(self.net.parameters(), None)
        u = self.net(u if parameter is None else u.to(parameter.dtype))
        y_hat: Tensor = self.y_mean + self.y_std * u.double()
        return y_hat


def linear(n_x: int, n_y: int, *, seed: int) -> nn.Module:
    """One linear layer: the predictor of the paper's tables."""
    return seeded(lambda: nn.Linear(n_x, n_y), seed).double()


def network(n_x: int, n_y: int, *, seed: int) -> nn.Module:
    """Two hidden layers of 64 SiLU units."""
    return seeded(
        lambda: nn.Sequential(
            nn.Linear(n_x, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, n_y)
        ),
        seed,
    ).double()


BUILT_IN = {"linear": linear, "network": network}


def redrawn(predictor: Predictor, *, seed: int) -> Predictor:
    """The same architecture and scales with weights drawn anew."""

    def draw() -> Predictor:
        other = copy.deepcopy(predictor)
        for module in other.modules():
            if callable(reset := getattr(module, "reset_parameters", None)):
                reset()
        return other

    return seeded(draw, seed)


def seeded(build: Callable[[], M], seed: int) -> M:
    """What `build` makes, its random weights drawn from `seed`."""
    with torch.random.fork_rng(devices=[]):  # torch initialises from its global state; leave the user's alone
        torch.manual_seed(seed)
        return build()
