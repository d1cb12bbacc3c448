"""Models side by side: what they predict, how they are averaged, and what becomes the result."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from fewsolves.methods.staged.replicas import AdamArrays, LinearReplicas, ModuleReplicas, Shifts
from fewsolves.predictors.predictor import Predictor
from problems_of_users import NEWSVENDOR, demand_table
from staged_rows import N, linear, network, predictors, rows_of, said

X, Y = demand_table(N, 3)
X = X * np.array([1.0, 100.0, 1e-3, 5.0]) + np.array([0.0, 7.0, 2.0, -3.0])
BAGS = [np.arange(20), np.arange(10, N), np.r_[np.arange(10), np.arange(20, N)]]
KINDS = [(LinearReplicas, linear), (ModuleReplicas, network), (ModuleReplicas, linear)]


def replicas_of(kind, build, bounds=None, narrow=None):
    rows, starts = rows_of(NEWSVENDOR), predictors(X, Y, BAGS, build=build, bounds=bounds)
    if narrow is not None:
        rows.shrink_units(rows.oracle.Y + narrow * rows.scale.std * np.random.default_rng(0).normal(size=Y.shape))
    bags = BAGS if kind is LinearReplicas else [*BAGS, np.arange(N)]
    return kind(rows, X, copy.deepcopy(starts), bags), starts


def trained(models, steps=20):
    rng = np.random.default_rng(0)
    models.begin()
    for _ in range(steps):
        for k, bag in enumerate(models.bags):
            models.forward(k, bag[:8])
            models.step(k, rng.normal(size=(8, 3)), 0.05)
        models.collect()
    models.settle()


@pytest.mark.parametrize("narrow", [None, 0.05])
@pytest.mark.parametrize(("kind", "build"), KINDS)
def test_replicas_predict_what_their_predictors_do(kind, build, narrow):
    models, starts = replicas_of(kind, build, narrow=narrow)
    assert len({start.x_std.tobytes() for start in starts}) == 4, "scales of their own"
    for start, u in zip(starts, models.predictions(), strict=kind is ModuleReplicas):
        assert np.allclose(models.rows.raw(u), said(start, X), atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("narrow", [None, 0.05])
@pytest.mark.parametrize(("kind", "build"), KINDS)
def test_replicas_without_a_change_install_the_start_on_all_rows(kind, build, narrow):
    models, starts = replicas_of(kind, build, narrow=narrow)
    other = predictors(X[:20], Y[:20], [], build=build)[0]
    models.install(other)
    assert np.allclose(said(other, X), said(starts[-1], X), atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize(("kind", "build"), KINDS)
def test_replicas_are_restored_to_a_snapshot(kind, build):
    models, _ = replicas_of(kind, build)
    before, snapshot = models.predictions(), models.snapshot()
    trained(models)
    after = models.predictions()
    assert not np.allclose(before, after)
    models.restore(snapshot)
    assert np.array_equal(models.predictions(), before)
    trained(models)
    assert np.array_equal(models.predictions(), after), "the snapshot is a copy"


@pytest.mark.parametrize(("kind", "build"), KINDS)
def test_replicas_shift_predictions_by_model_and_output(kind, build):
    models, _ = replicas_of(kind, build)
    before, t = models.predictions(), np.random.default_rng(0).normal(size=(len(models.bags), 3))
    models.shift(t)
    assert np.allclose(models.predictions(), before + t[:, None], atol=1e-9)


@pytest.mark.parametrize(("kind", "build"), KINDS)
def test_replicas_settle_on_the_mean_of_what_was_collected(kind, build):
    models, _ = replicas_of(kind, build)
    before = models.predictions()
    models.begin()
    models.collect()
    trained_once = copy.deepcopy(models)
    trained_once.forward(0, BAGS[0])
    trained_once.step(0, np.ones((20, 3)), 0.1)
    trained_once.collect()
    models.settle()
    trained_once.settle()
    assert np.allclose(models.predictions(), before)
    assert not np.allclose(trained_once.predictions()[0], before[0])


@pytest.mark.parametrize(("kind", "build"), KINDS)
def test_replicas_that_collected_nothing_keep_their_weights(kind, build):
    models, _ = replicas_of(kind, build)
    before = models.predictions()
    models.begin()
    models.settle()
    assert np.array_equal(models.predictions(), before)


@pytest.mark.parametrize(("kind", "build"), KINDS)
def test_replicas_step_along_minus_the_slope(kind, build):
    models, _ = replicas_of(kind, build)
    models.begin()
    before = models.forward(1, BAGS[1])
    models.step(1, np.tile([1.0, -1.0, 1.0], (20, 1)), 0.01)
    moved = (models.forward(1, BAGS[1]) - before).mean(axis=0)
    assert moved[0] < 0 < moved[1] and moved[2] < 0


def test_linear_replicas_result_is_the_start_plus_the_mean_change():
    models, starts = replicas_of(LinearReplicas, linear)
    before = models.predictions()
    trained(models)
    result = copy.deepcopy(starts[0])
    models.install(result)
    change = models.rows.scale.std * (models.predictions() - before).mean(axis=0)
    assert np.allclose(said(result, X), said(starts[-1], X) + change, atol=1e-9)


@pytest.mark.parametrize(("kind", "build"), KINDS)
def test_replicas_keep_within_bounds(kind, build):
    bounds = np.full(3, 8.0), np.full(3, 12.0)
    models, starts = replicas_of(kind, build, bounds=bounds)
    for shift in (-50.0, 0.0, 50.0):
        models.shift(np.full((len(models.bags), 3), shift))
        y_hat = models.rows.raw(models.predictions())
        assert (y_hat >= 8.0 - 1e-9).all() and (y_hat <= 12.0 + 1e-9).all()
        models.shift(np.full((len(models.bags), 3), -shift))
    trained(models)
    result = copy.deepcopy(starts[-1])
    models.install(result)
    assert (said(result, X) >= 8.0).all() and (said(result, X) <= 12.0).all()


def test_linear_replicas_slope_at_a_bound_is_that_of_the_predictor():
    bounds = np.full(3, 8.0), np.full(3, 12.0)
    models, starts = replicas_of(LinearReplicas, linear, bounds=bounds)
    modules = ModuleReplicas(models.rows, X, [copy.deepcopy(starts[-1])] * 2, BAGS[:1])
    linears = LinearReplicas(models.rows, X, [starts[-1]] * 2, BAGS[:1])
    assert np.allclose(linears.predictions()[0], modules.predictions()[0], atol=1e-9)
    h, u = 1e-6, linears.A @ linears.W[0]
    within, slope = linears._bounded(u)
    assert np.allclose((linears._bounded(u + h)[0] - within) / h, slope, atol=1e-4)


def test_linear_replicas_of_a_predictor_without_scales():
    given = Predictor(nn.Linear(4, 3).double())
    models = LinearReplicas(rows_of(NEWSVENDOR), X, [given, given], [np.arange(N)])
    assert np.allclose(models.rows.raw(models.predictions()[0]), said(given, X), atol=1e-9)
    result = copy.deepcopy(given)
    models.install(result)
    assert np.allclose(said(result, X), said(given, X), atol=1e-9)


def test_shifts_add_to_fixed_predictions():
    fixed = np.random.default_rng(0).normal(size=(N, 3))
    shifts = Shifts(fixed, BAGS)
    shifts.begin()
    assert np.array_equal(shifts.forward(2, BAGS[2]), fixed[BAGS[2]])
    shifts.step(2, np.ones((20, 3)), 0.1)
    assert np.allclose(shifts.forward(2, BAGS[2]), fixed[BAGS[2]] - 0.1)
    assert np.array_equal(shifts.forward(0, BAGS[0]), fixed[BAGS[0]])


def test_adam_is_that_of_torch():
    weights = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    theirs = torch.optim.Adam([weights], lr=0.05, eps=1e-30)
    mine, rng = np.zeros((2, 5)), np.random.default_rng(0)
    adam = AdamArrays(mine)
    for gradient in rng.normal(size=(20, 5)):
        weights.grad = torch.as_tensor(gradient)
        theirs.step()
        adam.step(mine, 1, gradient, 0.05)
    assert np.allclose(mine[1], weights.detach().numpy(), atol=1e-12)
    assert not mine[0].any()


def test_replicas_of_modules_pay_for_each_model_in_turn():
    models, _ = replicas_of(ModuleReplicas, network)
    u = np.arange(4.0)[:, None, None] + np.zeros((4, 4000, 3))
    u[1, :1000] = np.nan  # rows that the second model may not see
    found = models.anchor(u, np.random.default_rng(0))
    share = [(found[:, 0] == k).mean() for k in range(4)]
    assert share[-1] == pytest.approx(0.5, abs=0.03), "the result"
    assert share[0] == pytest.approx(share[2], abs=0.03) and share[1] == pytest.approx(0.75 / 6, abs=0.02)
    assert not (found[:1000] == 1).any() and not np.isnan(found).any()


def test_replicas_of_one_module_draw_nothing_to_choose_where_to_pay():
    rows, starts = rows_of(NEWSVENDOR), predictors(X, Y, [], build=network)
    models, rng = ModuleReplicas(rows, X, starts, [np.arange(N)]), np.random.default_rng(0)
    u = np.ones((1, 5, 3))
    assert np.array_equal(models.anchor(u, rng), u[0])
    assert rng.random() == np.random.default_rng(0).random()
