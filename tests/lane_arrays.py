"""Matrices of LANES examples as a lane array of triangles, and back; and covariances to try."""

from __future__ import annotations

import numpy as np

from fewsolves.methods.gp_surrogate.gp.gather import entry, even, triangle_rows
from fewsolves.methods.gp_surrogate.gp.lanes import LANES


def packed(matrices):
    """(LANES, n, n) -> a lane array of n rows, n rounded up to even; what pads it correlates with nothing."""
    n = even(len(matrices[0]))
    padded = np.broadcast_to(np.eye(n), (LANES, n, n)).copy()
    padded[:, : len(matrices[0]), : len(matrices[0])] = matrices
    a, b = np.tril_indices(n)
    lanes = np.zeros((triangle_rows(n), 2 * LANES))
    lanes[entry(a, b)[:, None], LANES * (a % 2)[:, None] + np.arange(LANES)] = padded[:, a, b].T
    return lanes


def unpacked(lanes, n):
    """The lower triangles (LANES, n, n) of the first n rows."""
    matrices, (a, b) = np.zeros((LANES, n, n)), np.tril_indices(n)
    matrices[:, a, b] = lanes[entry(a, b)[:, None], LANES * (a % 2)[:, None] + np.arange(LANES)].T
    return matrices


def correlations(n, n_inputs=3, seed=0):
    """Squared distances and correlations (length-scale 1) of LANES examples."""
    x = np.random.default_rng(seed).normal(size=(LANES, n, n_inputs))
    D = ((x[:, :, None] - x[:, None]) ** 2).sum(axis=3)
    return D, np.exp(-D / 2)
