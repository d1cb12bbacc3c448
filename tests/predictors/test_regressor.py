"""Any object with fit and predict is a regressor; what it can do is found out by trying."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsRegressor

import fewsolves as fs
from fewsolves.predictors.regressor import OneForEachOutput, is_fitted, name_of, several_outputs
from problems_of_users import NEWSVENDOR, demand_table

X, Y = demand_table(60, 2)


class Line:
    """Least squares, with nothing of scikit-learn; `fit` returns nothing."""

    def fit(self, X, y):
        self.w = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]

    def predict(self, X):
        return np.column_stack([X, np.ones(len(X))]) @ self.w


class OneLine(Line):
    """Takes one output only."""

    def fit(self, X, y):
        if np.ndim(y) != 1:
            raise ValueError("y must be one-dimensional")
        super().fit(X, y)


class FlatLine(Line):
    """Flattens what it gets, as some do, so that predictions of several outputs have a wrong shape."""

    def predict(self, X):
        return np.ravel(super().predict(X))


class Untagged(BaseEstimator, Line):
    """Has parameters, and says nothing of several outputs."""


@pytest.mark.parametrize("kind", [Line, OneLine, FlatLine, Untagged])
def test_regressor_any_object_with_fit_and_predict_is_corrected(kind):
    settings = {"max_epochs": 2, "start_epochs": 2}
    model = fs.DecisionRegressor(NEWSVENDOR, "sfge", kind(), settings, verbose=False).fit(X, Y)
    assert model.predictor_name_ == kind.__name__
    assert model.predict(X).shape == Y.shape
    one_each = isinstance(model.forecaster_, OneForEachOutput)
    assert one_each == (kind in (OneLine, FlatLine))
    expected = Line()
    expected.fit(X[model.split_.train], Y[model.split_.train])
    assert np.allclose(model.forecaster_.predict(X), expected.predict(X))


def test_regressor_several_outputs_are_tried_on_all_rows_where_few_are_too_few():
    assert several_outputs(lambda: KNeighborsRegressor(30), X, Y, np.arange(60))
    assert not several_outputs(OneLine, X, Y, np.arange(60))


class Mean:
    """Predicts before `fit`: what it was made with."""

    def __init__(self, m=(0.0, 0.0)):
        self.m = np.array(m)

    def fit(self, X, y):
        self.m = y.mean(axis=0)

    def predict(self, X):
        return np.tile(self.m, (len(X), *[1] * np.ndim(self.m)))


def pfl(predictor):
    return fs.DecisionRegressor(NEWSVENDOR, predictor=predictor, method="pfl", verbose=False)


def test_regressor_whether_a_plain_object_is_fitted_is_not_seen_from_its_predictions():
    line = Line()
    assert is_fitted(line, X) is False
    line.fit(X, Y)
    assert is_fitted(line, X) is None
    assert name_of(OneForEachOutput(line)) == "Line"


def test_regressor_a_plain_object_that_predicts_before_fit_is_fitted_with_a_warning():
    mean = Mean()
    with pytest.warns(fs.FewsolvesWarning, match=r"predictor Mean predicts, but .* counts as not fitted"):
        model = pfl(mean).fit(X, Y)
    assert np.allclose(model.predict(X[:1]), Y[model.split_.train].mean(axis=0))
    assert not mean.m.any()
    with pytest.warns(fs.FewsolvesWarning, match=r"counts as not fitted"):
        scalar = pfl(Mean(0.0)).fit(X, Y[:, 0])
    assert np.allclose(scalar.predict(X[:1]), Y[scalar.split_.train, 0].mean())


def test_regressor_a_plain_object_with_predictions_of_another_y_is_fitted():
    assert np.allclose(pfl(Mean(0.0)).fit(X, Y).predict(X[:1]), Y.mean(axis=0), rtol=0.1)


def test_regressor_a_plain_object_that_was_fitted_stays_as_it_is(recwarn):
    line = Line()
    line.fit(X[:40], Y[:40])
    kept = line.w.copy()
    model = pfl(line).fit(X, Y)
    assert model.forecaster_ is line
    assert np.array_equal(line.w, kept)
    assert not [one for one in recwarn if "fitted" in str(one.message)]


def test_regressor_a_plain_object_may_say_itself_whether_it_is_fitted(recwarn):
    class Said(Mean):
        fitted = True

        def __sklearn_is_fitted__(self):
            return self.fitted

    said = Said((1.0, 2.0))
    assert np.array_equal(pfl(said).fit(X, Y).predict(X[:1]), [[1.0, 2.0]])
    said.fitted = False
    assert np.allclose(pfl(said).fit(X, Y).predict(X[:1]), Y.mean(axis=0), rtol=0.1)
    assert not [one for one in recwarn if "fitted" in str(one.message)]


def test_regressor_a_plain_object_that_predicts_and_cannot_be_copied_is_used_with_a_warning():
    class Connected(Mean):
        def __deepcopy__(self, memo):
            raise TypeError("cannot copy a connection")

    with pytest.warns(fs.FewsolvesWarning, match=r"used as it is: check that it was fitted"):
        model = pfl(Connected((1.0, 2.0))).fit(X, Y)
    assert np.array_equal(model.predict(X[:1]), [[1.0, 2.0]])


@pytest.mark.parametrize("base", [Line, Mean])
def test_regressor_an_error_of_its_fit_is_reported_with_its_name(base):
    class Strict(base):
        def fit(self, X, y):
            raise RuntimeError("no licence for fitting")

    with pytest.raises(fs.InputError, match="the forecaster Strict cannot fit: RuntimeError: no licence for fitting"):
        pfl(Strict()).fit(X, Y)
    items = np.random.default_rng(0).normal(size=(60, 2, 3))
    with pytest.raises(fs.InputError, match="the forecaster Strict cannot fit: RuntimeError: no licence for fitting"):
        pfl(Strict()).fit(items, Y)


def test_regressor_one_that_cannot_be_copied_is_to_be_fitted_first():
    class Connected(Line):
        def __deepcopy__(self, memo):
            raise TypeError("cannot copy a connection")

    with pytest.raises(fs.InputError, match=r"is not fitted, and it cannot be copied; fit it first"):
        fs.DecisionRegressor(NEWSVENDOR, predictor=Connected(), verbose=False).fit(X, Y)
