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


def test_regressor_whether_a_plain_object_is_fitted_is_seen_from_its_predictions():
    line = Line()
    assert not is_fitted(line, X)
    line.fit(X, Y)
    assert is_fitted(line, X)
    assert name_of(OneForEachOutput(line)) == "Line"


def test_regressor_one_that_cannot_be_copied_is_to_be_fitted_first():
    class Connected(Line):
        def __deepcopy__(self, memo):
            raise TypeError("cannot copy a connection")

    with pytest.raises(fs.InputError, match=r"is not fitted, and it cannot be copied; fit it first"):
        fs.DecisionRegressor(NEWSVENDOR, predictor=Connected(), verbose=False).fit(X, Y)
