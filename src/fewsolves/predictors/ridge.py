"""Ridge regression: a linear predictor in closed form, its penalty chosen by leaving out each row in turn.

Z (M, n_x)  standardised context, T (M, n_y)  standardised parameters, w (M,)  weights of the rows, 1 on average;
both centred by their weighted means, and Z = U diag(s) V' after each row was multiplied by sqrt(w)

    B = V diag(s / (s^2 + p)) U' T          minimises  sum_i w_i |T_i - Z_i B|^2 + p |B|^2
    h_i = w_i / sum(w) + sum_k U_ik^2 s_k^2 / (s_k^2 + p)          the leverage of row i
    (T_i - Z_i B) / (1 - h_i)          the error at row i of the model without it (Allen's PRESS)

With A = T (U'T)' and G = U'T (U'T)', both small, the squared error of row i needs no pass over the outputs:

    |T_i - Z_i B|^2 = |T_i|^2 - 2 v_i A_i' + v_i G v_i'          v_i = U_i s^2 / (s^2 + p)

It loses digits where the errors are small beside T, so it only says which penalties cannot be the best.

As good as Adam with early stopping on validation rows (`studies/src/fewsolves_studies/measure/start.py`), in
negligible time.
"""

from __future__ import annotations

import numpy as np

from fewsolves._internal.dense import Dense
from fewsolves.predictors.items import Flat, Shared
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array

PENALTIES = np.logspace(-6, 3, 37)  # p, per row
ALONE = 1e-9  # the least 1 - h_i: a row that alone decides its own prediction
WIDE = 4  # outputs for each feature from which on the short form is worth while
DIGITS = 1e-9  # of |T|^2, that the short form is good for


def fit_ridge(
    predictor: Predictor,
    X: Array,
    Y: Array,
    weights: Array | None = None,
    *,
    penalties: Array = PENALTIES,
    wide: float = WIDE,
) -> float:
    """Set the linear layer of `predictor` by rows X (M, ...), Y (M, n_y); the penalty per row that was chosen."""
    w = np.ones(len(X)) if weights is None else weights
    Z = (X - predictor.x_mean) / predictor.x_std
    T = (Y - predictor.y_mean) / predictor.y_std
    net = predictor.net
    if isinstance(net, Shared):
        return _fit_shared(net, Z, T, w, penalties)
    layer = net.net if isinstance(net, Flat) else net
    assert isinstance(layer, Dense)
    B, level, penalty = ridge(Z.reshape(len(Z), -1), T, w, penalties, wide)
    _fill(layer, B, level)
    return penalty


def _fit_shared(net: Shared, Z: Array, T: Array, w: Array, penalties: Array) -> float:
    """One layer for all items, from Z (M, items, k), T (M, items); intercepts of items are means of what it leaves."""
    z_mean, t_mean = np.average(Z, axis=0, weights=w), np.average(T, axis=0, weights=w)
    own = net.intercepts is not None
    rows = ((Z - z_mean) if own else Z).reshape(-1, Z.shape[2]), ((T - t_mean) if own else T).reshape(-1, 1)
    B, level, penalty = ridge(*rows, np.repeat(w, T.shape[1]), penalties)
    _fill(net.net, B, level)
    if net.intercepts is not None:
        net.intercepts[:] = t_mean - (z_mean @ B)[:, 0]
    return penalty


def _fill(net: Dense, B: Array, level: Array) -> None:
    assert net.layer is not None
    weight, bias = net.layer
    weight[:], bias[:] = B.T, level


def ridge(Z: Array, T: Array, w: Array, penalties: Array = PENALTIES, wide: float = WIDE) -> tuple[Array, Array, float]:
    """B (n_x, n_y), the intercepts (n_y,), and the penalty per row that was chosen, for rows of weights w (M,)."""
    root = np.sqrt(w)[:, None]
    z_mean, t_mean = np.average(Z, axis=0, weights=w), np.average(T, axis=0, weights=w)
    U, s, Vt = np.linalg.svd(root * (Z - z_mean), full_matrices=False)
    T = root * (T - t_mean)
    UT, U2 = U.T @ T, np.square(U)

    def alone(p: float) -> tuple[Array, Array]:
        kept = s**2 / (s**2 + p)
        return kept, np.maximum(1 - (w / w.sum() + U2 @ kept), ALONE)

    def left_out(p: float) -> float:
        kept, rest = alone(p)
        errors = (T - U @ (kept[:, None] * UT)) / rest[:, None]
        return float(np.square(errors).mean())

    TT, A, G = np.einsum("mn,mn->m", T, T), T @ UT.T, UT @ UT.T

    def in_short(p: float) -> tuple[float, float]:
        """The same times n_y M, and how far off it may be."""
        kept, rest = alone(p)
        v = U * kept
        square = TT + np.einsum("mk,mk->m", v, v @ G - 2 * A)
        return float((square / rest**2).sum()), DIGITS * float((TT / rest**2).sum())

    per_rows = penalties
    if T.shape[1] > wide * Z.shape[1]:
        found = np.array([in_short(len(Z) * per_row) for per_row in penalties])
        per_rows = penalties[found[:, 0] - found[:, 1] <= (found[:, 0] + found[:, 1]).min()]
    penalty = len(Z) * min(per_rows, key=lambda per_row: left_out(len(Z) * per_row))
    B = Vt.T @ ((s / (s**2 + penalty))[:, None] * UT)
    return B, t_mean - z_mean @ B, float(penalty / len(Z))
