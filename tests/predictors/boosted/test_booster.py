"""`predictor="xgboost"` and `predictor="lightgbm"`: a prediction-focused booster, and rounds for decisions on it."""

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import InputError
from fewsolves.fitting import checkpoint
from fewsolves.predictors.boosted import booster
from fewsolves.predictors.boosted.booster import TreeBooster, booster_of
from fewsolves.predictors.boosted.trees import LIBRARIES
from problems_of_users import NEWSVENDOR, demand_table

X, Y = demand_table(120, 2)


def regressor(library, method="sfge", settings=None, **changes):
    settings = {"max_epochs": 3, "learning_rate": 0.01} if settings is None else settings
    return fs.DecisionRegressor(NEWSVENDOR, method, library, settings, verbose=False, **changes)


@pytest.mark.parametrize("library", LIBRARIES)
def test_booster_predicts_and_ends_before_it_knows_the_rows_by_heart(library):
    fitted = TreeBooster(library, random_state=0).fit(X, Y)
    error = np.square(fitted.predict(X) - Y).mean(axis=0)
    assert (error < 0.8 * Y.var(axis=0)).all()
    assert (error > 0.01 * Y.var(axis=0)).all()
    assert np.array_equal(booster_of(library, fitted.arrays()).predict(X), fitted.predict(X))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("staged", {"solves": 3}),
        ("pairs", {"solves": 12}),
        ("gp-surrogate", {"max_epochs": 5}),
        ("shift", {}),
    ],
)
def test_booster_methods_train_rounds_from_the_prediction_focused_booster(library, method, settings):
    model = regressor(library, method, settings).fit(X, Y)
    assert model.predictor_name_ == library
    assert model.validation_regret_ < model.start_validation_regret_
    assert model.predict(X).mean() > 1.02 * model.forecaster_.predict(X).mean()  # unmet demand is dear
    if method != "staged":  # which takes the shift alone where that measures better
        assert (len(model.predictor_.net.leaf) > 0) == (method != "shift")


@pytest.mark.parametrize("library", LIBRARIES)
def test_booster_a_saved_model_holds_the_whole_booster_and_predicts_the_same_to_the_last_bit(library, tmp_path):
    model = regressor(library).fit(X, Y)
    model.save(tmp_path)
    loaded = fs.load(tmp_path, NEWSVENDOR)
    assert np.array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(InputError, match="X has 3 columns; the model was trained on 4"):
        loaded.predict(X[:, :3])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda weights, facts: weights["net.feature"].fill(99), "beyond the 6 that there are"),
        (lambda weights, facts: weights["booster.0"].fill(7), "cannot be read as a model"),
        (lambda weights, facts: weights.pop("net.leaf"), "net.leaf"),
        (lambda weights, facts: weights.update({"net.leaf": weights["net.leaf"][:, :1]}), "net.leaf"),
        (lambda weights, facts: facts["forecaster"].update(outputs=10**12), "other columns"),
        (lambda weights, facts: facts["forecaster"].update(fill=[0.0]), "missing numbers"),
    ],
)
def test_booster_a_file_that_was_changed_is_refused(library, change, says, saved):
    weights, facts = checkpoint.read_pair(saved[library] / "model.safetensors", saved[library] / "model.json")
    weights = {name: values.copy() for name, values in weights.items()}
    change(weights, facts)
    other = saved[library] / "changed"
    checkpoint.write_pair(other / "model.safetensors", other / "model.json", weights, facts)
    with pytest.raises(InputError, match=says):
        fs.load(other)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return {name: regressor(name).fit(X, Y).save(tmp_path_factory.mktemp(name)) for name in LIBRARIES}


def test_booster_a_run_is_repeated_and_a_folder_makes_it_free(tmp_path):
    first, second = (regressor("xgboost", folder=tmp_path).fit(X, Y) for _ in range(2))
    assert np.array_equal(first.predict(X), second.predict(X))
    assert second.calls_.replayed["solve"] == first.calls_.total()
    paid = first.calls_.total()
    grown_x, grown_y = (np.vstack([old, new]) for old, new in zip((X, Y), demand_table(10, 2, seed=1), strict=True))
    second.refit(grown_x, grown_y)
    assert second.calls_.total() - second.calls_.replayed["solve"] < paid


def test_booster_a_checkpoint_goes_on_with_the_same_rounds(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SHORTEST", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 1e9)
    whole = regressor("lightgbm", settings={"max_epochs": 6}).fit(X, Y)

    def stop(record):
        if record.stage == "train" and record.epoch == 3:
            raise KeyboardInterrupt

    regressor("lightgbm", settings={"max_epochs": 6}, folder=tmp_path, callbacks=[stop]).fit(X, Y)
    assert (tmp_path / "checkpoint-0.json").exists()
    resumed = regressor("lightgbm", settings={"max_epochs": 6}, folder=tmp_path).fit(X, Y)
    assert np.array_equal(resumed.predict(X), whole.predict(X))


def test_booster_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(booster, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'fewsolves\[boosting\]'"):
        regressor("xgboost").fit(X, Y)
