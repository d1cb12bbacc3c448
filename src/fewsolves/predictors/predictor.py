"""The predictor: x -> y_hat.

x (B, ...), y_hat (B, n_y)  in the user's units
net                          takes (x - x_mean) / x_std and gives (y_hat - y_mean) / y_std; a module of the user takes x
                             and gives y_hat, unless scales are given
l, h (n_y,)                  bounds of y_hat, where the problem has any; w  a tenth of the standard deviation of y

    y_hat' = l + w log(1 + exp((y_hat - l) / w))        above l, and y_hat itself from some w above it on; h likewise

So a prediction that a bound holds back still has a slope, and training can bring it back.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from fewsolves._internal.dense import Dense, fitting
from fewsolves.data import Scale
from fewsolves.predictors.net import Net, as_net
from fewsolves.problem import Array

HIDDEN_UNITS = 64
DEEP_RATE = 0.15  # learning rate of a network, relative to that of a linear layer
FEATURES = 8  # up to which the rate need not fall
SOFT = 0.1  # w, in standard deviations of y; and no more than
NARROW = 0.05  # of the room between two bounds
STEEP = 20.0  # from which on log(1 + exp(t)) is t
SCALES = ("x_mean", "x_std", "y_mean", "y_std")
Scaled = Literal["inputs", "outputs", "both"]
SCALED: tuple[Scaled, ...] = ("inputs", "outputs", "both")


class Predictor:
    """A function from x to y_hat in the user's units, with the scales that it works in.

    >>> import numpy as np, torch, fewsolves as fs
    >>> X = np.array([[1.0, 10.0], [3.0, 30.0]])
    >>> layer = torch.nn.Linear(2, 1)  # it gets standardised x
    >>> predictor = fs.Predictor(layer, x_scale=fs.Scale.of(X))
    >>> predictor(X).shape
    (2, 1)

    Args:
        net: A torch module from x (B, ...) to y_hat (B, n_y), (B, n_y, 1), or (B,) for one parameter.
        x_scale: Mean and standard deviation of X; the module then gets standardised x. None: x as it is.
        y_scale: Mean and standard deviation of Y; the module then gives standardised y_hat. None: y_hat as it is.
        bounds: Lower and upper bounds of y_hat, of one entry or of n_y each. None: none.
        spread: (n_y,) Standard deviation of Y, by which bounds are soft. None: that of `y_scale`.
    """

    x_mean: Array
    x_std: Array
    y_mean: Array
    y_std: Array

    def __init__(
        self,
        net: Any,
        x_scale: Scale | None = None,
        y_scale: Scale | None = None,
        bounds: tuple[Array, Array] | None = None,
        spread: Array | None = None,
    ) -> None:
        self.net: Net = as_net(net)
        for name, scale in (("x", x_scale), ("y", y_scale)):
            for part in ("mean", "std"):
                value = np.array(getattr(scale, part) if scale else float(part == "std"), dtype=float)
                setattr(self, f"{name}_{part}", value)
        self.y_spread = None if spread is None else np.array(spread, dtype=float)
        self.bounds = bounds

    @classmethod
    def of(
        cls,
        net: Any,
        X: Array,
        Y: Array,
        scale: Scaled | None = None,
        bounds: tuple[Array, Array] | None = None,
    ) -> Predictor:
        """A module with scales of a table.

        Args:
            net: A torch module.
            X: (n, ...) Inputs; of (n, items, features), one scale for each feature over rows and items.
            Y: (n, n_y) True parameters; where X has their items, one scale for all of them, else one for each.
            scale: "inputs", "outputs", "both", or None: the module gets x and gives y_hat.
            bounds: Of the predictions, or None.
        """
        x_scale = Scale.of(X) if scale in ("inputs", "both") else None
        y_scale = Scale(np.zeros(Y.shape[1]), np.array(1.0))
        if scale in ("outputs", "both"):
            y_scale = Scale.shared(Y) if X.ndim == 3 and X.shape[1] == Y.shape[1] else Scale.of(Y)
        return cls(net, x_scale, y_scale, bounds, Scale.of(Y).std)

    @property
    def linear(self) -> bool:
        """Whether predictions are linear in x, but for bounds: the net is one linear layer with a bias."""
        return self.net.layer is not None

    @property
    def rate(self) -> float:
        """A learning rate for the net, relative to that of a linear layer of few features.

        A step moves all weights by about the rate, so what it does to a prediction grows as the root of the features.
        """
        if self.net.relative_rate is not None:
            return self.net.relative_rate
        own = 1.0 if self.net.one_layer else DEEP_RATE
        if self.y_spread is not None:
            return own  # `unit_step` knows its features
        return own * math.sqrt(FEATURES / max(self.net.features, FEATURES))

    def __call__(self, x: Any) -> Any:
        """Predictions y_hat (B, n_y).

        Args:
            x: (B, ...) Inputs, an array; of a torch tensor, predictions are a tensor without a slope.
        """
        if not isinstance(x, np.ndarray):
            return _as_tensor(self(x.detach().numpy()))
        y_hat = self.y_mean + self.y_std * self.net(self._scaled(x))
        return y_hat if self.bounds is None else self.within_bounds(y_hat)[0]

    def forward(self, x: Array) -> tuple[Array, Any]:
        """Predictions y_hat (B, n_y), and what `backward` needs.

        Args:
            x: (B, ...) Inputs.
        """
        v, kept = self.net.forward(self._scaled(x))
        y_hat = self.y_mean + self.y_std * v
        if self.bounds is None:
            return y_hat, (kept, None)
        y_hat, of_bounds = self.within_bounds(y_hat)
        return y_hat, (kept, of_bounds)

    def backward(self, slope: Array, kept: Any) -> list[Array | None]:
        """The slopes of a loss by `weights`.

        Args:
            slope: (B, n_y) That by the predictions.
            kept: What `forward` gave.
        """
        of_net, of_bounds = kept
        scaled = slope * self.y_std if of_bounds is None else slope * of_bounds * self.y_std
        return self.net.backward(scaled, of_net)

    def weights(self) -> list[Array]:
        """The trained weights, in the memory that the predictor computes with."""
        return self.net.weights()

    def state_dict(self) -> dict[str, Array]:
        """Copies of weights and scales, by name."""
        own = {name: getattr(self, name).copy() for name in SCALES}
        if self.y_spread is not None:
            own["y_spread"] = self.y_spread.copy()
        return own | {f"net.{name}": values for name, values in self.net.arrays().items()}

    def load_state_dict(self, state: Mapping[str, Array]) -> None:
        """Take weights and scales.

        Args:
            state: What `state_dict` gave.
        """
        own = [*SCALES, *(["y_spread"] if self.y_spread is not None else [])]
        if unknown := sorted(set(state) ^ {*own, *(f"net.{name}" for name in self.net.names())}):
            raise ValueError(f"{unknown[0]!r} is missing, or is no part of this predictor")
        for name in own:
            setattr(self, name, np.array(fitting(name, state[name], getattr(self, name).shape), dtype=float))
        parts = {name.removeprefix("net."): values for name, values in state.items() if name.startswith("net.")}
        try:
            self.net.load(parts)
        except ValueError as error:
            raise ValueError(f"net.{error}") from None

    def within_bounds(self, y_hat: Array) -> tuple[Array, Array]:
        """Predictions (B, n_y) softly held within the bounds, and their slope by those given.

        Args:
            y_hat: (B, n_y) Predictions.
        """
        assert self.bounds is not None
        low, high = self.bounds
        spread = self.y_std if self.y_spread is None else self.y_spread
        width = np.minimum(SOFT * spread, NARROW * (high - low))
        slope = np.ones_like(y_hat)
        for bound, sign in ((low, 1.0), (high, -1.0)):
            there = np.isfinite(bound)
            at = np.where(there, bound, 0.0)
            soft, steep = _softplus(sign * (y_hat - at) / width)
            y_hat = np.where(there, at + sign * width * soft, y_hat)
            slope = np.where(there, slope * steep, slope)
        slope = np.where((y_hat >= low) & (y_hat <= high), slope, 0.0)
        return np.clip(y_hat, low, high), slope

    def _scaled(self, x: Array) -> Array:
        """The input of the net; whole numbers stay integers where nothing is scaled."""
        if self.x_mean.ndim == 0 and self.x_mean == 0.0 and self.x_std == 1.0:
            return x
        return np.asarray((x - self.x_mean) / self.x_std)


def _softplus(t: Array) -> tuple[Array, Array]:
    """log(1 + exp(t)), and its slope."""
    below = np.exp(np.minimum(t, STEEP))
    return np.where(t > STEEP, t, np.log1p(below)), np.where(t > STEEP, 1.0, below / (1.0 + below))


def _as_tensor(y_hat: Array) -> Any:
    import torch

    return torch.as_tensor(y_hat)


def linear(n_x: int, n_y: int, *, seed: int | None) -> Dense:
    """One linear layer: the predictor of the paper's tables. Without a seed, its weights are not drawn."""
    net = Dense(n_x, n_y)
    return net if seed is None else net.redrawn(seed)


