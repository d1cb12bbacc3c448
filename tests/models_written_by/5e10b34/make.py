"""Models as fewsolves wrote them at commit 5e10b34, when every predictor was a torch module.

    PYTHONPATH=<checkout of 5e10b34>/src python make.py

writes the folders beside this file, and what each model predicts for the table. Change nothing.
"""

import warnings
from pathlib import Path

import numpy as np
import torch

import fewsolves as fs

HERE = Path(__file__).parent
PROBLEM = fs.Problem(solve=lambda y: y, cost=lambda y, z: float(abs(y - z).sum()), name="distance")


def main():
    warnings.simplefilter("ignore")
    X = np.random.default_rng(0).normal(size=(24, 3))
    Y = X @ np.array([[1.0, 0.5], [0.0, 2.0], [-1.0, 1.0]]) + 3.0
    arrays = {"X": X}
    for predictor in ("linear", "network"):
        settings = {"start_epochs": 3, "max_epochs": 2}
        model = fs.DecisionRegressor(PROBLEM, "gp-surrogate", predictor=predictor, settings=settings, verbose=False)
        model.fit(X, Y).save(HERE / predictor)
        arrays[predictor] = model.predict(X)
    model.surrogate_.save(HERE / "surrogate")
    arrays["rows"] = rows = np.arange(len(model.split_.train))
    arrays["y_hat"] = y_hat = Y[model.split_.train] + 0.2
    mean, std = model.surrogate_.regret(torch.as_tensor(y_hat), rows)
    arrays["mean"], arrays["std"] = mean.detach().numpy(), std.detach().numpy()
    np.savez(HERE / "table.npz", **arrays)


if __name__ == "__main__":
    main()
