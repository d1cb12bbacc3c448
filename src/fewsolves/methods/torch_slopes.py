"""Nodes of torch's autograd around values and slopes that NumPy computes; nothing here knows a solver.

y_hat         (B, d)      predictions, of any float type and on any device
mean, std     (B,)        of something at y_hat, with slopes (B, 2, d) by y_hat
value, slope  a number, and (B, d) by y_hat; it may also depend on a parameter (p,)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor as Tensor  # the type, for annotations of those who import no torch
from torch.autograd.function import once_differentiable

from fewsolves.problem import Array

Evaluated = Callable[
    [Array, bool], tuple[Array, Array, Array]
]  # (points, whether slopes are wanted) -> mean, std, slopes


def as_points(y_hat: Tensor) -> Array:
    """The numbers of a tensor, float64, in memory of this process."""
    points: Array = y_hat.detach().to("cpu", torch.float64).contiguous().numpy()
    return points


class _MeanAndStd(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, y_hat: Tensor, evaluated: Evaluated) -> tuple[Tensor, Tensor]:
        wanted = context.needs_input_grad[0]
        mean, std, slopes = evaluated(as_points(y_hat), wanted)
        if wanted:
            context.save_for_backward(torch.from_numpy(slopes))
            context.like = (y_hat.device, y_hat.dtype)
        return torch.from_numpy(mean).to(y_hat.device), torch.from_numpy(std).to(y_hat.device)

    @staticmethod
    @once_differentiable
    def backward(context: Any, by_mean: Tensor, by_std: Tensor) -> tuple[Tensor, None]:
        of_mean, of_std = context.saved_tensors[0].unbind(1)
        total = torch.addcmul(by_mean.cpu().unsqueeze(1) * of_mean, by_std.cpu().unsqueeze(1), of_std)
        return total.to(*context.like), None


def mean_and_std(y_hat: Tensor, evaluated: Evaluated) -> tuple[Tensor, Tensor]:
    """Both as float64 tensors (B,), differentiable in y_hat."""
    mean, std = _MeanAndStd.apply(y_hat, evaluated)  # type: ignore[no-untyped-call]
    return mean, std


class _Value(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, y_hat: Tensor, parameter: Tensor | None, value: float, slope: Array, by_parameter: Array | None
    ) -> Tensor:
        context.save_for_backward(torch.as_tensor(slope).to(y_hat))
        context.by_parameter = None if by_parameter is None else torch.as_tensor(by_parameter)
        return torch.tensor(value, dtype=torch.float64, device=y_hat.device)

    @staticmethod
    @once_differentiable
    def backward(context: Any, by_value: Tensor) -> tuple[Tensor | None, ...]:
        (slope,), of_parameter = context.saved_tensors, context.by_parameter
        if of_parameter is not None:
            of_parameter = by_value.cpu() * of_parameter
        return by_value * slope, of_parameter, None, None, None


def with_slopes(
    y_hat: Tensor, value: float, slope: Array, parameter: Tensor | None = None, by_parameter: Array | None = None
) -> Tensor:
    """The value as a scalar whose backward() hands these slopes on; a slope of None: no part of the gradient."""
    made: Tensor = _Value.apply(y_hat, parameter, value, slope, by_parameter)  # type: ignore[no-untyped-call]
    return made
