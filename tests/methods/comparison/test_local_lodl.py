import dataclasses

import numpy as np
import pytest
import torch

from fewsolves.errors import InputError
from fewsolves.methods.comparison.local_forms import FORMS, make_form
from fewsolves.methods.comparison.local_lodl import FITTINGS, LODLConfig, LODLLoss, fit_each
from fewsolves.oracle import Oracle
from fewsolves.testing import check_solves, newsvendor


def fitted(oracle, form="mse", preset="robust", **settings):
    loss = LODLLoss(oracle, LODLConfig(form=form, preset=preset, **settings), np.random.default_rng(5))
    loss.start(torch.as_tensor(oracle.Y))
    return loss


@pytest.mark.parametrize("preset", ["paper", "robust"])
def test_local_lodl_the_four_forms_share_their_samples(preset):
    table = newsvendor(3, n=15)
    oracle = Oracle(table.problem, table.Y)
    paid = []
    for form in FORMS:
        fitted(oracle, form, preset)
        paid.append(oracle.calls.training())
    assert paid == [250 * 15] * 4


@pytest.mark.parametrize("form", FORMS)
def test_local_lodl_250_solves_all_before_training(form):
    check_solves(f"lodl-{form}", pre_training=250, per_epoch=0)


@pytest.mark.parametrize("preset", ["paper", "robust"])
@pytest.mark.parametrize("form", FORMS)
def test_local_lodl_the_loss_vanishes_at_the_labels_which_stay_what_they_were(form, preset):
    table = newsvendor(1, n=10)
    oracle = Oracle(table.problem, table.Y)
    before = oracle.Y.copy()
    loss = fitted(oracle, form, preset)
    y_hat = torch.tensor(table.Y).requires_grad_()
    value = loss(y_hat, torch.arange(10))
    value.backward()
    assert float(value.detach()) == 0.0
    assert float(y_hat.grad.abs().max()) == 0.0
    assert np.array_equal(oracle.Y, before) and np.array_equal(loss.Y.numpy(), before)
    assert all(p is not loss.Y for p in loss.parameters())


def test_local_lodl_units_of_y_do_not_matter_to_the_robust_preset():
    table = newsvendor(3, n=10)
    big = dataclasses.replace(
        table.problem,
        solve_batch=lambda y_hat: y_hat / 1000,
        cost_batch=lambda y, z: 1e6 * table.problem.cost_batch(y / 1000, z),
    )
    small_loss = fitted(Oracle(table.problem, table.Y), "directed-mse")
    big_loss = fitted(Oracle(big, 1000 * table.Y), "directed-mse")
    torch.testing.assert_close(small_loss.theta, big_loss.theta, rtol=1e-2, atol=1e-2)


def test_local_lodl_directed_weights_find_the_expensive_side():
    loss = fitted(Oracle(newsvendor(2, n=10).problem, newsvendor(2, n=10).Y), "directed-mse")
    above, below = loss.form.weights(loss.theta).split(2, dim=1)
    assert (below > above).all()  # a missing unit costs four times one too many
    assert (below / above).median() > 2


@pytest.mark.parametrize("form", FORMS)
def test_local_lodl_a_regret_of_the_form_itself_is_found(form):
    rng = np.random.default_rng(0)
    family = make_form(form, 2, "robust")
    errors = torch.as_tensor(rng.normal(size=(6, 250, 2)), dtype=torch.float32)
    regret = family.value(2 * family.initial(6, rng), family.features(errors))
    theta = fit_each(family, errors, regret, family.initial(6, rng), FITTINGS["robust"]._replace(steps=2000))
    error = (family.value(theta, family.features(errors)) - regret).square().mean()
    assert float(error) < 0.02 * float(regret.var())


def test_local_lodl_bad_settings_are_refused():
    oracle = Oracle(newsvendor(2).problem, newsvendor(2).Y)
    with pytest.raises(InputError, match="samples must be a whole number of at least 5"):
        LODLLoss(oracle, LODLConfig(form="mse", samples=1), np.random.default_rng(0))
    with pytest.raises(InputError, match="spread must be a number above 0"):
        LODLLoss(oracle, LODLConfig(form="mse", spread=0.0), np.random.default_rng(0))
