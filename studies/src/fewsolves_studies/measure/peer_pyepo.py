"""PyEPO's losses on a shape of `peer_problems`, from least squares, in batches, until the budget is spent.

    PyEPO SPO+, PyEPO PFY               one solve per row and step; PFY with one draw
    PyEPO listwise, PyEPO pairwise      ranking of known solutions; a fifth of the batches are solved, and join them
    PyEPO CaVE                          one solve per row, its label, by Gurobi: the constraints that bind there are the
                                        supervision. A step projects predictions on their cone and solves nothing

Solves are those of `shape.solver`, which counts; CaVE's labels are counted by the model that Gurobi solves.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from fewsolves_studies.measure.peer_problems import Shape

SPO, PFY, CAVE = "PyEPO SPO+", "PyEPO PFY", "PyEPO CaVE"
RANKING = {"PyEPO listwise": "lsLTR", "PyEPO pairwise": "prLTR"}
METHODS = (SPO, PFY, *RANKING, CAVE)
BATCH = 32
SOLVED = 0.2  # share of the batches that a ranking loss solves
CONE_EPOCHS = 20  # of CaVE

Step = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # predictions and rows of a batch: the loss


def train(shape: Shape, net: Any, method: str, *, solves: int, rate: float, seed: int) -> None:
    """Change the weights of `net` by a loss of PyEPO, with at most this number of solves."""
    torch.manual_seed(seed)
    X, optimiser = torch.as_tensor(shape.X), torch.optim.Adam(net.parameters(), lr=rate)
    loss_of = _cone(shape, seed) if method == CAVE else _solving(shape, method, seed)
    for index in _batches(len(X), CONE_EPOCHS if method == CAVE else None):
        if method != CAVE and shape.solver.solves + len(index) > solves:
            return
        optimiser.zero_grad()
        loss_of(net(X[index]).float(), index).backward()
        optimiser.step()


def _batches(rows: int, epochs: int | None) -> Iterator[torch.Tensor]:
    """Rows of each step, shuffled by epoch; without end where `epochs` is None."""
    epoch = 0
    while epochs is None or epoch < epochs:
        yield from torch.randperm(rows).split(BATCH)
        epoch += 1


def _solving(shape: Shape, method: str, seed: int) -> Step:
    """A loss whose steps solve."""
    from pyepo import func
    from pyepo.data.dataset import optDataset

    model = _model(shape)
    with contextlib.redirect_stderr(io.StringIO()):  # a progress bar
        rows = optDataset(model, shape.X, shape.Y)
    if method == SPO:
        spo = func.SPOPlus(model)
        return lambda c_hat, index: spo(c_hat, rows.costs[index], rows.sols[index], rows.objs[index])
    if method == PFY:
        perturbed = func.PFY(model, n_samples=1, seed=seed)
        return lambda c_hat, index: perturbed(c_hat, rows.sols[index])
    ranking = getattr(func, RANKING[method])(model, solve_ratio=SOLVED, dataset=rows)
    ranking._branch_rng = np.random.RandomState(seed)  # whether a batch is solved
    return lambda c_hat, index: ranking(c_hat, rows.costs[index])


def _cone(shape: Shape, seed: int) -> Step:
    """CaVE, whose labels and binding constraints come from Gurobi."""
    from pyepo import func
    from pyepo.data.dataset import optDatasetConstrs
    from torch.nn.utils.rnn import pad_sequence

    assert shape.gurobi is not None
    model, counter = shape.gurobi(), shape.solver
    solve = model.solve

    def counted() -> Any:
        counter.solves += 1
        return solve()

    model.solve = counted
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        rows = optDatasetConstrs(model, shape.X, shape.Y)
    cone = func.CaVE(model)
    cone._branch_rng = np.random.RandomState(seed)

    def loss(c_hat: torch.Tensor, index: torch.Tensor) -> Any:
        return cone(c_hat, pad_sequence([rows.ctrs[i] for i in index.tolist()], batch_first=True))

    return loss


def _model(shape: Shape) -> Any:
    """The problem as a model of PyEPO, solved and counted by the same solver."""
    from pyepo import EPO
    from pyepo.model.opt import optModel

    class Model(optModel):
        modelSense = EPO.MINIMIZE if shape.problem.linear == "min" else EPO.MAXIMIZE  # noqa: N815

        def _getModel(self) -> tuple[None, list[int]]:  # noqa: N802
            return None, list(range(shape.Y.shape[1]))

        @property
        def num_cost(self) -> int:
            return int(shape.Y.shape[1])

        def setObj(self, c: Any) -> None:  # noqa: N802
            self.c = np.asarray(c, dtype=float)

        def solve(self) -> tuple[np.ndarray, float]:
            z = shape.solver(self.c)
            return z, float(self.c @ z)

    return Model()
