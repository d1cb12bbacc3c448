"""Regrets by row, and what rows without a label cost."""

import typing

import numpy as np
import pytest

import fewsolves as fs
from problems_of_users import NEWSVENDOR, QUICK, demand_table, order, shortage_cost

pytestmark = pytest.mark.portable
X, Y = demand_table(40, 2)
UNSOLVABLE = (3, 7)


def order_up_to_sixty(y_hat):
    """There is no plan for a demand above 60."""
    if y_hat.max() > 60:
        raise fs.Infeasible("no truck carries this")
    return y_hat


LIMITED = fs.Problem(solve=order_up_to_sixty, cost=shortage_cost)


def fitted(problem=LIMITED, **options):
    model = fs.DecisionRegressor(problem, "sfge", predictor="linear", settings=QUICK, verbose=False, **options)
    return model.fit(X, Y)


def with_unsolvable_rows():
    truth = Y.copy()
    truth[list(UNSOLVABLE)] = 100.0
    return truth


def test_regrets_their_mean_is_minus_the_score_and_each_is_that_of_its_row():
    model = fitted(NEWSVENDOR)
    regrets = model.regrets(X, Y)
    assert regrets.mean == pytest.approx(-model.score(X, Y))
    assert np.nanmean(regrets) == regrets.mean
    y_hat = model.predict(X)
    by_hand = [shortage_cost(y, order(p)) - shortage_cost(y, order(y)) for y, p in zip(Y, y_hat, strict=True)]
    assert np.asarray(regrets) == pytest.approx(by_hand)
    assert regrets.missing is None


@pytest.mark.parametrize("on_failure", ["raise", "skip"])
def test_regrets_of_a_row_without_a_label_are_nan_with_the_reason(on_failure):
    regrets = fitted(on_failure=on_failure).regrets(X, with_unsolvable_rows())
    assert np.flatnonzero(np.isnan(regrets)).tolist() == list(UNSOLVABLE)
    assert regrets.unlabelled.tolist() == list(UNSOLVABLE)
    assert set(regrets.reasons) == set(UNSOLVABLE)
    assert "no truck carries this" in regrets.reasons[3]
    assert "2 have no label" in repr(regrets)
    assert "2 have no label" in regrets._repr_html_()
    frame = regrets.to_frame()
    assert frame["regret"].isna().sum() == 2
    assert "no truck" in frame["reason"][7]


def test_regrets_nothing_is_solved_at_the_prediction_of_a_row_without_a_label():
    solved = []

    def solve(y_hat):
        solved.append(y_hat.copy())
        return order_up_to_sixty(y_hat)

    model = fitted()
    model.problem = fs.Problem(solve=solve, cost=shortage_cost)
    model.regrets(X, with_unsolvable_rows())
    assert len(solved) == 39 + 38  # two labels are one solve


def test_regrets_rows_without_a_plan_are_nan_however_many_they_are():
    model = fitted()
    far = X.copy()
    far[5:] *= 1e6  # predictions far beyond what can be carried, or far below
    regrets = model.regrets(far, Y)
    assert (np.isnan(regrets).sum() > 5) and not len(regrets.unlabelled)
    assert "have no plan at their prediction" in regrets.missing


@pytest.mark.parametrize("on_failure", ["raise", "skip"])
def test_score_warns_of_rows_without_a_label_and_counts_them(on_failure):
    model = fitted(on_failure=on_failure)
    with pytest.warns(fs.FewsolvesWarning, match="of 40 rows 2 have no label, and are left out: 3, 7; row 3: .*truck"):
        score = model.score(X, with_unsolvable_rows())
    kept = np.setdiff1d(np.arange(40), UNSOLVABLE)
    assert score == pytest.approx(model.score(X[kept], Y[kept]))


def test_score_follows_the_policy_where_a_prediction_has_no_plan():
    model, far = fitted(), X.copy()
    far[5:] *= 1e6
    with pytest.raises(
        fs.SolverError, match=r"row \d+ has no plan at its prediction: .*truck.*on_failure='skip'"
    ) as ended:
        model.score(far, Y)
    assert ended.value.row in model.regrets(far, Y).without_plan
    model.on_failure = "skip"
    with pytest.warns(fs.FewsolvesWarning, match="have no plan at their prediction"):
        assert model.score(far, Y) == -model.regrets(far, Y).mean


def test_regrets_refuse_another_number_of_rows():
    with pytest.raises(fs.InputError, match="X has 40 rows and y has 3"):
        fitted().regrets(X, Y[:3])


@pytest.mark.parametrize("owner", [fs.DecisionRegressor, fs.DecisionModel])
def test_predict_and_decide_have_return_types(owner):
    from fewsolves._internal.frames import Predictions
    from fewsolves.deciding import Decisions
    from fewsolves.problem import Array

    generic = owner is fs.DecisionRegressor  # by what Y was: tests/test_typing.py
    names = {"DataFrame": object, "Fit": object}
    assert typing.get_type_hints(owner.predict, localns=names)["return"] == (Predictions if generic else Array)
    decided = Decisions | Predictions if generic else Decisions
    assert typing.get_type_hints(owner.decide, localns=names)["return"] == decided
