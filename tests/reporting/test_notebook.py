"""What a notebook shows of a fitted model."""

import warnings

import fewsolves as fs
from fewsolves._internal.text import number
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
    assert f"{number(model.start_validation_regret_)} at the start, {number(model.validation_regret_)} now" in shown
    assert f"{len(model.split_.train)} to train, {len(model.split_.valid)} to validate" in shown
    assert f"{model.calls_.by_phase('solve')['labels']:,} labels" in shown
    assert shown.count(model.summary_.message[:40]) == 1
    assert "correction" not in shown


def test_notebook_objects_of_a_fit_show_themselves():
    X, Y = demand_table()
    problem = fs.Problem(pick, price, name="<b>stock</b>")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        budget = fs.Budget(solves=300)
        model = fs.DecisionRegressor(problem, predictor="linear", budget=budget, verbose=False).fit(X, Y)
    shown = (model.summary_, model.calls_, model.run_, model.history_, model.schedule_)
    for one in shown:
        assert len(repr(one)) < 700
        assert "array(" not in repr(one)
        assert one._repr_html_().startswith("<div")
        assert "<b>stock</b>" not in one._repr_html_()
    assert repr(model.summary_) == str(model.summary_)
    assert repr(model.run_).startswith("<run of staged on <b>stock</b>, best ")
    assert "stage 1" in repr(model.schedule_)
    frame = model.history_.to_frame()
    assert len(frame) == len(model.history_)
    assert {"stage", "epoch", "validation_regret", "best_regret", "solves_online"} <= set(frame.columns)
    curve = model._repr_html_()
    assert "<svg" in curve
    assert (
        f"best regret so far: {number(model.summary_.reached.start)} to {number(model.summary_.reached.best)}" in curve
    )
    assert "<script" not in curve


def test_notebook_history_without_a_reading_has_no_curve():
    X, Y = demand_table()
    model = fs.DecisionRegressor(fs.Problem(pick, price), "pfl", predictor="linear", verbose=False).fit(X, Y)
    assert "<svg" not in model._repr_html_()
    assert repr(model.schedule_) == "[]"
