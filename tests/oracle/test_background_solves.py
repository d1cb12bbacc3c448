import threading

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import SolverError
from fewsolves.oracle import Budget, Oracle
from fewsolves.oracle.background_solves import BackgroundSolves, SentPoint
from problems_of_users import NEWSVENDOR, demand_table, order, shortage_cost

pytestmark = pytest.mark.portable

_, Y = demand_table(10)


def points(number, mark=0):
    return [SentPoint(k, Y[k] + 1.0, mark, Y[k], np.ones(3)) for k in range(number)]


def test_background_solves_land_with_the_regret_that_the_oracle_tells():
    solves = BackgroundSolves(Oracle(NEWSVENDOR, Y))
    solves.send(points(6))
    solves.wait()
    landed = solves.landed()
    expected = Oracle(NEWSVENDOR, Y).regret(np.arange(6), Y[:6] + 1.0, phase="online")
    assert [point.row for point, _ in landed] == list(range(6)), "in the order of sending"
    assert np.allclose([regret for _, regret in landed], expected)
    assert solves.landed() == [], "each once"
    solves.close()


def test_background_solves_of_nothing_start_no_thread_and_are_waited_for_at_once():
    before = threading.active_count()
    solves = BackgroundSolves(Oracle(NEWSVENDOR, Y))
    solves.send([])
    solves.wait()
    assert threading.active_count() == before
    solves.close()


def test_background_solves_are_waited_for_up_to_a_mark():
    release = threading.Event()

    def slow(y_hat):
        if y_hat[0] > 1000:
            release.wait(30)
        return y_hat

    solves = BackgroundSolves(Oracle(fs.Problem(solve=slow, cost=shortage_cost), Y))
    solves.send(points(4, mark=0))
    solves.wait(mark=1)
    solves.send([SentPoint(5, Y[5] + 2000, 1, Y[5], np.ones(3))])
    solves.wait(mark=1)  # what is older has landed, so that this does not wait for the slow one
    assert len(solves.landed()) == 4
    release.set()
    solves.wait()
    assert len(solves.landed()) == 1
    solves.close()


def test_background_solves_beyond_the_budget_land_as_nan():
    oracle = Oracle(NEWSVENDOR, Y, budget=Budget(solves=12))
    oracle.labels(np.arange(10))
    solves = BackgroundSolves(oracle)
    solves.send(points(6))
    solves.wait()
    regret = [regret for _, regret in solves.landed()]
    assert len(regret) == 6
    assert np.isnan(regret).any()
    assert oracle.calls.total() <= 12
    solves.close()


def test_background_solves_raise_what_the_solver_raised():
    def breaks(y_hat):
        raise ValueError("no")

    solves = BackgroundSolves(Oracle(fs.Problem(solve=breaks, cost=shortage_cost), Y))
    solves.send(points(2))
    solves.wait()
    with pytest.raises(SolverError, match="no"):
        solves.landed()
    solves.close()


def test_background_solves_that_did_not_begin_are_dropped_unpaid_at_the_end():
    began, release, solved = threading.Event(), threading.Event(), []

    def slow(y_hat):
        solved.append(1)
        began.set()
        release.wait(30)
        return order(y_hat)

    oracle = Oracle(fs.Problem(solve=slow, cost=shortage_cost), Y)
    solves = BackgroundSolves(oracle)
    solves.send(points(9))
    began.wait(30)
    threading.Timer(0.1, release.set).start()
    solves.close()
    assert 0 < len(solved) < 2 * 9, "of nine points and their labels"
    assert oracle.calls.total() == len(solved)


def test_background_solves_without_a_thread_are_an_error_of_ours(monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    solves = BackgroundSolves(Oracle(NEWSVENDOR, Y))
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(fs.FewsolvesError, match="need a thread, and none can be started"):
        solves.send(points(2))
    solves.close()
