"""Keep your forecaster: any regressor, fitted or not, with honest forecasts to learn a correction from."""

import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBRegressor

import fewsolves as fs
from fewsolves.data import Split
from fewsolves.errors import InputError
from fewsolves.fitting.prepare import prepare
from fewsolves.methods.registry import find_method
from fewsolves.predictors.forecaster import forecast
from fewsolves.predictors.regressor import name_of
from fewsolves.testing.methods import known_settings
from problems_of_users import NEWSVENDOR, demand_table

X, Y = demand_table(60, 2)
TREE = DecisionTreeRegressor(min_samples_leaf=3, random_state=0)


def regressor(predictor=TREE, method="sfge", settings=None, **changes):
    settings = {"max_epochs": 3, "learning_rate": 0.05} if settings is None else settings
    settings = known_settings(find_method(method), settings)
    return fs.DecisionRegressor(NEWSVENDOR, method, predictor, settings, verbose=False, **changes)


def by_row(predictor, x=X, y=Y, valid=range(0, 60, 6), **options):
    """The forecaster, its forecasts of the table, and the split."""
    rows = np.arange(len(y))
    split = Split(np.setdiff1d(rows, valid), np.array(valid), np.empty(0, dtype=int))
    forecaster, inputs = forecast(predictor, x, y, split, seed=0, **options)
    return forecaster, inputs[:, -y.shape[1] :], split


class Memory(RegressorMixin, BaseEstimator):
    """Knows what it was fitted on, and says 0 of all else: an overfitted forecaster."""

    def fit(self, X, y):
        self.known_ = {tuple(x): of for x, of in zip(X, y, strict=True)}
        self.n_ = len(X)
        return self

    def predict(self, X):
        nothing = np.zeros_like(next(iter(self.known_.values())))
        return np.array([self.known_.get(tuple(x), nothing) for x in X])


class Broken:
    """Only predicts, and not always a number."""

    def predict(self, X):
        return np.column_stack([np.ones(len(X)), np.full(len(X), np.nan)])


def test_forecaster_a_regressor_that_is_not_fitted_never_forecasts_a_row_that_it_has_seen():
    memory = Memory()
    forecaster, forecasts, split = by_row(memory, y=Y[:, :1])
    assert not forecasts.any()
    assert np.array_equal(forecaster.regressor.predict(X[split.train]), Y[split.train, 0])
    assert forecaster.regressor.n_ == len(split.train)  # and no row to validate on
    assert not hasattr(memory, "known_")


def test_forecaster_a_fitted_one_that_has_seen_the_rows_predicts_but_clones_forecast():
    fitted = DecisionTreeRegressor(random_state=0).fit(X, Y)
    forecaster, forecasts, _ = by_row(fitted)
    assert forecaster.regressor is fitted
    assert "fitted on rows of this table" in forecaster.source
    assert np.array_equal(forecasts, by_row(clone(fitted))[1])


@pytest.mark.parametrize("wrap", [lambda fitted: fitted, FrozenEstimator])
def test_forecaster_a_fitted_one_that_has_not_seen_them_is_taken_as_it_is(wrap):
    other_x, other_y = demand_table(60, 2, seed=1)
    fitted = wrap(LinearRegression().fit(other_x, other_y + 5.0))
    forecaster, forecasts, _ = by_row(fitted)
    assert forecaster.regressor is fitted
    assert np.array_equal(forecasts, fitted.predict(X))


def test_forecaster_a_frozen_one_is_not_cloned_whatever_it_has_seen():
    assert np.array_equal(by_row(FrozenEstimator(Memory().fit(X, Y)))[1], Y)


def test_forecaster_what_only_predicts_is_a_forecaster_too():
    class Service:
        def predict(self, X):
            return np.full((len(X), 2), 7.0)

    assert (by_row(Service())[1] == 7.0).all()
    model = regressor(Service()).fit(X, Y)
    assert model.predictor_name_ == "Service"


def test_forecaster_rows_that_are_validated_last_are_forecast_in_time_and_groups_as_wholes():
    seen = []

    class Spy(DummyRegressor):
        def fit(self, X, y):
            seen.append(set(X[:, 0].astype(int)))
            return super().fit(X, y)

    rows = np.arange(60.0)[:, None]
    by_row(Spy(), rows, Y, range(50, 60))
    assert all(len(np.flatnonzero(np.diff(sorted(set(range(50)) - fold)) > 1)) == 0 for fold in seen[1:])
    seen.clear()
    groups = np.arange(60) // 6
    by_row(Spy(), rows, Y, range(54, 60), groups=groups)
    assert all(set(groups[sorted(fold)]).isdisjoint(groups[sorted(set(range(54)) - fold)]) for fold in seen[1:])


