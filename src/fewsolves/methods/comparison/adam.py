"""Adam (Kingma and Ba, 2015), by the kernels of torch and without its class.

    g_t    gradient             m <- m + (1 - b1) (g - m)           b1 = 0.9
    m, v   its running means    v <- b2 v + (1 - b2) g^2            b2 = 0.999

    w <- w - rate / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + eps)

The first step of a `torch.optim.Optimizer` imports torch's compiler, which takes longer than a whole fit of a small
table, in each process; and its bookkeeping takes longer than a step of a small predictor. The numbers are those of
`torch.optim.Adam`, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

BETAS = 0.9, 0.999
MIN_WORK_FOR_THREADS = 10_000_000  # multiplications from which on work is shared out: some milliseconds of one core


class ThreadsFor:
    """While it is entered torch computes on one thread, unless there is `work` for more."""

    __slots__ = ("before", "small")

    def __init__(self, work: int) -> None:
        self.small = work < MIN_WORK_FOR_THREADS

    def __enter__(self) -> None:
        if self.small:
            self.before = torch.get_num_threads()
            torch.set_num_threads(1)

    def __exit__(self, *raised: object) -> None:
        if self.small:
            torch.set_num_threads(self.before)


class Adam:
    """Adam for some parameters; one that has no gradient stays as it is.

    `fused` is torch's kernel for all parameters in one call. Without it each operation is rounded by itself, as in
    `torch.optim.Adam(..., fused=False)`.
    """

    def __init__(
        self, parameters: Iterable[Tensor], learning_rate: float, *, eps: float = 1e-8, fused: bool = True
    ) -> None:
        self.parameters, self.learning_rate, self.eps, self.fused = list(parameters), learning_rate, eps, fused
        self.state: dict[int, dict[str, Tensor]] = {}  # by number of the parameter, from its first gradient on
        self._moving: list[int] = []
        self._parts: list[list[Tensor]] = []
        self._size = sum(map(Tensor.numel, self.parameters))

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def step(self) -> None:
        """One step along the gradients that there are."""
        moving = [k for k, one in enumerate(self.parameters) if one.grad is not None]
        if not moving:
            return
        if moving != self._moving:  # seldom others than in the last step
            self._moving, self._parts = moving, self._parts_of(moving)
        parameters, m, v, steps = self._parts
        gradients = [one.grad for one in self.parameters if one.grad is not None]
        torch._foreach_add_(steps, 1)
        with ThreadsFor(self._size):
            if self.fused:
                self._all_at_once(parameters, gradients, m, v, steps)
            else:
                self._one_by_one(parameters, gradients, m, v, steps)

    def _parts_of(self, moving: list[int]) -> list[list[Tensor]]:
        """Of these parameters: themselves, in the same memory and without a slope, m, v and the steps so far."""
        parameters = [self.parameters[k].detach() for k in moving]
        for k, parameter in zip(moving, parameters, strict=True):
            if k not in self.state:
                self.state[k] = {
                    "step": torch.zeros((), dtype=torch.float32),
                    "exp_avg": torch.zeros_like(parameter),
                    "exp_avg_sq": torch.zeros_like(parameter),
                }
        return [parameters, *([self.state[k][name] for k in moving] for name in ("exp_avg", "exp_avg_sq", "step"))]

    def _all_at_once(self, parameters: list[Tensor], *state: list[Tensor]) -> None:
        gradients, m, v, steps = state
        torch._fused_adam_(
            parameters,
            gradients,
            m,
            v,
            [],
            steps,
            lr=self.learning_rate,
            beta1=BETAS[0],
            beta2=BETAS[1],
            weight_decay=0.0,
            eps=self.eps,
            amsgrad=False,
            maximize=False,
        )

    def _one_by_one(self, parameters: list[Tensor], *state: list[Tensor]) -> None:
        for parameter, gradient, mean, square, step in zip(parameters, *state, strict=True):
            t = step.item()
            mean.lerp_(gradient, 1 - BETAS[0])
            square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
            below = (square.sqrt() / (1 - BETAS[1] ** t) ** 0.5).add_(self.eps)
            parameter.addcdiv_(mean, below, value=-self.learning_rate / (1 - BETAS[0] ** t))

    def restore(self, state: Mapping[int, Mapping[str, Any]]) -> None:
        """Go on with the `state` of before."""
        self._moving = []
        self.state = {k: {name: torch.as_tensor(value) for name, value in one.items()} for k, one in state.items()}
