import numpy as np
import pytest
import torch

from fewsolves.data import Scale
from fewsolves.errors import InputError
from fewsolves.methods.comparison.local_egl import EGLConfig, EGLLoss
from fewsolves.methods.comparison.local_forms import FORMS
from fewsolves.oracle import Oracle
from fewsolves.predictors.predictor import Predictor, linear
from fewsolves.testing import check_solves, newsvendor


def made(table, form="mse", seed=0, **settings):
    predictor = Predictor(linear(3, table.Y.shape[1], seed=1), Scale.of(table.X), Scale.of(table.Y))
    config = EGLConfig(form=form, **settings)
    return EGLLoss(Oracle(table.problem, table.Y), table.X, predictor, config, np.random.default_rng(seed))


@pytest.mark.parametrize("form", FORMS)
def test_local_egl_32_solves_all_before_training(form):
    check_solves(f"egl-{form}", pre_training=32, per_epoch=0)


@pytest.mark.parametrize("preset", ["paper", "robust"])
def test_local_egl_42_solves_for_50_outputs(preset):
    check_solves("egl-mse", pre_training=42, per_epoch=0, n_y=50, settings={"preset": preset})


def test_local_egl_the_number_of_samples_can_be_set():
    check_solves("egl-quadratic", pre_training=9, per_epoch=0, settings={"samples": 9})
    with pytest.raises(InputError, match="samples must be a whole number of at least 4"):
        made(newsvendor(2), samples=3)


@pytest.mark.parametrize("preset", ["paper", "robust"])
@pytest.mark.parametrize("form", FORMS)
def test_local_egl_examples_with_the_same_x_share_their_loss(form, preset):
    table = newsvendor(2, n=20)
    table.X[1] = table.X[0]
    loss = made(table, form, preset=preset)
    loss.start(torch.as_tensor(table.Y))
    torch.testing.assert_close(loss.theta[0], loss.theta[1])
    assert float(loss(torch.as_tensor(table.Y), torch.arange(20))) == 0.0


def test_local_egl_the_predictor_is_only_copied():
    table = newsvendor(2, n=20)
    predictor = Predictor(linear(3, 2, seed=1), Scale.of(table.X), Scale.of(table.Y))
    before = predictor.net.vector.copy()
    loss = EGLLoss(Oracle(table.problem, table.Y), table.X, predictor, EGLConfig(form="mse"), np.random.default_rng(0))
    loss.start(torch.as_tensor(table.Y))
    assert np.array_equal(predictor.net.vector, before)
    assert list(loss.trained_parameters()) == []
