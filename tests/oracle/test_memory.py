import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from fewsolves.execution.base import Failure
from fewsolves.ledger.decision import pack_decision
from fewsolves.oracle.memory import Memory

pytestmark = pytest.mark.portable


def key(number):
    return number.to_bytes(16, "little")


@given(st.lists(stn.arrays(st.sampled_from(["<f8", "<i4", "?"]), stn.array_shapes(min_dims=0, max_dims=3, min_side=0))))
def test_memory_decisions_come_back_as_they_were_kept(decisions):
    memory = Memory()
    for k, z in enumerate(decisions):
        memory.keep("solve", key(k), pack_decision(z))
    for k, z in enumerate(decisions):
        again = memory.get("solve", key(k))
        assert again == pack_decision(z)
        assert (again.array().dtype, again.array().shape) == (z.dtype, z.shape)


def test_memory_equal_decisions_are_kept_once():
    memory = Memory()
    for k in range(10):
        memory.keep("solve", key(k), pack_decision(np.arange(5) * (k % 2)))
    assert len({id(content) for content in memory.answers["solve"].values()}) == 2


def test_memory_costs_and_failures_come_back_and_kinds_are_apart():
    memory = Memory()
    memory.keep("cost", key(0), 2.5)
    memory.keep("solve", key(0), Failure("error", "no", ValueError("no")))
    assert memory.get("cost", key(0)) == 2.5
    assert memory.get("solve", key(0)) == Failure("error", "no")
    assert memory.get("solve", key(0)).cause is None, "what raised it would keep its frames alive"


def test_memory_what_is_missing_is_named_once():
    memory = Memory()
    memory.keep("cost", key(1), 0.0)
    assert memory.missing("cost", [key(k) for k in (3, 1, 2, 3, 2)]) == [0, 2]
    assert memory.missing("solve", [key(1)]) == [0]
