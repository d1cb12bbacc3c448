import numpy as np
import pytest
from sklearn.dummy import DummyRegressor

import fewsolves as fs
from fewsolves.data import split_rows
from fewsolves.methods.registry import METHODS
from fewsolves.oracle import Budget
from fewsolves.quoting import quote as quoting
from fewsolves.quoting.price import Workload
from fewsolves.quoting.quote import quote, quote_workload, usual_solves
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.run import run
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table


def test_quote_pays_for_three_solves_and_takes_the_median(monkeypatch):
    now, durations, called = [0.0], iter([9.0, 2.0, 1.0]), []
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def solve(y_hat):
        called.append("solve")
        now[0] += next(durations)
        return y_hat

    def cost(y, z):
        called.append("cost")
        now[0] += 0.5
        return 0.0

    quoted = quote(fs.Problem(solve=solve, cost=cost), *demand_table(), workers=4)
    assert sorted(called) == ["cost"] * 3 + ["solve"] * 3
    assert (quoted.solve_seconds, quoted.cost_seconds) == (2.0, 0.5)
    line = quoted["gp-surrogate"]
    spent = 2.0 * line.total_solves + 0.5 * sum(line.cost_calls.values())
    assert line.hours == pytest.approx(spent / 4 / 3600)


def test_quote_what_follows_from_the_settings_is_exact():
    quoted = quote(NEWSVENDOR, *demand_table(100))
    assert quoted["lodl-mse"].solves["pre-training"] == 250 * 90
    assert quoted["egl-mse"].solves["pre-training"] == 32 * 90
    assert quoted["gp-surrogate"].solves["pre-training"] == 4 * 90
    assert quoted["gp-surrogate"].solves["labels"] == 100
    assert quoted["pfl"].solves == {"probe": 1, "labels": 12, "pre-training": 0, "online": 0.0, "validation": 20}


def test_quote_every_method_has_a_line_and_its_figures():
    quoted, linear = quote(NEWSVENDOR, *demand_table()), quote(CHEAPEST, *demand_table())
    assert [line.method for line in quoted.lines] == list(METHODS)
    assert all(line.reason is None and line.total_solves > 0 for line in linear.lines)
    assert "linear" in quoted["spo+"].reason
    text = str(quoted)
    assert all(name in text for name in METHODS)
    assert "Not applicable here: pg, perturbed-fy, spo+. Reason: it needs an objective" in text


def test_quote_a_budget_names_what_it_cuts_and_what_it_excludes():
    quoted = quote(NEWSVENDOR, *demand_table(100), budget=Budget(solves=2000))
    assert quoted["lodl-mse"].reason == "needs at least 22,631 solves, the budget has 2,000"
    assert quoted["sfge"].cut
    assert not quoted["gp-surrogate"].cut
    assert "The budget (2,000 solves) ends" in str(quoted)
    whole = quote(NEWSVENDOR, *demand_table(100))
    assert not any(line.cut for line in whole.lines)


def test_quote_the_largest_n_y_follows_memory_and_budget(monkeypatch):
    monkeypatch.setattr(quoting, "_free_memory", lambda: 2e9)
    quoted = quote(NEWSVENDOR, *demand_table(100))
    assert quoted["lodl-mse"].largest_n_y == int(1e9 / (90 * 250 * METHODS["lodl-mse"].demand(2).bytes_stored))
    assert quoted["sfge"].largest_n_y is None
    assert quoted["gp-surrogate"].largest_n_y > 10 * quoted["lodl-mse"].largest_n_y
    tight = quote(NEWSVENDOR, *demand_table(100), budget=Budget(solves=3100))
    assert tight["egl-mse"].largest_n_y == 49, "from 50 on it takes 42 samples instead of 32"


@pytest.mark.parametrize("method", ["pfl", "gp-surrogate"])
def test_quote_a_run_costs_what_was_quoted_within_a_factor_of_three(method):
    benchmark = load("wsmc-10-50", 7, n=120)
    split = split_rows(120, rng=np.random.default_rng(benchmark.seed))
    quoted = quote_workload(Workload(benchmark.problem, benchmark.Y, split), workers=1, budget=None)[method]
    calls = run(benchmark, method).fit.oracle.calls
    assert 1 / 3 < calls.total("solve") / quoted.total_solves < 3
    assert 1 / 3 < calls.total("cost") / sum(quoted.cost_calls.values()) < 3
    assert calls.counts["solve"]["labels"] == quoted.solves["labels"]
    assert calls.counts["solve"]["pre-training"] == quoted.solves["pre-training"]


