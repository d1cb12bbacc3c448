import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from fewsolves.data import Scale
from fewsolves.predictors.predictor import Predictor, linear
from fewsolves.predictors.ridge import PENALTIES, fit_ridge

pytestmark = pytest.mark.portable


def table(n, n_x=3, n_y=2, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_x)) * [1.0, 30.0, 0.01][:n_x] + 5
    return X, X @ rng.normal(size=(n_x, n_y)) + noise * rng.normal(size=(n, n_y)), rng


def fitted(X, Y, weights=None, **options):
    predictor = Predictor(linear(X.shape[1], Y.shape[1], seed=0), Scale.of(X), Scale.of(Y))
    penalty = fit_ridge(predictor, X, Y, weights, **options)
    with torch.no_grad():
        return predictor(torch.as_tensor(X)).numpy(), penalty


def by_hand(X, Y, penalty, at, weights=None):
    """Of scikit-learn, in the same units."""
    x, y = Scale.of(X), Scale.of(Y)
    model = Ridge(alpha=penalty * len(X)).fit((X - x.mean) / x.std, (Y - y.mean) / y.std, sample_weight=weights)
    return y.mean + y.std * model.predict((at - x.mean) / x.std)


@given(st.integers(5, 40), st.integers(0, 1000), st.booleans())
@settings(max_examples=25, deadline=None)
def test_ridge_is_the_ridge_regression_of_scikit_learn(n, seed, weighted):
    X, Y, rng = table(n, seed=seed)
    weights = rng.uniform(0.1, 3, n) if weighted else None
    weights = None if weights is None else weights / weights.mean()
    predicted, penalty = fitted(X, Y, weights)
    assert np.allclose(predicted, by_hand(X, Y, penalty, X, weights), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("noise", [0.1, 5.0, 50.0])
def test_ridge_the_penalty_is_the_one_that_predicts_rows_left_out_best(noise):
    X, Y, _ = table(20, noise=noise)
    _, chosen = fitted(X, Y)

    def error(penalty):
        x, y = Scale.of(X), Scale.of(Y)
        Z, T = (X - x.mean) / x.std, (Y - y.mean) / y.std  # one scale for all: that of the whole table
        left = [np.delete(np.arange(20), i) for i in range(20)]
        models = [Ridge(alpha=penalty * 20).fit(Z[rows], T[rows]) for rows in left]
        return sum(np.square(model.predict(Z[[i]]) - T[i]).sum() for i, model in enumerate(models))

    assert chosen == pytest.approx(min(PENALTIES, key=error))


@given(st.integers(5, 40), st.integers(0, 1000), st.sampled_from([0.0, 1e-12, 1e-8, 1e-4, 1.0, 100.0]))
@settings(max_examples=40)
def test_ridge_with_many_outputs_the_same_penalty_is_found_sooner(n, seed, noise):
    X, Y, _ = table(n, n_y=30, noise=noise, seed=seed)
    sooner = fitted(X, Y)
    slowly = fitted(X, Y, wide=np.inf)
    assert sooner[1] == slowly[1]
    assert np.array_equal(sooner[0], slowly[0])


def test_ridge_noise_is_not_followed_and_a_line_is():
    X, Y, rng = table(60, noise=0.0)
    assert np.allclose(fitted(X, Y)[0], Y, rtol=1e-3)
    noise = rng.normal(size=(60, 2))
    assert fitted(X, noise)[0].std() < 0.3 * noise.std()


def test_ridge_constant_and_repeated_columns_do_no_harm():
    X, Y, _ = table(30, n_x=2)
    odd = np.c_[X, X[:, :1], np.ones(30)]
    assert np.allclose(fitted(odd, Y)[0], fitted(X, Y)[0], rtol=0.05)


def test_ridge_more_columns_than_rows_can_be_fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 20))
    predicted, _ = fitted(X, X[:, :1])
    assert np.isfinite(predicted).all()
