"""Paired comparisons of models."""

import copy

import numpy as np
import pytest
from scipy.stats import ttest_rel
from sklearn.linear_model import LinearRegression

import fewsolves as fs
from problems_of_users import NEWSVENDOR, QUICK, demand_table, order, shortage_cost

pytestmark = pytest.mark.portable
X, Y = demand_table(60, 2)
NEW_X, NEW_Y = X[40:], Y[40:]


class Shifted:
    """Predicts what another model does, and more."""

    def __init__(self, model, by):
        self.model, self.by = model, by

    def predict(self, X):
        return self.model.predict(X) + self.by


@pytest.fixture(scope="module")
def model():
    made = fs.DecisionRegressor(NEWSVENDOR, "sfge", predictor="linear", settings=QUICK, verbose=False)
    return made.fit(X[:40], Y[:40])


@pytest.fixture(scope="module")
def compared(model):
    return fs.compare({"plain": model, "more": Shifted(model, 3.0), "same": Shifted(model, 0.0)}, NEW_X, NEW_Y)


def test_compare_gives_the_paired_difference_with_its_interval_as_scipy_does(model, compared):
    first, more, same = compared.lines
    a, b = model.regrets(NEW_X, NEW_Y).values, compared.regrets["more"].values
    assert first.mean_regret == pytest.approx(a.mean()) and first.difference is None
    assert more.difference == pytest.approx(b.mean() - a.mean())
    assert more.interval == pytest.approx(ttest_rel(b, a).confidence_interval(0.95))
    assert (more.wins, more.losses, more.ties) == ((b < a).sum(), (b > a).sum(), 0)
    assert (same.wins, same.ties, same.losses) == (0, 20, 0)


def test_compare_pays_for_a_label_once_for_all_models(model):
    solved = []

    def solve(y_hat):
        solved.append(1)
        return order(y_hat)

    counting = fs.Problem(solve=solve, cost=shortage_cost)
    compared = fs.compare({"a": model, "b": Shifted(model, 1.0)}, NEW_X, NEW_Y, problem=counting)
    assert len(solved) == compared.solves == 3 * 20


def test_compare_prints_a_short_table_in_text_html_and_a_frame(compared):
    lines = str(compared).splitlines()
    assert lines[0].startswith("20 rows, 60 solves; differences to 'plain'")  # equal predictions are solved once
    assert len(lines) == 5 and lines[1].split()[0] == "model"
    assert "<table" in compared._repr_html_() and "more" in compared._repr_html_()
    frame = compared.to_frame()
    assert frame.index.tolist() == ["plain", "more", "same"]
    assert frame.loc["more", "difference"] == compared.lines[1].difference
    assert frame.loc["more", "low"] < frame.loc["more", "difference"] < frame.loc["more", "high"]


def test_compare_leaves_out_rows_without_a_label_and_says_so(model):
    def solve(y_hat):
        if y_hat.max() > 60:
            raise fs.Infeasible("no truck carries this")
        return order(y_hat)

    truth = NEW_Y.copy()
    truth[4] = 100.0
    limited = fs.Problem(solve=solve, cost=shortage_cost)
    compared = fs.compare({"a": model, "b": Shifted(model, 1.0)}, NEW_X, truth, problem=limited)
    assert compared.rows.tolist() == [row for row in range(20) if row != 4]
    assert "a: of 20 rows 1 have no label, and are left out: 4" in str(compared)
    with pytest.raises(fs.InputError, match="no row can be compared"):
        fs.compare({"a": model, "b": Shifted(model, 1e6)}, NEW_X, NEW_Y, problem=limited)


def test_compare_takes_known_data_by_row(model):
    problem = fs.Problem(solve=lambda y_hat, more: y_hat + more, cost=lambda y, z, more: shortage_cost(y, z))
    known = np.arange(20.0).tolist()
    compared = fs.compare({"a": model, "b": Shifted(model, 1.0)}, NEW_X, NEW_Y, problem=problem, instances=known)
    z = model.predict(NEW_X) + np.array(known)[:, None]
    best = NEW_Y + np.array(known)[:, None]
    by_hand = [shortage_cost(y, p) - shortage_cost(y, b) for y, p, b in zip(NEW_Y, z, best, strict=True)]
    assert compared.regrets["a"].values == pytest.approx(by_hand)


