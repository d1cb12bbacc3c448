"""A torch module as a net: the one place where a predictor meets torch (`pip install 'fewsolves[torch]'`).

The module keeps its weights, of any precision; they are trained in its own memory, by NumPy.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.errors import InputError
from fewsolves.problem import Array

if TYPE_CHECKING:
    from fewsolves.predictors.predictor import Predictor

LOOKED_AT, DRAWS, SMALL = 64, 4, 1e-3  # rows, changes of all weights, and their size, by which a step is measured
T = TypeVar("T")
NUMPY_TYPES = (torch.float16, torch.float32, torch.float64)  # NumPy, which trains the weights, has no bfloat16
FEATURES = 8  # of the linear layer that a step is compared with


class TorchNet:
    """The module computes in its evaluation mode, on the CPU."""

    def __init__(self, module: nn.Module) -> None:
        for name, values in (*module.named_parameters(), *module.named_buffers()):
            if nn.parameter.is_lazy(values):
                raise InputError(f"{name!r} of {type(module).__name__} has no shape yet; call the module with x first")
            if (values.is_floating_point() or values.is_complex()) and values.dtype not in NUMPY_TYPES:
                raise InputError(
                    f"{name!r} of {type(module).__name__} is of type {values.dtype}, which cannot be trained here: "
                    f"give module.float()"
                )
        self.module = module

    def __repr__(self) -> str:
        return repr(self.module)

    @property
    def relative_rate(self) -> float | None:
        own: float | None = getattr(self.module, "relative_rate", None)
        return own

    @property
    def features(self) -> int:
        first = next((layer for layer in self.module.modules() if isinstance(layer, nn.Linear)), None)
        return first.in_features if first is not None else 0

    @property
    def one_layer(self) -> bool:
        return isinstance(self.module, nn.Linear)

    @property
    def layer(self) -> tuple[Array, Array] | None:
        if not isinstance(self.module, nn.Linear) or self.module.bias is None:
            return None
        if len(self._trained()) < 2:  # methods write both parts of a layer, and a frozen one must stay as it is
            return None
        return self.module.weight.detach().numpy(), self.module.bias.detach().numpy()

    def weights(self) -> list[Array]:
        return [one.detach().numpy() for one in self._trained()]

    def names(self) -> list[str]:
        return list(self.module.state_dict())

    def arrays(self) -> dict[str, Array]:
        return {name: values.detach().numpy().copy() for name, values in self.module.state_dict().items()}

    def load(self, arrays: Mapping[str, Array]) -> None:
        self.module.load_state_dict({name: torch.tensor(values) for name, values in arrays.items()})

    def __call__(self, u: Array) -> Array:
        with torch.no_grad():
            v: Array = by_output(self.module(self._input(u))).double().numpy()
        return v

    def forward(self, u: Array) -> tuple[Array, Tensor]:
        with torch.enable_grad():
            v = by_output(self.module(self._input(u))).double()
        return v.detach().numpy(), v

    def backward(self, slope: Array, kept: Tensor) -> list[Array | None]:
        trained = self._trained()
        for one in trained:
            one.grad = None
        if trained and kept.requires_grad:
            # the sum has this slope; were it given to `backward`, torch would import sympy to check it
            with torch.enable_grad():
                (kept * torch.as_tensor(slope)).sum().backward()
        return [None if one.grad is None else one.grad.numpy() for one in trained]

    def double(self) -> TorchNet:
        """A copy in double precision."""
        return TorchNet(copy.deepcopy(self.module).double())

    def redrawn(self, seed: int) -> TorchNet:
        """The same architecture with new random weights."""

        def draw() -> TorchNet:
            other = copy.deepcopy(self.module)
            for module in other.modules():
                if callable(reset := getattr(module, "reset_parameters", None)):
                    reset()
            return TorchNet(other)

        return seeded(draw, seed)

    def _trained(self) -> list[Tensor]:
        return [one for one in self.module.parameters() if one.requires_grad]

    def _input(self, u: Array) -> Tensor:
        """Numbers of the type of the weights; whole ones as they are."""
        if u.dtype.kind in "iu":
            return torch.as_tensor(u).long()
        parameter = next((one for one in self.module.parameters() if one.is_floating_point()), None)
        x = torch.as_tensor(u)
        return x if parameter is None else x.to(parameter.dtype)


def seeded(build: Callable[[], T], seed: int) -> T:
    """Call `build` with random weights drawn from `seed`."""
    with torch.random.fork_rng(devices=[]):  # torch draws from its global state; leave the user's alone
        torch.manual_seed(seed)
        return build()


def by_output(y_hat: Any) -> Tensor:
    """(B, n_y) from a module's output: a last axis of one entry, as a layer shared by items gives it, is dropped."""
    if not isinstance(y_hat, Tensor):
        raise InputError(
            f"it returns a {type(y_hat).__name__}, not a tensor; wrap it in a module whose forward returns the "
            f"predictions alone"
        )
    if y_hat.ndim == 3 and y_hat.shape[-1] == 1:
        return y_hat.squeeze(-1)
    return y_hat[:, None] if y_hat.ndim == 1 else y_hat


def step_of(predictor: Predictor, X: Array) -> float:
    """The change of all weights of a user's module that moves its predictions as far as 1 does in built-in ones.

    Modules work in any units. A built-in linear layer of 8 standardised features moves its predictions by 3 standard
    deviations of y where each of its weights is moved by 1 or -1 at random.
    """
    other = copy.deepcopy(predictor)
    assert isinstance(other.net, TorchNet)
    own = other.net
    try:
        other.net = own.double()
        return _measured_step(other, X)
    except Exception:  # its `forward` creates or wants numbers of one precision, so a copy in another one fails
        other.net = own
        return _measured_step(other, X)


def _measured_step(other: Predictor, X: Array) -> float:
    """The step by small changes of the weights, in the precision that they have."""
    assert other.y_spread is not None
    weights = other.weights()
    if not weights:
        return 1.0
    draw, x, given = torch.Generator().manual_seed(0), X[:LOOKED_AT], [one.copy() for one in weights]
    rounding = max(math.sqrt(np.finfo(one.dtype).eps) for one in weights)
    size = math.sqrt(sum(float(np.square(one).sum()) for one in weights) / sum(one.size for one in weights))
    size *= max(SMALL, rounding)
    before, moved = other(x), 0.0
    for _ in range(DRAWS):
        signs = [(torch.randint(0, 2, one.shape, generator=draw).double() * 2.0 - 1.0).numpy() for one in weights]
        for one, was, sign in zip(weights, given, signs, strict=True):
            one[...] = was + size * sign
        moved += float(np.square((other(x) - before) / (size * other.y_spread)).mean()) / DRAWS
    return math.sqrt((FEATURES + 1) / moved) if math.isfinite(moved) and moved > 0 else 1.0
