import numpy as np
import pytest
import torch

from fewsolves.methods.comparison.local_forms import FORMS, make_form

PRESETS = ("paper", "robust")


def made(name, d, preset, n=3, K=5, seed=0):
    rng = np.random.default_rng(seed)
    form = make_form(name, d, preset)
    theta = torch.as_tensor(rng.normal(size=(n, *form.shape)))
    e = torch.as_tensor(rng.normal(size=(n, K, d)))
    return form, theta, e


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("d", [1, 2, 30])
def test_local_forms_a_local_loss_is_never_negative_and_vanishes_without_error(name, preset, d):
    form, theta, e = made(name, d, preset)
    value = form.value(theta, form.features(e))
    assert value.shape == e.shape[:2]
    assert (value >= 0).all()
    assert torch.equal(form.value(theta, form.features(0 * e)), 0 * value)


def slow_value(name, preset, theta, e):
    """One example and point at a time, entry by entry."""
    d = len(e)
    if name.endswith("mse"):
        w = theta.clamp(min=1e-3) if preset == "paper" else torch.nn.functional.softplus(theta) + 1e-3
        return sum(w[j + d * bool(name == "directed-mse" and e[j] <= 0)] * e[j] ** 2 for j in range(d)) / d
    rank = theta.shape[-1]
    total = 0.0
    for j in range(rank):
        column = 0.0
        for i in range(d):
            if name == "quadratic":
                entry = theta[i, j] if preset == "robust" or i >= j else 0.0
            elif preset == "robust":
                entry = theta[i if e[i] > 0 else i + d, j]
            else:
                entry = theta[int(e[i] <= 0), int(e[j] <= 0), i, j] if i >= j else 0.0
            column = column + entry * e[i]
        total = total + column**2
    return total


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", FORMS)
def test_local_forms_batched_values_are_those_of_the_formula(name, preset):
    form, theta, e = made(name, 4, preset)
    value = form.value(theta, form.features(e))
    for n in range(3):
        for k in range(5):
            assert float(value[n, k]) == pytest.approx(float(slow_value(name, preset, theta[n], e[n, k])))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", FORMS)
def test_local_forms_gradients_are_those_of_finite_differences(name, preset):
    form, theta, e = made(name, 3, preset, n=2, K=2)
    theta = theta.abs() + 0.1 if name.endswith("mse") else theta
    inputs = (theta.requires_grad_(), e.requires_grad_())
    assert torch.autograd.gradcheck(lambda theta, e: form.value(theta, form.features(e)), inputs)


@pytest.mark.parametrize("name", ["mse", "directed-mse", "quadratic"])
def test_local_forms_undirected_forms_and_directed_squares_are_convex(name):
    form, theta, a = made(name, 6, "robust", K=40)
    b = torch.flip(a, [1])
    ends = form.value(theta, form.features(a)) + form.value(theta, form.features(b))
    assert (form.value(theta, form.features((a + b) / 2)) <= ends / 2 + 1e-12).all()


def test_local_forms_the_published_directed_quadratic_jumps_and_the_robust_one_does_not():
    jump = {}
    for preset in PRESETS:
        form, theta, e = made("directed-quadratic", 4, preset)
        above, below = e.clone(), e.clone()
        above[..., 0], below[..., 0] = 1e-9, -1e-9
        values = [form.value(theta, form.features(side)) for side in (above, below)]
        jump[preset] = float((values[0] - values[1]).abs().max())
    assert jump["paper"] > 0.1
    assert jump["robust"] < 1e-6


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("d", [1, 10, 50])
def test_local_forms_robust_fits_begin_at_values_of_the_order_of_one(name, d):
    form = make_form(name, d, "robust")
    rng = np.random.default_rng(0)
    theta = form.initial(200, rng)
    e = torch.as_tensor(rng.normal(size=(200, 20, d)), dtype=torch.float32)
    assert float(form.value(theta, form.features(e)).mean()) == pytest.approx(1.0, rel=0.3)