def test_compare_refuses_what_cannot_be_compared(model):
    with pytest.raises(fs.InputError, match="at least two models by name"):
        fs.compare({"a": model}, NEW_X, NEW_Y)
    with pytest.raises(fs.InputError, match="model 'b' has no `predict`"):
        fs.compare({"a": model, "b": 3}, NEW_X, NEW_Y)
    with pytest.raises(fs.InputError, match="no model has a problem"):
        fs.compare({"a": Shifted(model, 1.0), "b": Shifted(model, 2.0)}, NEW_X, NEW_Y)

    class Flat:
        def predict(self, X):
            return np.zeros(3)

    with pytest.raises(fs.InputError, match=r"model 'b' predicts an array of shape \(3,\), Y has \(20, 2\)"):
        fs.compare({"a": model, "b": Flat()}, NEW_X, NEW_Y)


class Store:
    """A problem with a parameter in an object."""

    def __init__(self, price):
        self.price = price

    def cost(self, y, z):
        return self.price * shortage_cost(y, z)


def test_compare_refuses_models_of_different_problems_unless_one_is_given(model):
    def trained(problem):
        return fs.DecisionRegressor(problem, "pfl", predictor="linear", verbose=False).fit(X[:40], Y[:40])

    stores = [fs.Problem(solve=order, cost=Store(price).cost) for price in (1.0, 1.0, 2.0)]
    one, same, other = map(trained, stores)
    for models in ({"a": model, "b": other}, {"a": one, "plain": Shifted(one, 1.0), "b": other}):
        with pytest.raises(fs.InputError, match=r"models 'a' and 'b' were trained for different problems.*problem="):
            fs.compare(models, NEW_X, NEW_Y)
        fs.compare(models, NEW_X, NEW_Y, problem=NEWSVENDOR)
    fs.compare({"a": one, "b": same}, NEW_X, NEW_Y)
    fs.compare({"a": one, "b": trained(copy.deepcopy(stores[0]))}, NEW_X, NEW_Y)


def test_compare_says_how_a_regressor_of_tables_is_compared_where_x_has_items():
    items = np.random.default_rng(0).normal(size=(40, 2, 3))
    truth = 20 + items.sum(axis=2)
    ours = fs.DecisionRegressor(NEWSVENDOR, "pfl", predictor="linear", verbose=False).fit(items, truth)
    lines = LinearRegression().fit(items.reshape(-1, 3), truth.ravel())
    with pytest.raises(
        fs.InputError, match=r"model 'lines' cannot predict for X of shape \(40, 2, 3\): .*method='pfl'"
    ):
        fs.compare({"lines": lines, "ours": ours}, items, truth)
    kept = fs.DecisionRegressor(NEWSVENDOR, "pfl", predictor=lines, verbose=False).fit(items, truth)
    assert len(fs.compare({"lines": kept, "ours": ours}, items, truth).lines) == 2


def test_compare_and_regrets_print_large_figures_without_an_exponent(model):
    costly = fs.Problem(solve=order, cost=lambda y, z: 1e6 * shortage_cost(y, z))
    compared = fs.compare({"a": model, "b": Shifted(model, 3.0)}, NEW_X, NEW_Y, problem=costly)
    for shown in (
        str(compared),
        compared._repr_html_(),
        repr(compared.regrets["b"]),
        compared.regrets["b"]._repr_html_(),
    ):
        assert "e+0" not in shown and ",000" in shown


def test_compare_takes_a_loaded_model_and_one_dimensional_y(model, tmp_path):
    one = fs.DecisionRegressor(NEWSVENDOR, "sfge", predictor="linear", settings=QUICK, verbose=False)
    one.fit(X[:40], Y[:40, 0])
    loaded = fs.load(one.save(tmp_path), NEWSVENDOR)
    compared = fs.compare({"fitted": one, "loaded": loaded}, NEW_X, NEW_Y[:, 0])
    assert compared.lines[1].ties == 20


def test_plot_compare_draws_a_line_for_each_other_model(compared):
    figure = fs.plot.compare(compared)
    assert figure.axes[0].get_title(loc="left").startswith("Regret compared with ")
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["more", "same"]
    assert figure._repr_png_()[0].startswith(b"\x89PNG")


@pytest.mark.parametrize("error", [ZeroDivisionError("by zero"), ValueError("3 features"), AttributeError("no net")])
def test_compare_names_a_model_that_fails(model, error):
    class Failing:
        def predict(self, X):
            raise error

    with pytest.raises(fs.InputError, match=rf"model 'b' cannot predict: {type(error).__name__}: {error}"):
        fs.compare({"a": model, "b": Failing()}, NEW_X, NEW_Y)
