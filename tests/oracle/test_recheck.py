import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import LedgerError
from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.reading import import_history
from fewsolves.oracle import Budget, Oracle
from fewsolves.oracle.recheck import CHECKED, check_paid

Y = np.random.default_rng(0).normal(size=(20, 2))


class Service:
    """What lies behind a function that the fingerprint cannot look into."""

    factor = 1.0
    asked = 0


def solve(y_hat):
    Service.asked += 1
    return y_hat * Service.factor


def cost(y, z):
    return float(abs(y - z).sum())


@pytest.fixture
def problem():
    Service.factor, Service.asked = 1.0, 0
    return fs.Problem(solve=solve, cost=cost, version="1")


def paid(folder, problem, what="regret"):
    ledger = open_ledger(folder, problem, Y, identity="a")
    oracle = Oracle(problem, Y, ledger=ledger)
    if what == "regret":
        oracle.regret(np.arange(20), Y + 0.5, phase="online")
    else:
        oracle.optimum(np.arange(20))
    ledger.close()


def look(folder, problem, budget=None):
    """The calls that a second look makes, and what a budget has of them."""
    ledger, before = open_ledger(folder, problem, Y, identity="a"), Service.asked
    try:
        oracle = Oracle(problem, Y, ledger=ledger, budget=budget)
        check_paid(oracle)
        assert oracle.calls.total("solve") == 0, "no count of the run"
        begun = ledger.begun("solve")
    finally:
        ledger.close()
    return Service.asked - before, begun


@pytest.mark.parametrize("what", ["regret", "labels"])
def test_recheck_a_few_answers_are_asked_for_again_and_are_charged(what, problem, tmp_path):
    paid(tmp_path, problem, what)
    solves = Service.asked
    assert look(tmp_path, problem) == (CHECKED, solves + CHECKED)
    assert look(tmp_path, problem) == (CHECKED, solves + 2 * CHECKED)


@pytest.mark.parametrize("what", ["regret", "labels"])
def test_recheck_a_solver_that_has_changed_unseen_is_noticed_before_anything_is_reused(what, problem, tmp_path):
    paid(tmp_path, problem, what)
    Service.factor = 0.5
    with pytest.raises(LedgerError, match=r"the cost at row \d+ was .* and is now .*adopt it"):
        look(tmp_path, problem)


def test_recheck_a_run_looks_twice_where_it_is_started_again(problem, tmp_path):
    X = np.random.default_rng(1).normal(size=(20, 2))
    options = {"method": "pfl", "predictor": "linear", "folder": tmp_path, "verbose": False}
    first = fs.DecisionRegressor(problem, **options).fit(X, Y)
    again = fs.DecisionRegressor(problem, **options).fit(X, Y)
    assert again.calls_.counts == first.calls_.counts
    Service.factor = 0.5
    with pytest.raises(LedgerError, match="no longer gives"):
        fs.DecisionRegressor(problem, **options).fit(X, Y)
    fs.fit(fs.Plan(problem, X, Y, method="pfl", predictor="linear", folder=tmp_path, adopt=True))


def test_recheck_an_empty_ledger_and_history_from_elsewhere_are_not_asked_for_again(problem, tmp_path):
    assert look(tmp_path, problem) == (0, 0)
    rows = np.arange(20)
    import_history(tmp_path, problem, Y, rows=rows, y_hat=Y, decisions=Y + 1.0, cost=np.ones(20))
    assert look(tmp_path, problem)[0] == 0


def test_recheck_nothing_is_asked_where_the_budget_has_no_room(problem, tmp_path):
    paid(tmp_path, problem)
    assert look(tmp_path, problem, Budget(solves=Service.asked + 1))[0] == 1
    assert look(tmp_path, problem, Budget(solves=Service.asked))[0] == 0


def test_recheck_answers_that_take_long_are_not_asked_for_again(problem, tmp_path, monkeypatch):
    monkeypatch.setattr("time.perf_counter", iter(np.arange(0.0, 1e6, 60.0)).__next__)
    paid(tmp_path, problem)
    monkeypatch.undo()
    assert look(tmp_path, problem)[0] == 0
