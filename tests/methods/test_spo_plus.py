import numpy as np
import pytest
import torch

from fewsolves.methods.spo_plus import SPOPlusLoss
from fewsolves.testing import check_solves
from small_linear import FEASIBLE, N_Y, made, solve

SENSES = ("min", "max")


def published(c_hat, c):
    """The definition, by listing every decision: max_z (c - 2 c_hat) z + 2 c_hat z*(c) - c z*(c)."""
    best = solve(c)
    return np.max(FEASIBLE @ (c - 2 * c_hat)) + 2 * c_hat @ best - c @ best


def predictions(oracle, seed=1):
    return oracle.Y + np.random.default_rng(seed).normal(size=oracle.Y.shape)


def test_spo_plus_one_solve_per_epoch():
    check_solves("spo+", pre_training=0, per_epoch=1)


@pytest.mark.parametrize("sense", SENSES)
def test_spo_plus_the_loss_is_the_published_one_and_bounds_the_regret(sense):
    oracle, sign = made(sense)
    y_hat = predictions(oracle)
    for i in range(len(oracle)):
        value = SPOPlusLoss(oracle).value(y_hat[i : i + 1], np.array([i]))
        assert value == pytest.approx(published(sign * y_hat[i], sign * oracle.Y[i]), abs=1e-12)
        assert value >= oracle.regret(np.array([i]), y_hat[i : i + 1], phase="test")[0] - 1e-12


@pytest.mark.parametrize("sense", SENSES)
def test_spo_plus_the_gradient_is_that_of_finite_differences(sense):
    oracle, sign = made(sense, n=8)
    y_hat = predictions(oracle)
    slope = len(oracle) * SPOPlusLoss(oracle).with_slope(y_hat, np.arange(len(oracle)))[1]
    for i, j in np.ndindex(oracle.Y.shape):
        step = np.eye(N_Y)[j] * 1e-6
        above, below = (published(sign * (y_hat[i] + shift), sign * oracle.Y[i]) for shift in (step, -step))
        assert slope[i, j] == pytest.approx((above - below) / 2e-6, abs=1e-6)


@pytest.mark.parametrize("sense", SENSES)
def test_spo_plus_loss_and_gradient_are_those_of_pyepo(sense):
    pyepo = pytest.importorskip(
        "pyepo", reason="PyEPO, the referee, is not installed, though 'fewsolves[dev]' asks for it"
    )
    from pyepo.func import SPOPlus
    from pyepo.model.opt import optModel

    class Listed(optModel):
        def __init__(self):
            self.modelSense = pyepo.EPO.MINIMIZE if sense == "min" else pyepo.EPO.MAXIMIZE
            super().__init__()

        def _getModel(self):  # noqa: N802
            return None, list(range(N_Y))

        def setObj(self, c):  # noqa: N802
            self.c = np.asarray(c, dtype=float)

        def solve(self):
            z = solve(self.c if sense == "min" else -self.c)
            return z, float(self.c @ z)

    oracle, _ = made(sense)
    y = torch.as_tensor(oracle.Y)
    best = np.stack(oracle.labels(np.arange(len(oracle))))
    values = torch.as_tensor((oracle.Y * best).sum(1, keepdims=True))
    theirs = torch.tensor(predictions(oracle)).requires_grad_()
    value, slope = SPOPlusLoss(oracle).with_slope(predictions(oracle), np.arange(len(oracle)))
    reference = SPOPlus(Listed(), processes=1)(theirs, y, torch.as_tensor(best), values)
    reference.mean().backward()
    assert value == pytest.approx(reference.mean().item(), rel=1e-5)
    np.testing.assert_allclose(slope, theirs.grad.numpy(), rtol=1e-5, atol=1e-8)
