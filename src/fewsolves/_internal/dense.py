"""Dense nets of a few small layers in NumPy, forward and backward.

x_0 (B, n_0)  input        W_k (n_k, n_k-1), b_k (n_k,)   layer k of K        G_k (B, n_k)  slope of the loss by h_k

    h_k = x_k-1 W_k' + b_k        x_k = silu(h_k), the last one h_K itself        silu(h) = h / (1 + exp(-h))
    dW_k = G_k' x_k-1        db_k = sum of G_k over rows        G_k-1 = silu'(h_k-1) (G_k W_k)

All weights lie in one vector, so that a step of Adam is a handful of operations whatever the number of layers. They are
drawn as `torch.nn.Linear` draws them: uniform within 1 / sqrt(n_k-1), in single precision, by the Mersenne Twister.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewsolves._internal.threads import product

Array = NDArray[Any]
SMALL_PRODUCT = 200_000  # multiplications up to which BLAS computes on one thread by itself


class Dense:
    """Layers of these sizes, with SiLU between them; weights of zero until they are drawn or loaded."""

    relative_rate: float | None = None

    def __init__(self, *sizes: int) -> None:
        self.sizes, self.features, self.one_layer = sizes, sizes[0], len(sizes) == 2
        self._vector: Array | None = None  # made when it is needed: a file may claim any sizes

    @property
    def vector(self) -> Array:
        """All weights."""
        if self._vector is None:
            self._vector = np.zeros(sum((n_in + 1) * n_out for n_in, n_out in itertools.pairwise(self.sizes)))
        return self._vector

    def __repr__(self) -> str:
        return f"Dense{self.sizes}"

    @property
    def layer(self) -> tuple[Array, Array] | None:
        """Weight and bias of a net that is one linear layer; None of another."""
        return next(self.layers()) if self.one_layer else None

    def layers(self, vector: Array | None = None) -> Iterator[tuple[Array, Array]]:
        """W_k and b_k in the memory of the vector, or of another one of its form."""
        vector, first = self.vector if vector is None else vector, 0
        for n_in, n_out in itertools.pairwise(self.sizes):
            middle = first + n_in * n_out
            yield vector[first:middle].reshape(n_out, n_in), vector[middle : middle + n_out]
            first = middle + n_out

    def redrawn(self, seed: int) -> Dense:
        """A net of the same sizes, its weights drawn."""
        net, draws = Dense(*self.sizes), Draws(seed)
        for weight, bias in net.layers():
            within = 1.0 / math.sqrt(weight.shape[1])
            weight[:], bias[:] = draws.uniform(within, weight.shape), draws.uniform(within, bias.shape)
        return net

    def names(self) -> list[str]:
        """weight, bias of one layer; 0.weight, 0.bias, 2.weight, ... of several: SiLU takes a number, too."""
        prefixes = [""] if self.one_layer else [f"{2 * k}." for k in range(len(self.sizes) - 1)]
        return [f"{prefix}{part}" for prefix in prefixes for part in ("weight", "bias")]

    def weights(self) -> list[Array]:
        """What is trained."""
        return [self.vector]

    def arrays(self) -> dict[str, Array]:
        """Copies of the weights, by the names that they have in files."""
        named = zip(self.names(), itertools.chain.from_iterable(self.layers()), strict=True)
        return {name: values.copy() for name, values in named}

    def load(self, arrays: Mapping[str, Array]) -> None:
        """Take the weights from `arrays`; raises before anything is changed where one has another shape."""
        shapes = (shape for n_in, n_out in itertools.pairwise(self.sizes) for shape in ((n_out, n_in), (n_out,)))
        for name, shape in zip(self.names(), shapes, strict=True):
            fitting(name, arrays[name], shape)
        for name, values in zip(self.names(), itertools.chain.from_iterable(self.layers()), strict=True):
            values[...] = arrays[name]

    def __call__(self, x: Array) -> Array:
        return self.forward(x)[0]

    def forward(self, x: Array) -> tuple[Array, list[Array]]:
        """h_K, and what `backward` needs of the way there: x_0, then h_k, its sigmoid and x_k of each hidden layer."""
        kept = [x]
        last = len(self.sizes) - 2
        for k, (weight, bias) in enumerate(self.layers()):
            h = small_product(kept[-1], weight.T)
            h += bias
            if k == last:
                return h, kept
            s = _sigmoid(h)
            kept += [h, s, h * s]
        raise AssertionError("a net has at least one layer")

    def backward(self, slope: Array, kept: Sequence[Array]) -> list[Array | None]:
        """The slope of the loss by `weights`, from that by h_K."""
        gradient = np.empty_like(self.vector)
        layers = list(zip(self.layers(), self.layers(gradient), strict=True))
        for k, ((weight, _), (of_weight, of_bias)) in reversed(list(enumerate(layers))):
            of_weight[:] = small_product(slope.T, kept[3 * k])
            of_bias[:] = slope.sum(axis=0)
            if k:
                h, s = kept[3 * k - 2 : 3 * k]
                slope = small_product(slope, weight) * (s * (1.0 + h * (1.0 - s)))
        return [gradient]


class Draws:
    """Numbers as torch draws them after `torch.manual_seed(seed)`."""

    def __init__(self, seed: int) -> None:
        self._twister = np.random.RandomState(seed % 2**32)

    def uniform(self, within: float, shape: tuple[int, ...]) -> Array:
        """Single-precision numbers between -within and within, 24 random bits each."""
        bits = self._twister.randint(0, 2**32, size=math.prod(shape), dtype=np.uint32) & np.uint32(2**24 - 1)
        high = float(np.float32(within))
        drawn = bits * 2.0**-24 * (2.0 * high) - high  # rounded once, at the end
        return drawn.astype(np.float32).astype(float).reshape(shape)


def fitting(name: str, values: Any, shape: tuple[int, ...]) -> Array:
    """The values, where they have this shape; raises where they do not."""
    array = np.asarray(values)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    return array


def small_product(a: Array, b: Array) -> Array:
    """a @ b, on one thread unless it is large."""
    return np.asarray(a @ b) if a.size * b.shape[-1] < SMALL_PRODUCT else product(a, b)


def _sigmoid(h: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * h)))
