"""Data frames at the border of the estimator; what the estimator makes of them is in test_estimator.py."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator

from fewsolves._internal.frames import checked_features, checked_targets, column_names, predictions_frame, wants_frame
from fewsolves.errors import InputError

pytestmark = pytest.mark.portable


def test_frames_columns_are_learned_once_and_then_must_be_these():
    learner, frame = BaseEstimator(), pd.DataFrame({"a": [1, 2], "b": [3.0, np.nan]})
    X = checked_features(learner, frame, reset=True, as_given=False)
    assert X.dtype == np.float64 and np.isnan(X[1, 1])
    assert list(learner.feature_names_in_) == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        checked_features(learner, frame.rename(columns={"a": "c"}), reset=False, as_given=False)


def test_frames_texts_are_refused_unless_a_forecaster_takes_them():
    frame = pd.DataFrame({"sky": ["rain", "sun"]})
    with pytest.raises(InputError, match="X must be a table of numbers"):
        checked_features(BaseEstimator(), frame, reset=True, as_given=False)
    assert checked_features(BaseEstimator(), frame, reset=True, as_given=True) is frame


def test_frames_targets_are_numbers_in_the_order_of_x():
    X, y = pd.DataFrame({"a": [1.0, 2.0]}, index=[5, 6]), pd.DataFrame({"b": [3, 4]}, index=[5, 6])
    assert checked_targets(X, y).dtype == np.float64
    assert checked_targets(X, [1, 2]).shape == (2,)
    with pytest.raises(InputError):
        checked_targets(X, y[::-1])
    with pytest.raises(InputError, match="y is None"):
        checked_targets(X, None)


def test_frames_predictions_are_a_frame_where_y_was_one_or_on_request():
    learner, X = BaseEstimator(), pd.DataFrame({"a": [1.0]}, index=["monday"])
    names = column_names(pd.DataFrame({"b": [3], 7: [4]}))
    assert names == ("b", "7") and column_names(np.ones((1, 2))) is None
    assert wants_frame(learner, names) and not wants_frame(learner, None)
    with config_context(transform_output="pandas"):
        assert wants_frame(learner, None)
    learner._sklearn_output_config = {"transform": "default"}
    assert not wants_frame(learner, names)
    framed = predictions_frame(np.ones((1, 2)), names, X)
    assert (list(framed.columns), list(framed.index)) == (["b", "7"], ["monday"])
    assert list(predictions_frame(np.ones((1, 2)), None, X.to_numpy()).columns) == ["y0", "y1"]
