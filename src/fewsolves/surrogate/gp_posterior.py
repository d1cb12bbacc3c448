"""The posterior as a function that torch can differentiate."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fewsolves.errors import InputError
from fewsolves.surrogate.gp_blocks import LARGEST, Array, Blocks
from fewsolves.surrogate.gp_point_kernels import Sharing
from fewsolves.surrogate.gp_predict_kernels import predict
from fewsolves.surrogate.gp_threads import on_threads


class Posterior(torch.autograd.Function):
    """(y_hat, ...) -> mean, std. One pass gives values and both gradients, so `backward` only scales them."""

    @staticmethod
    def forward(
        context: Any, y_hat: Tensor, index: Array, blocks: Blocks, hyper: Array, failed: Array, sharing: Sharing
    ) -> tuple[Tensor, Tensor]:
        queries = y_hat.detach().to("cpu", torch.float64).contiguous().numpy()
        n, d = queries.shape
        if n and not -LARGEST < queries.min() <= queries.max() < LARGEST:  # false for NaN
            raise InputError("y_hat is not finite: has the predictor diverged? Try a smaller learning rate")
        wanted = context.needs_input_grad[0]
        mean, std, slopes = np.empty(n), np.empty(n), np.empty((n if wanted else 0, 2, d))

        def predict_part(part: slice) -> None:
            results = mean[part], std[part], slopes[part]
            predict(blocks, index[part], queries[part], hyper, failed, sharing, *results)

        on_threads(predict_part, n)
        if wanted:
            context.save_for_backward(torch.from_numpy(slopes))
            context.like = (y_hat.device, y_hat.dtype)
        return torch.from_numpy(mean).to(y_hat.device), torch.from_numpy(std).to(y_hat.device)

    @staticmethod
    @once_differentiable
    def backward(context: Any, by_mean: Tensor, by_std: Tensor) -> tuple[Tensor | None, ...]:
        slope_mean, slope_std = context.saved_tensors[0].unbind(1)
        by_mean, by_std = by_mean.cpu().unsqueeze(1), by_std.cpu().unsqueeze(1)
        total = torch.addcmul(by_mean * slope_mean, by_std, slope_std)
        return total.to(*context.like), None, None, None, None, None


def posterior(
    y_hat: Tensor, index: Array, blocks: Blocks, hyper: Array, failed: Array, sharing: Sharing
) -> tuple[Tensor, Tensor]:
    mean, std = Posterior.apply(y_hat, index, blocks, hyper, failed, sharing)  # type: ignore[no-untyped-call]
    return mean, std