def test_forecaster_weights_reach_a_regressor_that_takes_them():
    weights = np.r_[np.ones(30), np.zeros(30)]
    first, last = np.zeros((30, 2)), np.full((30, 2), 9.0)
    known = by_row(DummyRegressor(), y=np.r_[first, last] + 0.0, weights=weights)[1]
    assert not known.any()
    by_row(make_pipeline(StandardScaler(), Ridge()), weights=weights)  # a pipeline takes none, and is not given any


@pytest.mark.parametrize(
    ("predictor", "name"),
    [
        (GradientBoostingRegressor(n_estimators=3), "GradientBoostingRegressor"),
        (make_pipeline(StandardScaler(), Ridge()), "Ridge"),
        (make_pipeline(StandardScaler(), HistGradientBoostingRegressor(max_iter=3)), "HistGradientBoostingRegressor"),
        (RandomForestRegressor(3), "RandomForestRegressor"),
    ],
)
def test_forecaster_one_output_or_several_seeded_or_not(predictor, name):
    first, second = by_row(predictor)[1], by_row(predictor)[1]
    assert np.array_equal(first, second)
    assert by_row(predictor, y=Y[:, :1])[1].shape == (60, 1)
    assert name_of(predictor) == name == name_of(by_row(predictor)[0].regressor)


def test_forecaster_the_forecasts_are_kept_where_nothing_is_trained():
    model = regressor(method="pfl").fit(X, Y)
    assert model.predict(X) == pytest.approx(model.forecaster_.predict(X), rel=1e-12)
    assert model.correction_ == "nothing was changed: the forecasts are used as they are"
    assert regressor("linear", method="sfge", settings={"max_epochs": 1}).fit(X, Y).correction_ is None


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("staged", {"solves": 3}),
        ("pairs", {"solves": 12}),
        ("shift", {}),
        ("sfge", {"max_epochs": 10, "learning_rate": 0.02}),
        ("gp-surrogate", {"max_epochs": 8, "learning_rate": 0.02}),
    ],
)
def test_forecaster_methods_correct_a_forecaster_and_it_stays_as_it_is(method, settings):
    X, Y = demand_table(100, 2)
    fitted = LinearRegression().fit(X, Y)
    before = fitted.coef_.copy()
    model = regressor(fitted, method, settings).fit(X, Y)
    assert model.forecaster_ is fitted
    assert np.array_equal(fitted.coef_, before)
    assert model.predict(X).mean() > 1.02 * fitted.predict(X).mean()  # unmet demand is dear
    assert "y0 +" in model.correction_


def test_forecaster_frames_with_texts_and_gaps_go_to_the_forecaster_as_they_are():
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])])
    frame["day"] = np.where(np.arange(60) % 7 < 5, "weekday", "weekend")
    frame.loc[4, "x1"] = np.nan
    encode = ColumnTransformer([("day", OneHotEncoder(), ["day"])], remainder="passthrough")
    model = regressor(make_pipeline(encode, HistGradientBoostingRegressor(max_iter=5)))
    model.fit(frame, pd.DataFrame(Y, columns=["bread", "cake"]))
    assert list(model.predict(frame).columns) == ["bread", "cake"]
    assert model.decide(frame[::-1][:3]).shape == (3, 2)
    assert ("bread" in model.correction_) != model.kept_start_
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"x0": "other"}))


@pytest.mark.parametrize(
    "predictor", [LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1), XGBRegressor(n_estimators=5, n_jobs=1)]
)
@pytest.mark.parametrize("table", [np.asarray, pd.DataFrame])
def test_forecaster_other_libraries_by_their_scikit_learn_face(predictor, table, tmp_path):
    x = table(np.where(X > 2.0, np.nan, X))  # both take gaps
    x = x.add_prefix("x") if hasattr(x, "columns") else x
    model = regressor(predictor).fit(x, Y)
    assert model.predictor_name_ == type(predictor).__name__
    assert model.decide(x[:3]).shape == (3, 2)
    loaded = fs.load(model.save(tmp_path), NEWSVENDOR, forecaster=model.forecaster_)
    assert np.array_equal(loaded.predict(x), model.predict(x))
    assert "correction" in model._repr_html_()


