"""Adam (Kingma and Ba, 2015) in NumPy.

g_t    gradient             m <- m + (1 - b1) (g - m)           b1 = 0.9
m, v   its running means    v <- b2 v + (1 - b2) g^2            b2 = 0.999

w <- w - rate / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + eps)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
BETAS = 0.9, 0.999


class Adam:
    """Adam for some arrays, which it changes in place; one that has no gradient stays as it is."""

    def __init__(self, parameters: Iterable[Array], learning_rate: float, *, eps: float = 1e-8) -> None:
        self.parameters, self.learning_rate, self.eps = list(parameters), learning_rate, eps
        self.state: dict[int, dict[str, Array]] = {}  # by number of the parameter, from its first gradient on

    def step(self, gradients: Sequence[Array | None]) -> None:
        """One step along the gradients that there are."""
        for k, (parameter, gradient) in enumerate(zip(self.parameters, gradients, strict=True)):
            if gradient is not None:
                self._move(k, parameter, gradient)

    def _move(self, k: int, parameter: Array, gradient: Array) -> None:
        if k not in self.state:
            zeros = np.zeros_like(parameter)
            self.state[k] = {"step": np.zeros(()), "exp_avg": zeros, "exp_avg_sq": zeros.copy()}
        state = self.state[k]
        state["step"] += 1
        t, m, v = int(state["step"]), state["exp_avg"], state["exp_avg_sq"]
        m += (1 - BETAS[0]) * (gradient - m)
        v *= BETAS[1]
        v += (1 - BETAS[1]) * (gradient * gradient)
        below = np.sqrt(v)
        below /= math.sqrt(1 - BETAS[1] ** t)
        below += self.eps
        parameter -= (self.learning_rate / (1 - BETAS[0] ** t)) * (m / below)

    def restore(self, state: Mapping[int, Mapping[str, Any]]) -> None:
        """Go on with the `state` of before; raises where it has other parameters."""
        for k, parts in state.items():
            if parts["exp_avg"].shape != self.parameters[k].shape:
                raise ValueError(f"parameter {k} has another shape than when the state was taken")
        self.state = {k: {name: np.array(value) for name, value in one.items()} for k, one in state.items()}