class Own(fs.GradientTrainer):
    """A method of the user's own, with a demand."""

    summary = ""

    def __init__(self, name="mine", **demand):
        self.name, self._demand = name, fs.Demand(**demand)

    def loss(self, context):
        return fs.Loss()

    def demand(self, n_y):
        return self._demand


def test_quote_of_an_own_method_has_all_but_measured_figures():
    quoted = quote(NEWSVENDOR, *demand_table(100), methods=[Own(points=3), "sfge"])
    mine, sfge = quoted.lines
    assert not mine.measured
    assert sfge.measured
    assert mine.solves == {"probe": 1, "labels": 100, "pre-training": 3 * 90, "validation": 30}
    assert mine.hours > 0
    assert mine.largest_n_y is None
    assert " ".join(str(quoted).splitlines()[-1].split()).startswith("mine at least 401 not measured 100 270 30")


@pytest.mark.parametrize("name", ["gp-mine", "lodl-mine", "mine-mse"])
def test_quote_a_name_does_not_lend_figures(name):
    assert not quote(NEWSVENDOR, *demand_table(), methods=[Own(name)])[name].measured


def test_quote_a_method_may_borrow_the_figures_of_another():
    sfge, mine = quote(NEWSVENDOR, *demand_table(), methods=["sfge", Own(figures="sfge")]).lines
    assert mine.measured
    assert mine.solves == sfge.solves


def test_quote_a_registered_method_without_figures_does_not_spoil_the_quote(monkeypatch):
    unmeasured = [line.method for line in quote(NEWSVENDOR, *demand_table()).lines if not line.measured]
    monkeypatch.setitem(METHODS._all, "mine", Own())
    quoted = quote(NEWSVENDOR, *demand_table(), budget=Budget(solves=10_000))
    assert [line.method for line in quoted.lines if not line.measured] == [*unmeasured, "mine"]
    assert "not measured" in str(quoted)


def test_quote_a_number_is_no_budget():
    with pytest.raises(fs.InputError, match=r"write Budget\(solves=1000\)"):
        quote(NEWSVENDOR, *demand_table(), budget=1000)


def test_quote_a_notebook_shows_the_same_table():
    quoted = quote(NEWSVENDOR, *demand_table(), methods=["sfge", "spo+"], budget=fs.Budget(solves=10_000))
    page, text = quoted._repr_html_(), str(quoted)
    for line in (quoted["sfge"].method, f"{quoted['sfge'].total_solves:,.0f}", "budget (10,000 solves)"):
        assert line in page
        assert line in text
    assert "at most 10,000" in quoted.budget._repr_html_()
    assert fs.Budget(seconds=7200)._repr_html_().count("no limit") == 2


def test_quote_solves_that_settings_determine_are_not_taken_from_the_measurements():
    pairs, staged = METHODS["pairs"], METHODS["staged"]
    recipes = [pairs, staged, Own("long", figures="pairs", online_solves=100.0)]
    quoted = quote(NEWSVENDOR, *demand_table(100), methods=recipes)
    assert quoted["pairs"].solves["online"] == pairs.settings.solves * 90
    assert quoted["long"].solves["online"] == 100 * 90
    assert quoted["staged"].solves_range[0] < quoted["staged"].total_solves < quoted["staged"].solves_range[1]
    assert quoted["staged"].solves["validation"] > quoted["pairs"].solves["validation"], "one reading after each stage"


def test_quote_counts_the_hours_of_expensive_cost_calls(monkeypatch):
    monkeypatch.setattr(quoting, "_probe", lambda work: {"solve": 1.0, "cost": 100.0})
    line = quote(NEWSVENDOR, *demand_table(100), methods=["staged"])["staged"]
    costs = sum(line.cost_calls.values())
    assert costs > line.total_solves
    assert line.hours == pytest.approx((line.total_solves + 100 * costs) / 3600)


