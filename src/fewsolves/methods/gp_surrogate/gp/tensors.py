"""Where torch meets the processes: what NumPy computes of an array, autograd differentiates of a tensor.

Torch is imported only where a tensor is given (`methods.torch_slopes`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from fewsolves.methods.gp_surrogate.gp.blocks import Array


def is_tensor(values: Any) -> bool:
    """Whether this is a tensor of torch; where torch is not imported, nothing is."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def mean_and_std(y_hat: Any, evaluated: Callable[[Array, bool], tuple[Array, Array, Array]]) -> tuple[Any, Any]:
    """Of an array (B, d) the arrays mean and std (B,) that `evaluated` gives; of a tensor differentiable tensors."""
    if not is_tensor(y_hat):
        mean, std, _ = evaluated(np.ascontiguousarray(y_hat, dtype=np.float64), False)
        return mean, std
    from fewsolves.methods.torch_slopes import mean_and_std as differentiable

    return differentiable(y_hat, evaluated)


def rows_of(index: Any) -> Array:
    """Numbers of rows, (B,), from a tensor, an array or a list."""
    return np.asarray(index.detach().cpu() if is_tensor(index) else index)
