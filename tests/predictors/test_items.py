"""X with items, and of any rank: shared predictors, saved and loaded, refitted, quoted and diagnosed."""

import ast
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression, Ridge
from torch import nn

import fewsolves as fs
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.prepare import prepare
from fewsolves.predictors.regressor import SharedByItems
from fewsolves.predictors.ridge import fit_ridge
from problems_of_users import NEWSVENDOR

ITEMS, FEATURES = 5, 3


def table(n=60, seed=0, own=0.0):
    """One law for all items, and intercepts of their own of this size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, ITEMS, FEATURES)) * [1.0, 10.0, 0.1]
    Y = 50 + X @ [4.0, 0.5, 20.0] + own * np.arange(ITEMS) + rng.normal(size=(n, ITEMS))
    return X, Y


X, Y = table()


def fitted(predictor, x=X, y=Y, method="pfl", **options):
    return fs.DecisionRegressor(NEWSVENDOR, method, predictor, verbose=False, **options).fit(x, y)


def design(x):
    return np.column_stack([x.reshape(-1, FEATURES), np.ones(x.shape[0] * ITEMS)])


def test_items_a_linear_predictor_is_shared_by_them():
    model = fitted("linear")
    train = model.split_.train
    found = np.linalg.lstsq(design(X[train]), Y[train].ravel(), rcond=None)[0]
    assert np.allclose(model.predict(X), (design(X) @ found).reshape(Y.shape), rtol=1e-3)
    order = np.random.default_rng(1).permutation(ITEMS)
    assert np.allclose(model.predict(X[:, order]), model.predict(X)[:, order]), "it does not know which item it sees"


@pytest.mark.parametrize("predictor", ["linear", "linear-by-item"])
def test_items_without_a_penalty_the_linear_start_is_least_squares(predictor):
    x, y = table(own=3.0)
    model = fitted(predictor, x, y)
    train, items = model.split_.train, np.tile(np.eye(ITEMS), (len(x), 1))
    fit_ridge(model.predictor_, x[train], y[train], penalties=np.zeros(1))
    full = design(x) if predictor == "linear" else np.column_stack([design(x)[:, :FEATURES], items])
    of_rows = (np.arange(len(x) * ITEMS).reshape(len(x), ITEMS)[train]).ravel()
    found = np.linalg.lstsq(full[of_rows], y[train].ravel(), rcond=None)[0]
    assert np.allclose(model.predictor_(x), (full @ found).reshape(y.shape), rtol=1e-6, atol=0)


def test_items_a_layer_that_is_shared_starts_at_least_squares():
    model = fitted(nn.Linear(FEATURES, 1).double())
    train = model.split_.train
    found = np.linalg.lstsq(design(X[train]), Y[train].ravel(), rcond=None)[0]
    assert np.allclose(model.predict(X), (design(X) @ found).reshape(Y.shape), rtol=1e-6, atol=0)


def test_items_may_have_intercepts_of_their_own():
    x, y = table(own=100.0)
    assert np.abs(fitted("linear-by-item", x, y).predict(x) - y).mean() < 2
    assert np.abs(fitted("linear", x, y).predict(x) - y).mean() > 50
    with pytest.raises(fs.InputError, match=r"'linear-by-item' needs X of shape \(n, items, features\) with 5 items"):
        fitted("linear-by-item", X.reshape(60, -1), Y)


@pytest.mark.parametrize(("own", "chosen"), [(0.0, ("network", "linear-by-item")), (100.0, ("linear-by-item",))])
def test_items_auto_compares_shared_and_separate_predictors(own, chosen):
    x, y = table(own=own)
    model = fitted("auto", x, y, settings={"start_epochs": 20})
    assert model.predictor_name_ in ("network", "network-by-item", "linear-by-item", "linear-flat")
    assert fitted("auto", x, y).predictor_name_ in chosen


@pytest.mark.parametrize("kind", ["numpy", "float32", "torch"])
def test_items_arrays_of_any_kind_are_taken(kind):
    given = {"numpy": X, "float32": X.astype(np.float32), "torch": torch.as_tensor(X)}[kind]
    model = fitted("linear", given, torch.as_tensor(Y) if kind == "torch" else Y)
    assert np.allclose(model.predict(given), fitted("linear").predict(X), rtol=1e-5)


@pytest.mark.parametrize(
    "predictor", ["linear", "network-by-item", "linear-flat", "lightgbm", LinearRegression(), nn.Linear(3, 1)]
)
def test_items_models_are_saved_and_loaded(predictor, tmp_path):
    model = fitted(predictor, method="sfge", settings={"max_epochs": 1, "start_epochs": 2})
    parts = {"predictor": nn.Linear(3, 1)} if isinstance(predictor, nn.Module) else {}
    parts |= {"forecaster": model.forecaster_} if isinstance(predictor, LinearRegression) else {}
    again = fs.load(model.save(tmp_path), NEWSVENDOR, **parts)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.decide(X[:3]), model.decide(X[:3]))
    assert again.score(X, Y) == model.score(X, Y)


def test_items_a_regressor_is_fitted_to_all_of_them_and_folds_are_of_rows():
    class Counting(LinearRegression):
        seen: ClassVar = []

        def fit(self, X, y, sample_weight=None):
            assert X.ndim == 2 and len(X) % ITEMS == 0
            self.seen.append(set(map(tuple, X)))
            return super().fit(X, y)

    model = fitted(Counting(), settings={})
    assert isinstance(model.forecaster_, SharedByItems)
    assert model.predictor_.net.net.scale.shape == (1,), "the correction is shared"
    for row in X:
        features = set(map(tuple, row))
        assert all(features <= seen or not features & seen for seen in Counting.seen[1:]), "a row is never split"


def test_items_the_default_trains_shared_predictors():
    x, y = table(100)
    fresh, truth = table(400, seed=1)
    pfl, trained = fitted("linear", x, y), fitted("linear", x, y, "staged", settings={"solves": 4})
    assert -trained.score(fresh, truth) < 0.8 * -pfl.score(fresh, truth)


def test_items_refit_continues_with_more_rows_with_and_without_a_folder(tmp_path):
    x, y = table(80)
    for folder in (None, tmp_path / "run"):
        model = fitted("linear", x[:60], y[:60], "sfge", settings={"max_epochs": 1}, folder=folder)
        model.refit(x, y)
        assert model.predict(x).shape == y.shape
        assert model.run_.result["new_rows"] == 20
    again = fitted("linear", x, y, "sfge", settings={"max_epochs": 1}, folder=tmp_path / "run")
    assert np.array_equal(again.predict(x), model.predict(x))


def test_items_doctor_and_quote_take_them():
    found = fs.doctor(NEWSVENDOR, X, Y)
    assert found.ok
    assert fs.doctor(NEWSVENDOR, X, Y, predictor=nn.Linear(3, 1)).ok
    assert fs.doctor(NEWSVENDOR, X, Y, predictor=LinearRegression()).ok
    assert "staged" in str(fs.quote(NEWSVENDOR, X, Y))
    assert "staged" in str(fs.quote(NEWSVENDOR, X, Y, predictor=nn.Linear(3, 1)))


def test_items_images_go_to_a_module_and_are_flattened_for_built_in_predictors():
    images = np.random.default_rng(0).normal(size=(40, 2, 4, 4)).astype(np.float32)
    y = images.mean(axis=(2, 3)) + 5.0
    net = nn.Sequential(nn.Conv2d(2, 2, 3), nn.Flatten(), nn.Linear(8, 2))
    model = fitted(net, images, y, settings={"start_epochs": 2})
    assert model.predict(images).shape == (40, 2)
    assert fitted("linear", images, y).predict(images).shape == (40, 2)
    with pytest.raises(fs.InputError, match=r"rows of X have shape \(2, 4, 3\); the model was trained on \(2, 4, 4\)"):
        model.predict(images[..., :3])


def test_items_bad_numbers_are_named_by_row_item_and_feature():
    bad = X.copy()
    bad[3, 2, 1] = np.nan
    with pytest.raises(fs.InputError, match="X contains nan at row 3, item 2, feature 1; drop or fill that row"):
        fitted("linear", bad)
    with pytest.raises(fs.InputError, match="X has 59 rows and Y has 60"):
        fitted("linear", X[:59])
    with pytest.raises(fs.InputError, match=r"rows of X have shape \(5, 3\); the model was trained on tables"):
        fitted("linear", X.reshape(60, -1)).predict(X)


def test_items_of_another_number_than_outputs_are_no_items_of_them():
    plan = Plan(NEWSVENDOR, X, Y[:, :2], method="pfl", predictor="auto")
    assert prepare(plan).starts == ("network", "linear")
    assert fitted("linear", X, Y[:, :2]).predict(X).shape == (60, 2)
    with pytest.raises(fs.InputError, match=r"'xgboost' takes tables, and X of shape .* with 2 items"):
        fitted("xgboost", X, Y[:, :2])


@pytest.mark.parametrize("shape", [(4, 3), (1, 4, 4)], ids=["other items", "images"])
@pytest.mark.parametrize("fitted_before", [True, False])
def test_items_a_regressor_of_tables_is_refused_for_other_shapes(shape, fitted_before):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, *shape)), rng.normal(size=(40, 2))
    ridge = Ridge().fit(X.reshape(40, -1), Y) if fitted_before else Ridge()
    with pytest.raises(fs.InputError, match=r"Ridge takes tables, .* with 2 items, .* X.reshape\(len\(X\), -1\)"):
        fs.DecisionRegressor(NEWSVENDOR, predictor=ridge, verbose=False).fit(X, Y)


def test_items_a_problem_of_30_items_and_6_features_takes_15_statements():
    page = Path(__file__).parents[2] / "docs" / "features-per-item.md"  # its blocks are run by test_docs.py
    block = page.read_text().partition("```python\n")[2].partition("```")[0]
    assert "size=(120, 30, 6)" in block and ".fit(X, Y)" in block and ".decide(" in block
    assert sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(block))) <= 15
