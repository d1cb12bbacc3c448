import numpy as np
import pytest

from fewsolves.ledger.decision import pack_decision
from fewsolves.oracle import Oracle
from fewsolves.oracle.former import FormerRun, PaidPoints
from fewsolves.oracle.memory import Memory
from problems_of_users import CHEAPEST, demand_table

pytestmark = pytest.mark.portable

_, Y = demand_table(8)


def test_former_run_need_know_nothing_but_its_rows():
    former = FormerRun(5)
    assert (former.memory, former.points) == (None, None)
    with pytest.raises(AttributeError):
        former.n_rows = 6


def test_former_memory_spares_the_labels_of_the_first_rows():
    first = Oracle(CHEAPEST, Y[:5])
    first.labels(np.arange(5))
    former = FormerRun(5, memory=first.account.memory)
    again = Oracle(CHEAPEST, Y, former=former)
    again.labels(np.arange(8))
    assert again.calls.total() == 3, "those that are new"


def test_former_points_are_columns_of_one_length():
    points = PaidPoints(np.arange(3), Y[:3], np.zeros(3))
    assert [len(column) for column in points] == [3, 3, 3]


def test_former_memory_is_taken_over_and_grows():
    memory = Memory()
    memory.keep("solve", bytes(16), pack_decision(np.ones(3)))
    Oracle(CHEAPEST, Y, former=FormerRun(5, memory=memory)).labels(np.arange(8))
    assert len(memory.answers["solve"]) == 9, "what the next run over a longer table need not pay for"
