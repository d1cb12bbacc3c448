"""A loss in torch of predicted costs, for methods for linear objectives (`methods.linear` has the notation).

A solver's answer is constant around a point, so autograd through c_hat @ z, with z taken as a number, is the
(sub)gradient of that minimum.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fewsolves.methods.linear import LinearRows
from fewsolves.methods.loss import State
from fewsolves.methods.torch_loss import OracleLoss
from fewsolves.oracle import Oracle


class LinearLoss(OracleLoss):
    """A loss of predicted costs c_hat (B, d)."""

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle)
        self._rows = LinearRows(oracle)
        self.sign = self._rows.sign
        self.rng: np.random.Generator | None = None  # where a method draws

    def state(self) -> State:
        return self._module_state(self.rng)

    def restore(self, state: State) -> None:
        self._restore_module(state, self.rng)

    def truth(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """c and z*(y), (B, d) each; the decisions are labels, paid once."""
        c, z = self._rows.truth(index.numpy())
        return torch.as_tensor(c), torch.as_tensor(z)

    def decide(self, c_hat: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        """The decisions (B, d) at costs c_hat, without gradient, paid; and (B,) whether there is one.

        A solve that failed decides 0, and has no weight in `mean`.
        """
        decisions, known = self._rows.decide(c_hat.detach().numpy(), index.numpy())
        return torch.as_tensor(decisions), torch.as_tensor(known)

    def mean(self, losses: Tensor, known: Tensor, index: Tensor) -> Tensor:
        """Of losses (B,) in units of the cost: over the rows that are known, in units of regret; 0 where none is."""
        if not known.any():
            return 0.0 * losses.sum()
        return (losses / self.units(index))[known].mean()

    def units(self, index: Tensor) -> Tensor:
        """(B,) Units of the regret."""
        return torch.as_tensor(self.oracle.regret_units(index.numpy()))
