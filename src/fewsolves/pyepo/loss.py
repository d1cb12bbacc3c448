"""A loss of ours, called as PyEPO calls its own: `loss(pred_cost, true_cost, true_sol, true_obj)` in its training loop.

PyEPO's batches have no number of the row, which surrogates of single rows need. So a row is known by its true costs;
rows of the same costs are the same problem. A dataset of PyEPO has paid for its labels: they are not solved again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fewsolves.errors import InputError
from fewsolves.ledger.decision import pack_decision
from fewsolves.ledger.keys import solve_keys
from fewsolves.methods.torch_gp_surrogate import GPSurrogateLoss
from fewsolves.methods.torch_loss import Loss
from fewsolves.oracle import Calls, Oracle
from fewsolves.oracle.former import FormerRun
from fewsolves.oracle.memory import Memory
from fewsolves.problem import Array, Problem
from fewsolves.pyepo.problem import problem_from_pyepo


class PyEPOLoss(nn.Module):
    """The GP surrogate, or another loss of ours, in a training loop written for PyEPO.

    >>> import numpy as np, torch, fewsolves as fs
    >>> from pyepo.data.dataset import optDataset
    >>> from pyepo.model.ort import shortestPathModel
    >>> rng = np.random.default_rng(0)
    >>> x, c = rng.normal(size=(20, 3)), rng.uniform(1, 5, size=(20, 12))
    >>> model = shortestPathModel(grid=(3, 3))
    >>> dataset = optDataset(model, x, c)  # pays for the labels; solves of ours come on top
    >>> net = torch.nn.Linear(3, 12)
    >>> loss = fs.PyEPOLoss(model, dataset)
    >>> loss.start(net(dataset.feats))  # a few solves around the prediction of each row
    >>> for x, c, w, z in torch.utils.data.DataLoader(dataset, batch_size=5):
    ...     loss(net(x), c, w, z).backward()

    An epoch begins by itself, whenever all rows were seen; the loop calls nothing else. Without `start` the surrogate
    samples the whole range of the costs, which costs the same and shows less.

    Args:
        optmodel: A PyEPO model, or a problem made of one by `problem_from_pyepo`, where the true cost is your own.
        dataset: The `optDataset` of the training rows; its labels are not solved again.
        loss: Makes the loss of an oracle of these rows: ``lambda oracle: fs.GPSurrogateLoss(oracle, config=...)``, or a
            `Loss` that you wrote.
    """

    def __init__(self, optmodel: Any, dataset: Any, loss: Callable[[Oracle], Loss] = GPSurrogateLoss) -> None:
        super().__init__()
        problem = optmodel if isinstance(optmodel, Problem) else problem_from_pyepo(optmodel)
        if problem.instances is not None:
            raise InputError("rows are identified by their costs here; known data by row (instances=) cannot be used")
        Y, labels = (_matrix(dataset, name) for name in ("costs", "sols"))
        self._row_of = {key: row for row, key in enumerate(_keys(Y))}
        self.oracle = Oracle(problem, Y, former=FormerRun(len(Y), _remembering(Y, labels)))
        self._check_labels(_matrix(dataset, "objs").ravel())
        self.loss = loss(self.oracle)
        self._latest, self._seen = torch.tensor(Y), len(Y)

    @property
    def calls(self) -> Calls:
        """The paid calls; the dataset has paid for the labels."""
        return self.oracle.calls

    def start(self, pred_cost: Tensor) -> None:
        """Before the first step, with the predictions for all rows of the dataset, in its order.

        Args:
            pred_cost: (n, n_y) Predicted costs.
        """
        self._latest = pred_cost.detach().double()
        self.loss.start(pred_cost.detach())

    def forward(
        self, pred_cost: Tensor, true_cost: Tensor, true_sol: Tensor | None = None, true_obj: Tensor | None = None
    ) -> Tensor:
        """A scalar.

        Args:
            pred_cost: (B, n_y) Predicted costs, differentiable.
            true_cost: (B, n_y) True costs, by which the rows are known.
            true_sol: Not used: known from the dataset.
            true_obj: Not used: known from the dataset.
        """
        index = torch.tensor([self._row(key) for key in _keys(true_cost.detach().numpy())])
        if self._seen >= len(self.oracle):
            self.loss.begin_epoch(lambda: self._latest)
            self._seen = 0
        self._seen += len(index)
        self._latest[index] = pred_cost.detach().double()
        loss: Tensor = self.loss(pred_cost, index)
        return loss

    def _row(self, key: bytes) -> int:
        if key not in self._row_of:
            raise InputError("these true costs are not a row of the dataset that the loss was made with")
        return self._row_of[key]

    def _check_labels(self, objectives: Array) -> None:
        """A dataset of another kind (of nearest neighbours, say) has labels that are not the best solutions."""
        if self.oracle.problem.linear is None:
            return
        best = self.oracle.optimum(np.arange(len(self.oracle)))
        values = -best if self.oracle.problem.linear == "max" else best
        for row in np.flatnonzero(~np.isclose(values, objectives, rtol=1e-3, atol=1e-3)):
            said = f"the label of row {row} is worth {objectives[row]:g} by the dataset, {values[row]:g} by the model"
            raise InputError(f"{said}; give an optDataset of this model")


def _matrix(dataset: Any, name: str) -> Array:
    try:
        values: Array = getattr(dataset, name).double().numpy()
        return values
    except AttributeError:
        raise InputError(f"expected a PyEPO optDataset, which has `{name}`, got {type(dataset).__name__}") from None


def _keys(costs: Array) -> list[bytes]:
    """Of rows of costs; PyEPO keeps them in single precision, and -0 is 0."""
    return [row.tobytes() for row in costs.astype(np.float32) + np.float32(0)]


def _remembering(Y: Array, labels: Array) -> Memory:
    """A memory in which the labels are paid for."""
    memory = Memory()
    for key, label in zip(solve_keys(np.arange(len(Y)), Y, own=False), labels, strict=True):
        memory.keep("solve", key, pack_decision(label))
    return memory