def network(n_x: int, n_y: int, *, seed: int | None) -> Dense:
    """Two hidden layers of 64 SiLU units. Without a seed, its weights are not drawn."""
    net = Dense(n_x, HIDDEN_UNITS, HIDDEN_UNITS, n_y)
    return net if seed is None else net.redrawn(seed)


def unit_step(predictor: Predictor, X: Array) -> float:
    """The change of all weights of a user's module that moves its predictions as far as 1 does in built-in ones.

    Args:
        predictor: A predictor; for one that has no `y_spread`, the step is 1.
        X: (M, ...) Inputs, of which some are looked at.
    """
    if predictor.y_spread is None:
        return 1.0
    from fewsolves.predictors.torch_net import step_of

    return step_of(predictor, X)


def rebuilt(net: Any, weights: Mapping[str, Array], bounds: tuple[Array, Array] | None = None) -> Predictor:
    """A predictor from its weights and scales; `net` has its form."""
    if isinstance(net, Predictor):
        bounds, known = net.bounds, [name for name, values in net.state_dict().items() if values.ndim == 0]
        weights = {**weights, **{name: np.reshape(weights[name], ()) for name in known if np.size(weights[name]) == 1}}
        net = net.net  # files of earlier versions have arrays of one entry for single numbers
    scales = [Scale(weights[f"{of}_mean"], weights[f"{of}_std"]) for of in ("x", "y")]
    predictor = Predictor(net, scales[0], scales[1], bounds, weights.get("y_spread"))
    predictor.load_state_dict(weights)
    return predictor


def redrawn(predictor: Predictor, *, seed: int) -> Predictor:
    """The same architecture and scales with new random weights."""
    other = copy.copy(predictor)
    other.net = predictor.net.redrawn(seed)
    return other
