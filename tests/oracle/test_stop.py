from contextlib import closing

import numpy as np
import pytest

from fewsolves import Problem
from fewsolves.errors import BudgetSpent
from fewsolves.execution.base import Answers, Failure
from fewsolves.oracle import Oracle
from fewsolves.oracle.stop import Stop, without_failures

PROBLEM = Problem(solve=lambda y: y, cost=lambda y, z: float(np.abs(y - z).sum()))


def test_stop_raises_at_once_where_nothing_is_under_way():
    with closing(Oracle(PROBLEM, np.ones((2, 1)))) as oracle:
        oracle.account.on_answer(lambda: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            Stop(oracle.account, "online").look()


def test_stop_waits_for_calls_that_are_under_way(monkeypatch):
    with closing(Oracle(PROBLEM, np.ones((2, 1)))) as oracle:
        waited = []
        monkeypatch.setattr(oracle.account.execution, "finish", waited.append, raising=False)
        monkeypatch.setattr(oracle.budget_left, "go_on", lambda phase: (_ for _ in ()).throw(BudgetSpent(phase)))
        stop = Stop(oracle.account, "online")
        stop.look()
        stop.look()
        assert isinstance(stop.why, BudgetSpent)
        assert waited == [oracle.solving.grace]


def test_stop_leaves_failures_to_the_next_start():
    answers = Answers(np.arange(3), [1.0, Failure("error", "no licence"), 3.0], [0.1, 0.2, 0.3], [1, 2, 1])
    kept = without_failures(answers)
    assert kept.at.tolist() == [0, 2]
    assert (kept.values, kept.seconds, kept.attempts) == ([1.0, 3.0], [0.1, 0.3], [1, 1])
