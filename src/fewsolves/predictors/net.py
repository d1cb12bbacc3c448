"""The net inside a predictor: its weights, forward and backward pass, in NumPy arrays.

u (B, ...)   standardised inputs       v (B, n_y)   standardised predictions        slope (B, n_y)  of the loss by v
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self

from fewsolves.errors import InputError
from fewsolves.problem import Array


class Net(Protocol):
    """A function from u to v with weights: `Dense`, those `Around` another, `BoostedTrees`, and torch modules."""

    @property
    def relative_rate(self) -> float | None:
        """A learning rate of its own, relative to that of a linear layer; None: by its form."""

    @property
    def features(self) -> int:
        """Inputs of its first layer; 0 where that is not known."""

    @property
    def one_layer(self) -> bool:
        """Whether it is one linear layer, with a bias or without."""

    @property
    def layer(self) -> tuple[Array, Array] | None:
        """Weight (n_y, n_x) and bias (n_y,) of a net that is one linear layer; None of another."""

    def weights(self) -> list[Array]:
        """The trained weights, in the memory that the net computes with."""

    def names(self) -> list[str]:
        """The names of the arrays of `arrays`."""

    def redrawn(self, seed: int) -> Any:
        """A net of the same form with new random weights."""

    def arrays(self) -> dict[str, Array]:
        """Copies of all that it consists of, by the names that they have in files."""

    def load(self, arrays: Mapping[str, Array]) -> None:
        """Take what `arrays` returned; raises ValueError, KeyError or RuntimeError where it does not fit."""

    def __call__(self, u: Array) -> Array:
        """v."""

    def forward(self, u: Array) -> tuple[Array, Any]:
        """v, and what `backward` needs."""

    def backward(self, slope: Array, kept: Any) -> list[Array | None]:
        """The slopes of the loss by `weights`; None of one that has no part in it."""


class Around:
    """A net that computes with another one, in whose names the `prefix` comes first.

    Subclasses define `forward` and, where they have weights of their own, the rest.
    """

    prefix: ClassVar[str]
    relative_rate: float | None = None
    features, one_layer, layer = 0, False, None

    def __init__(self, net: Any) -> None:
        self.net = net

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.net!r})"

    def weights(self) -> list[Array]:
        """The trained weights."""
        return list(self.net.weights())

    def names(self) -> list[str]:
        """The names of the arrays of `arrays`."""
        return [f"{self.prefix}{name}" for name in self.net.names()]

    def arrays(self) -> dict[str, Array]:
        """Copies of all of it."""
        return {f"{self.prefix}{name}": values for name, values in self.net.arrays().items()}

    def load(self, arrays: Mapping[str, Array]) -> None:
        """Take what `arrays` gave."""
        start = self.prefix
        self.net.load({name.removeprefix(start): of for name, of in arrays.items() if name.startswith(start)})

    def redrawn(self, seed: int) -> Self:
        """The same with other random weights of the net."""
        other = copy.deepcopy(self)
        other.net = self.net.redrawn(seed)
        return other

    def __call__(self, u: Array) -> Array:
        return self.forward(u)[0]

    def forward(self, u: Array) -> tuple[Array, Any]:
        """v, and what `backward` needs."""
        raise NotImplementedError

    def backward(self, slope: Array, kept: Any) -> list[Array | None]:
        """The slopes by `weights`."""
        return list(self.net.backward(slope, kept))


def is_torch_module(given: Any) -> bool:
    """Whether this is a torch module; where torch is not imported, nothing is."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(given, torch.nn.Module)


def as_net(given: Any) -> Net:
    """The net itself, or that of a torch module."""
    if is_torch_module(given):
        from fewsolves.predictors.torch_net import TorchNet

        return TorchNet(given)
    if not hasattr(given, "backward"):
        raise InputError(f"a predictor is made of a torch module, got {type(given).__name__}")
    net: Net = given
    return net