def test_quote_with_a_forecaster_x_is_whatever_that_takes_and_one_start_is_read():
    X, Y = demand_table(100)
    words = np.array([["rain"]] * len(X), dtype=object)
    with pytest.raises(fs.InputError, match=r"could not convert string to float: 'rain'\. Encode texts"):
        quote(NEWSVENDOR, words, Y)
    quoted, of_two = quote(NEWSVENDOR, words, Y, predictor=DummyRegressor()), quote(NEWSVENDOR, X, Y)
    assert quoted["pfl"].solves["validation"] < of_two["pfl"].solves["validation"]
    assert quoted["pfl"].solves == quote(NEWSVENDOR, X, Y, predictor="linear")["pfl"].solves


def test_quote_refuses_an_unknown_predictor():
    with pytest.raises(fs.InputError, match=r"predictor is .*, got 'lineal'; did you mean 'linear'"):
        quote(NEWSVENDOR, *demand_table(), predictor="lineal")


def test_quote_keeps_to_a_budget_in_solves_as_in_hours(monkeypatch):
    monkeypatch.setattr(quoting, "_probe", lambda work: {"solve": 1.0, "cost": 0.0})
    whole = quote(NEWSVENDOR, *demand_table(100))
    for budget in (Budget(solves=900), Budget(seconds=900.0)):
        cut = quote(NEWSVENDOR, *demand_table(100), budget=budget)
        for line in cut.lines:
            if line.reason is None and line.cut:
                assert line.total_solves == pytest.approx(900)
                assert line.hours == pytest.approx(900 / 3600)
                assert line.solves_range[1] <= 900 + 1e-6
        assert cut["sfge"].cut and cut["sfge"].solves["online"] < whole["sfge"].solves["online"]
        assert cut["sfge"].solves["labels"] == whole["sfge"].solves["labels"], "paid before training"
        assert not cut["pfl"].cut and cut["pfl"].solves == whole["pfl"].solves


def test_quote_takes_known_data_by_row_and_one_dimensional_y():
    X, Y = demand_table(100)
    problem = fs.Problem(solve=lambda y_hat, most: y_hat, cost=lambda y, z, most: NEWSVENDOR.cost(y, z))
    quoted = quote(problem, X, Y[:, 0], instances=[1.0] * 100, methods=["sfge"])
    assert (quoted.n_y, quoted["sfge"].solves["labels"]) == (1, 100)


def test_quote_usual_solves_are_those_of_the_quote_and_only_for_settings_that_were_measured():
    X, Y = demand_table(100)
    work = Workload(NEWSVENDOR, Y, split_rows(len(Y), rng=np.random.default_rng(0), test=0.0), starts=2)
    quoted = quote(NEWSVENDOR, X, Y)["sfge"]
    assert usual_solves(METHODS["sfge"].with_settings({}), work) == round(quoted.total_solves)
    assert usual_solves(METHODS["sfge"].with_settings({"max_epochs": 3}), work) is None


def test_quote_prints_times_in_their_own_unit(monkeypatch):
    for seconds, unit in ((1e-6, "ms"), (1.0, "min"), (3600.0, "days")):
        monkeypatch.setattr(quoting, "_probe", lambda work, seconds=seconds: {"solve": seconds, "cost": 0.0})
        shown = str(quote(NEWSVENDOR, *demand_table(100), methods=["staged"]))
        assert shown.splitlines()[2].split()[-2] == unit, shown


def test_quote_a_budget_below_the_labels_of_all_rows_pays_for_a_sample_by_the_default():
    (default,) = fs.quote(NEWSVENDOR, *demand_table(600), methods=["staged"], budget=fs.Budget(solves=200)).lines
    assert default.reason is None
    assert default.solves["labels"] == 50 and default.total_solves <= 200


@pytest.mark.parametrize(("columns", "last"), [(45, "time"), (80, "largest n_y"), (300, "largest n_y")])
def test_quote_fits_the_terminal(columns, last, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = str(quote(NEWSVENDOR, *demand_table(100))).splitlines()
    heads = next(line for line in lines if line.startswith("method "))
    assert heads.endswith(last)
    assert ("online" in heads) == (columns == 300)
    if columns < 300:
        assert max(map(len, lines)) <= columns
