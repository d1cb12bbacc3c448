import numpy as np
import pytest
import torch

from fewsolves.data import Scale
from fewsolves.predictors.predictor import Predictor, linear, network


@pytest.mark.parametrize("build", [linear, network])
def test_predictor_weights_follow_from_the_seed_and_global_state_is_left_alone(build):
    torch.manual_seed(7)
    before = torch.get_rng_state()
    one, two, other = build(3, 2, seed=1), build(3, 2, seed=1), build(3, 2, seed=2)
    assert torch.equal(torch.get_rng_state(), before)
    x = np.ones((1, 3))
    assert np.array_equal(one(x), two(x))
    assert not np.array_equal(one(x), other(x))


def test_predictor_units_are_the_users():
    x_scale, y_scale = Scale(np.array([10.0]), np.array([2.0])), Scale(np.array([100.0]), np.array([5.0]))
    net = linear(1, 1, seed=0)
    net.layer[0][:], net.layer[1][:] = 1.0, 0.0
    y_hat = Predictor(net, x_scale, y_scale)(np.array([[12.0]]))
    assert float(y_hat[0, 0]) == pytest.approx(105.0)


def test_predictor_a_float32_module_is_fine():
    predictor = Predictor(torch.nn.Linear(2, 1))
    y_hat, kept = predictor.forward(np.ones((4, 2)))
    assert y_hat.dtype == np.float64 and predictor(np.ones((4, 2))).dtype == np.float64
    weight, bias = predictor.backward(np.ones((4, 1)), kept)
    assert weight.tolist() == [[4.0, 4.0]] and bias.tolist() == [4.0] and weight.dtype == np.float32


def test_predictor_of_a_tensor_is_a_tensor():
    predictor = Predictor(linear(2, 1, seed=0))
    x = np.ones((3, 2))
    assert np.array_equal(predictor(torch.as_tensor(x)).numpy(), predictor(x))


@pytest.mark.parametrize("build", [linear, network])
def test_predictor_slopes_are_those_of_finite_differences(build):
    rng = np.random.default_rng(0)
    scales = Scale(np.zeros(3), np.full(3, 2.0)), Scale(np.ones(2), np.array([3.0, 0.5]))
    predictor = Predictor(build(3, 2, seed=0), *scales, bounds=(np.array([0.5]), np.array([1.5])))
    x, slope = rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    (gradient,) = predictor.backward(slope, predictor.forward(x)[1])
    (vector,) = predictor.weights()
    for k in rng.choice(len(vector), 8, replace=False):
        values = []
        for step in (1e-6, -2e-6):
            vector[k] += step
            values.append(float((slope * predictor(x)).sum()))
        vector[k] += 1e-6
        assert gradient[k] == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-4, abs=1e-6)


def bounded(low, high, std=2.0):
    net = linear(1, 2, seed=0)
    net.layer[0][:], net.layer[1][:] = 1.0, 0.0
    y_scale = Scale(np.zeros(2), np.full(2, std))
    return Predictor(net, None, y_scale, (np.atleast_1d(low), np.atleast_1d(high)))


@pytest.mark.parametrize(("low", "high"), [(0.0, np.inf), (-np.inf, 3.0), ([0.0, -1.0], 3.0), (0.0, 0.01)])
def test_predictor_predictions_keep_to_bounds_and_still_have_a_slope_there(low, high):
    predictor, x = bounded(low, high), np.linspace(-2, 2, 401)[:, None]
    y_hat = predictor(x)
    assert bool((y_hat >= low).all() and (y_hat <= high).all())
    slope = predictor.within_bounds(2.0 * np.repeat(x, 2, axis=1))[1]
    assert np.isfinite(slope).all()
    assert 2.0 * slope[200].sum() > 0.5, "at the bound, where it holds half"


def test_predictor_bounds_change_nothing_far_from_them():
    x = np.array([[1.5]])
    assert float(bounded(0.0, 100.0)(x)[0, 0]) == pytest.approx(3.0, abs=1e-6)
