"""Dense nets of a few small layers, forward and backward as one step of autograd, on one thread.

x_0 (B, n_0)  input        W_k (n_k, n_k-1), b_k (n_k,)   layer k of K        G_k (B, n_k)  slope of the loss by h_k

    h_k = x_k-1 W_k' + b_k        x_k = silu(h_k), the last one h_K itself
    dW_k = G_k' x_k-1        db_k = sum of G_k over rows        G_k-1 = silu'(h_k-1) (G_k W_k)

A node of autograd for each operation is most of what a step of 32 rows costs, and threads would wait for one another
(`fewsolves._internal.threads`). The numbers are those of `nn.Linear` and `nn.SiLU`, to the last bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear, silu

from fewsolves._internal.threads import ThreadsFor

silu_backward = torch.ops.aten.silu_backward.default  # one of several by this name; which, need not be found out again


def forward(x: Tensor, layers: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """h_K by weights and biases W_1, b_1, W_2, ..., and what `backward` needs of the way there."""
    inputs, before = [x], []
    with ThreadsFor(_work(x, layers)):
        for k in range(0, len(layers), 2):
            before.append(linear(inputs[-1], layers[k], layers[k + 1]))
            inputs.append(silu(before[-1]) if k + 2 < len(layers) else before[-1])
    return inputs.pop(), [*layers[::2], *inputs, *before[:-1]]


def backward(slope: Tensor, kept: Sequence[Tensor], into: Sequence[Tensor] | None = None) -> Sequence[Tensor]:
    """Slopes of the layers, from that by h_K; in new memory, or `into` what is there."""
    n = (len(kept) + 1) // 3
    weights, inputs, before = kept[:n], kept[n : 2 * n], kept[2 * n :]
    if into is None:
        into = [slope.new_empty(shape) for weight in weights for shape in (weight.shape, weight.shape[:1])]
    with ThreadsFor(_work(slope, weights)):
        for k in reversed(range(n)):
            torch.mm(slope.t(), inputs[k], out=into[2 * k])
            torch.sum(slope, 0, out=into[2 * k + 1])
            if k:
                slope = silu_backward(slope.mm(weights[k]), before[k - 1])
    return into


class _Layers(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, *layers: Tensor) -> Tensor:
        y, kept = forward(x, layers)
        ctx.save_for_backward(*kept)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        return None, *backward(slope, ctx.saved_tensors)


class Linear(nn.Linear):
    """One layer."""

    def forward(self, x: Tensor) -> Tensor:
        return _through(super().forward, x, layers_of(self))


class Network(nn.Sequential):
    """Layers with SiLU between them."""

    def forward(self, x: Tensor) -> Tensor:
        layers, between = list(self)[::2], list(self)[1::2]
        if len(layers) == len(between) or not isinstance(layers[0], nn.Linear):  # a slice of it is a module, too
            part: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
            return part
        return _through(super().forward, x, layers_of(self))


def network(*sizes: int) -> Network:
    """Layers of these sizes."""
    layers = [(nn.Linear(*pair), nn.SiLU()) for pair in itertools.pairwise(sizes)]
    return Network(*[part for layer in layers for part in layer][:-1])


def layers_of(net: Linear | Network) -> list[Tensor]:
    """W_1, b_1, W_2, ..."""
    layers = [net] if isinstance(net, Linear) else list(net)[::2]
    return [one for layer in layers for one in layer._parameters.values() if one is not None]


def _through(modules: Callable[[Tensor], Any], x: Tensor, layers: Sequence[Tensor]) -> Tensor:
    """As one step where the layers are trained, and where nothing is; as modules do it where x has a slope, too."""
    if not torch.is_grad_enabled():
        return forward(x, layers)[0]
    if x.ndim == 2 and not x.requires_grad and all(layer.requires_grad for layer in layers):
        y: Tensor = _Layers.apply(x, *layers)  # type: ignore[no-untyped-call]
        return y
    with ThreadsFor(_work(x, layers)):
        plain: Tensor = modules(x)
        return plain


def _work(x: Tensor, layers: Sequence[Tensor]) -> int:
    """Multiplications of a pass."""
    return len(x) * sum(layer.numel() for layer in layers)
