"""The predictor: x -> y_hat.

x (B, n_x), y_hat (B, n_y)  in the user's units
net                          works between standardised x and standardised y
l, h (n_y,)                  bounds of y_hat, where the problem has any; w  a tenth of the standard deviation of y

    y_hat' = l + w log(1 + exp((y_hat - l) / w))        above l, and y_hat itself from some w above it on; h likewise

So a prediction that a bound holds back still has a slope, and training can bring it back.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from fewsolves._internal import dense
from fewsolves.data import Scale
from fewsolves.problem import Array

HIDDEN = 64
DEEP_RATE = 0.15  # learning rate of a network, relative to that of a linear layer
FEATURES = 8  # up to which the rate need not fall
SOFT = 0.1  # w, in standard deviations of y; and no more than
NARROW = 0.05  # of the room between two bounds
M = TypeVar("M", bound=nn.Module)


class Predictor(nn.Module):
    """A torch module between the user's units; `x_scale` and `y_scale` are those of the training part.

    Args:
        net: A torch module from x (B, n_x) to y_hat (B, n_y).
        x_scale: Mean and standard deviation of X; the module then gets standardised x. None: x as it is.
        y_scale: Mean and standard deviation of Y; the module then gives standardised y_hat. None: y_hat as it is.
        bounds: Lower and upper bounds of y_hat, of one entry or of n_y each. None: none.
    """

    x_mean: Tensor
    x_std: Tensor
    y_mean: Tensor
    y_std: Tensor

    def __init__(
        self,
        net: nn.Module,
        x_scale: Scale | None = None,
        y_scale: Scale | None = None,
        bounds: tuple[Array, Array] | None = None,
    ) -> None:
        super().__init__()
        self.net = net
        for name, scale in (("x", x_scale), ("y", y_scale)):
            for part in ("mean", "std"):
                value = torch.tensor(getattr(scale, part) if scale else float(part == "std"), dtype=torch.float64)
                self.register_buffer(f"{name}_{part}", value)
        self.bounds = bounds

    @property
    def is_linear(self) -> bool:
        """Whether the module is one linear layer."""
        return isinstance(self.net, nn.Linear)

    @property
    def dense_layers(self) -> list[Tensor] | None:
        """Weights and biases of a built-in module, layer by layer; None of another."""
        net = self.net
        return dense.layers_of(net) if isinstance(net, dense.Linear | dense.Network) else None

    @property
    def rate(self) -> float:
        """A learning rate for the module, relative to that of a linear layer of few features.

        A step moves all weights by about the rate, so what it does to a prediction grows as the root of the features.
        """
        own: float | None = getattr(self.net, "relative_rate", None)
        if own is not None:
            return own
        first = next((layer for layer in self.net.modules() if isinstance(layer, nn.Linear)), None)
        features = first.in_features if first is not None else 0
        return (1.0 if self.is_linear else DEEP_RATE) * math.sqrt(FEATURES / max(features, FEATURES))

    def forward(self, x: Tensor) -> Tensor:
        """Predictions y_hat (B, n_y).

        Args:
            x: (B, n_x) Context.
        """
        u = (x.double() - self.x_mean) / self.x_std
        parameter = next(self.net.parameters(), None)
        u = self.net(u if parameter is None else u.to(parameter.dtype))
        y_hat: Tensor = self.y_mean + self.y_std * u.double()
        return y_hat if self.bounds is None else self.within_bounds(y_hat)

    @property
    def linear(self) -> bool:
        """Whether predictions are linear in x, but for bounds."""
        return isinstance(self.net, nn.Linear)

    def within_bounds(self, y_hat: Tensor) -> Tensor:
        """Predictions (B, n_y) softly held within the bounds.

        Args:
            y_hat: (B, n_y) Predictions.
        """
        assert self.bounds is not None
        low, high = map(torch.as_tensor, self.bounds)
        width = torch.minimum(SOFT * self.y_std, NARROW * (high - low))
        for bound, sign in ((low, 1.0), (high, -1.0)):
            if_any = torch.where(bound.isfinite(), bound, 0.0)  # infinity would make slopes NaN, chosen or not
            soft = bound + sign * width * softplus(sign * (y_hat - if_any) / width)
            y_hat = torch.where(bound.isfinite(), soft, y_hat)
        return y_hat.clamp(low, high)


def linear(n_x: int, n_y: int, *, seed: int) -> nn.Module:
    """One linear layer: the predictor of the paper's tables."""
    return seeded(lambda: dense.Linear(n_x, n_y), seed).double()


def network(n_x: int, n_y: int, *, seed: int) -> nn.Module:
    """Two hidden layers of 64 SiLU units."""
    return seeded(lambda: dense.network(n_x, HIDDEN, HIDDEN, n_y), seed).double()


BUILT_IN = {"linear": linear, "network": network}


def rebuilt(net: nn.Module, weights: Mapping[str, Array], bounds: tuple[Array, Array] | None = None) -> Predictor:
    """A predictor from its weights and scales; `net` has its form."""
    predictor = net
    if not isinstance(net, Predictor):
        scales = [Scale(weights[f"{of}_mean"], weights[f"{of}_std"]) for of in ("x", "y")]
        predictor = Predictor(net, scales[0], scales[1], bounds)
    predictor.load_state_dict({name: torch.tensor(values) for name, values in weights.items()})
    assert isinstance(predictor, Predictor)
    return predictor


def redrawn(predictor: Predictor, *, seed: int) -> Predictor:
    """The same architecture and scales with new random weights."""

    def draw() -> Predictor:
        other = copy.deepcopy(predictor)
        for module in other.modules():
            if callable(reset := getattr(module, "reset_parameters", None)):
                reset()
        return other

    return seeded(draw, seed)


def seeded(build: Callable[[], M], seed: int) -> M:
    """Call `build` with random weights drawn from `seed`."""
    with torch.random.fork_rng(devices=[]):  # torch initialises from its global state; leave the user's alone
        torch.manual_seed(seed)
        return build()
