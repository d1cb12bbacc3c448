"""The generator of counts against its formula and by simulation; what is refused before any solver sees it."""

import numpy as np
import pytest

from fewsolves.demo.sources import PoissonCounts, parameter_rows, random_incidence
from fewsolves.errors import InputError


def source(noise="additive", half_width=0.5, degree=5):
    rng = np.random.default_rng(0)
    return PoissonCounts(random_incidence(8, 5, rng), degree, noise, half_width, np.linspace(0.1, 1.0, 8))


@pytest.mark.parametrize("noise", ["additive", "multiplicative"])
def test_sources_mean_is_the_mean_of_draws(noise):
    counts = source(noise)
    x = counts.features(1, np.random.default_rng(1))
    draws = counts.draw_given(np.tile(x, (40_000, 1)), np.random.default_rng(2))
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - counts.mean(x)[0]) < 5 * error)


def test_sources_mean_where_the_rate_is_cut_at_zero():
    """(B x / sqrt(p) + 3) near -1 puts the rate around 0, where additive noise matters."""
    counts = PoissonCounts(np.ones((1, 1)), 5, "additive", 0.5, np.ones(1))
    for base in (-0.6, -0.3, 0.0, 0.2, 0.49, 0.7):
        x = np.array([[np.sign(base - 1.0) * abs(base - 1.0) ** 0.2 - 3.0]])
        u = np.linspace(-0.5, 0.5, 100_001)
        assert counts.mean(x)[0, 0] == pytest.approx(np.maximum(0.0, base + u).mean(), abs=1e-4)


def test_sources_rate_without_noise():
    counts = source(half_width=0.0)
    x = np.array([[0.3, -0.2, 0.5, 1.0, -1.0]])
    expected = counts.factor * np.maximum(0.0, 1.0 + (counts.B @ x[0] / np.sqrt(5.0) + 3.0) ** 5)
    np.testing.assert_allclose(counts.mean(x)[0], expected)


def test_sources_multiplicative_noise_is_the_wider_one():
    x = np.zeros((20_000, 5))
    spread = {
        noise: source(noise).draw_given(x, np.random.default_rng(3)).std() for noise in ("additive", "multiplicative")
    }
    assert spread["multiplicative"] > 1.1 * spread["additive"]


def test_sources_negative_rates_give_no_units():
    counts = source()
    assert np.all(counts.draw_given(np.full((100, 5), -20.0), np.random.default_rng(4))[:, counts.B.any(axis=1)] == 0.0)


def test_sources_unknown_noise():
    with pytest.raises(InputError, match="additive"):
        source("gaussian")


def test_sources_one_vector_is_one_row_of_floats():
    rows = parameter_rows(np.arange(3), 3)
    assert rows.shape == (1, 3) and rows.dtype == np.float64
    assert parameter_rows(np.ones((0, 3), np.float32), 3).shape == (0, 3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_sources_the_place_of_a_bad_number_is_named(bad):
    Y = np.ones((3, 2))
    Y[2, 1] = bad
    with pytest.raises(ValueError, match=r"finite.*row 2, column 1"):
        parameter_rows(Y, 2)


@pytest.mark.parametrize("shape", [(4,), (2, 4), (1, 2, 3), ()])
def test_sources_parameters_of_the_wrong_shape_are_refused(shape):
    with pytest.raises(ValueError, match="expected 3 parameters"):
        parameter_rows(np.ones(shape), 3)