def test_forecaster_clone_pickle_search_and_parameters_of_the_forecaster():
    model = regressor(FrozenEstimator(TREE.fit(X, Y)))
    assert clone(model).predictor is not None
    again = pickle.loads(pickle.dumps(model.fit(X, Y)))
    assert np.array_equal(again.predict(X), model.predict(X))
    search = GridSearchCV(regressor(settings={"max_epochs": 1}), {"predictor__min_samples_leaf": [3, 10]}, cv=2).fit(
        X, Y
    )
    assert search.best_params_["predictor__min_samples_leaf"] in (3, 10)


def test_forecaster_a_model_is_saved_without_its_forecaster_which_is_given_again(tmp_path):
    model = regressor().fit(X, Y)
    model.save(tmp_path)
    loaded = fs.load(tmp_path, NEWSVENDOR, forecaster=model.forecaster_)
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.array_equal(loaded.decide(X[:3]), model.decide(X[:3]))
    with pytest.raises(InputError, match="forecaster=") as error:
        fs.load(tmp_path)
    assert "DecisionTreeRegressor" in str(error.value)
    with pytest.warns(UserWarning, match="trained for another"):
        fs.load(tmp_path, forecaster=LinearRegression().fit(X, Y))
    regressor("linear", method="pfl").fit(X, Y).save(tmp_path)
    with pytest.raises(InputError, match="without a forecaster"):
        fs.load(tmp_path, forecaster=model.forecaster_)


def test_forecaster_a_folder_makes_the_second_fit_free_and_knows_another_forecaster(tmp_path):
    first = regressor(RandomForestRegressor(5), folder=tmp_path).fit(X, Y)
    second = regressor(RandomForestRegressor(5), folder=tmp_path).fit(X, Y)
    assert second.calls_.replayed["solve"] == first.calls_.total()
    assert np.array_equal(first.predict(X), second.predict(X))
    assert first.correction_ == second.correction_
    other = regressor(RandomForestRegressor(6), folder=tmp_path).fit(X, Y)
    assert other.calls_.replayed["solve"] < other.calls_.total()


def test_forecaster_a_plan_is_replaced_with_changes_from_the_table_as_it_was_given():
    plan = fs.Plan(NEWSVENDOR, pd.DataFrame(X), Y, method="pfl", predictor=TREE)
    first, again = (prepare(one).inputs for one in (plan, dataclasses.replace(plan, method="sfge")))
    assert np.array_equal(first.array, again.array)
    assert first.array.shape == (60, X.shape[1] + 2)


@pytest.mark.parametrize("with_folder", [False, True])
def test_forecaster_a_grown_table_goes_on_from_the_correction(tmp_path, with_folder):
    X, Y = demand_table(80, 2)
    model = regressor(folder=tmp_path if with_folder else None).fit(X[:60], Y[:60])
    paid = model.calls_.total()
    model.refit(X, Y)
    assert model.calls_.total() - model.calls_.replayed["solve"] < paid
    assert model.run_.result["new_rows"] == 20
    with pytest.raises(InputError, match="the first 80 rows of X"):
        regressor(folder=None).fit(X, Y).refit(X[::-1], Y)


def test_forecaster_predictions_stay_within_bounds():
    bounded = fs.Problem(solve=NEWSVENDOR.solve, cost=NEWSVENDOR.cost, lower=0.0, upper=float(Y.max()))
    model = fs.DecisionRegressor(bounded, method="shift", predictor=TREE, verbose=False).fit(X, Y)
    assert model.predict(10 * X).max() <= Y.max()


@pytest.mark.parametrize(
    ("predictor", "says"),
    [
        (RandomForestRegressor, "the class RandomForestRegressor; make one of it"),
        (StandardScaler(), "any object with fit and predict"),
        (LogisticRegression(), "is a classifier"),
        ("boosting", "predictor is 'auto'"),
        (LinearRegression().fit(X, Y[:, 0]), r"shape \(60, 1\), wanted are 60 rows of 2 parameters"),
        (FrozenEstimator(LinearRegression()), "not fitted"),
        (Broken(), "predicts nan for row 0, output 1"),
    ],
)
def test_forecaster_what_is_no_forecaster_is_refused_with_what_to_do(predictor, says):
    with pytest.raises(InputError, match=says):
        regressor(predictor).fit(X, Y)


def test_forecaster_one_training_row_cannot_be_forecast_by_others():
    with pytest.raises(InputError, match="two rows"):
        by_row(TREE, X[:5], Y[:5], range(4))
