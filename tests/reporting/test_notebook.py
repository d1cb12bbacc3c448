"""What a notebook shows of a fitted model."""

import warnings

import fewsolves as fs
from problems_of_users import demand_table, pick, price


def test_notebook_a_cell_shows_what_was_gained_and_paid_and_says_nothing_twice():
    X, Y = demand_table()
    model = fs.DecisionRegressor(
        fs.Problem(solve=pick, cost=price), method="pfl", settings={"start_epochs": 5}, verbose=False
    )
    assert "DecisionRegressor, fitted" not in model._repr_html_(), "before: scikit-learn's own picture"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
    shown = model._repr_mimebundle_()["text/html"]
    assert f"pfl, {model.predictor_name_} predictor" in shown
    assert f"{model.start_validation_regret_:.4g} at the start, {model.validation_regret_:.4g} now" in shown
    assert f"{len(model.split_.train)} to train, {len(model.split_.valid)} to validate" in shown
    assert f"{model.calls_.by_phase('solve')['labels']:,} labels" in shown
    assert shown.count(model.summary_.message[:40]) == 1
    assert "correction" not in shown
