"""PyDFLT's SFGE and LANCER on a shape of `peer_problems` whose X is a table.

Both train a linear predictor from least squares: PyDFLT's `init_OLS`. The label of each row and one solve per row and
epoch are all they pay for; no row is set aside, and the last weights count. SFGE's noise begins at the standard
deviation of each output, PyDFLT's default. PyDFLT 0.1 needs PyEPO 0.3, so it is installed in an environment of its own:

    pip install --editable . --editable 'studies[pydflt]'
    python -m fewsolves_studies.measure.beside_peers --methods 'PyDFLT SFGE,PyDFLT LANCER'
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from fewsolves_studies.measure.peer_problems import Shape

SFGE, LANCER = "PyDFLT SFGE", "PyDFLT LANCER"
METHODS = (SFGE, LANCER)


def train(shape: Shape, method: str, *, epochs: int, rate: float, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """The predictions of the trained model, as a function of x."""
    with contextlib.redirect_stdout(io.StringIO()):
        maker = _maker(shape, method, rate, seed)
        for epoch in range(1, epochs + 1):
            maker.run_epoch(mode="train", epoch_num=epoch)

    def predict(X: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            values: np.ndarray = maker.predictor(torch.as_tensor(X, dtype=torch.float32)).numpy()
        return values.astype(float)

    return predict


def _maker(shape: Shape, method: str, rate: float, seed: int) -> Any:
    from pydflt.decision_makers import LancerDecisionMaker, SFGEDecisionMaker
    from pydflt.problem import Problem

    data = {"features": shape.X.astype(np.float32), "y": shape.Y.astype(np.float32)}
    problem = Problem(data, _model(shape), train_ratio=1.0, val_ratio=0.0, seed=seed, verbose=False)
    linear: dict[str, Any] = {
        "init_OLS": True,
        "standardize_predictions": False,
        "predictor_kwargs": {"num_hidden_layers": 0},
        "seed": seed,
    }
    if method == LANCER:
        return LancerDecisionMaker(problem, learning_rate_predictor=rate, **linear)
    noise = {"sigma_setting": "independent", "sigma_init": shape.Y.std(axis=0).astype(np.float32)}
    return SFGEDecisionMaker(problem, learning_rate=rate, noisifier_kwargs=noise, **linear)


def _model(shape: Shape) -> Any:
    """The problem as a model of PyDFLT, solved and counted by the same solver."""
    from pydflt.abstract_models.base import OptimizationModel

    lower = -np.inf if shape.problem.lower is None else shape.problem.lower

    class Model(OptimizationModel):
        def __init__(self) -> None:
            n_y = (shape.Y.shape[1],)
            super().__init__({"z": n_y}, {"y": n_y}, "MIN")

        def solve_batch(self, data_batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            y_hat = np.maximum(np.asarray(data_batch["y"].detach(), dtype=float), lower)
            return {"z": torch.as_tensor(np.stack([shape.solver(y) for y in y_hat]))}

        def get_objective(
            self, data_batch: dict[str, torch.Tensor], decisions_batch: dict[str, torch.Tensor], **_: Any
        ) -> torch.Tensor:
            y, z = (np.asarray(v, dtype=float) for v in (data_batch["y"], decisions_batch["z"]))
            cost = shape.problem.cost
            return torch.as_tensor([cost(*pair) for pair in zip(y, z, strict=True)], dtype=torch.float32)

    return Model()
