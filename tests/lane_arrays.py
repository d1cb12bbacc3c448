"""Four matrices as a lane array of packed lower triangles, and back; and four covariances to try."""

from __future__ import annotations

import numpy as np

from fewsolves.methods.gp_surrogate.gp.lanes import WIDTH


def packed(matrices):
    rows, columns = np.tril_indices(len(matrices[0]))
    return np.ascontiguousarray(np.stack([m[rows, columns] for m in matrices], axis=1)).ravel()


def unpacked(lanes, n):
    matrices = np.zeros((WIDTH, n, n))
    rows, columns = np.tril_indices(n)
    matrices[:, rows, columns] = lanes.reshape(-1, WIDTH).T
    return matrices


def correlations(n, n_inputs=3, seed=0):
    """Squared distances and correlations (length-scale 1) of four examples."""
    x = np.random.default_rng(seed).normal(size=(WIDTH, n, n_inputs))
    D = ((x[:, :, None] - x[:, None]) ** 2).sum(axis=3)
    return D, np.exp(-D / 2)
