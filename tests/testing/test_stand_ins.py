"""The contract of stand-ins, on those of the library; and that it catches those that break it."""

import doctest

import numpy as np
import pytest

from fewsolves.methods.staged.stand_ins import STAND_INS, Argmin, SharedGP
from fewsolves.testing import STAND_IN_CHECKS, check_stand_in, stand_ins
from fewsolves.testing.stand_ins import (
    check_calls,
    check_deterministic,
    check_plan,
    check_query_points,
    check_refresh,
    check_slopes,
    check_state,
    check_values,
)


@pytest.mark.parametrize("check", STAND_IN_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", STAND_INS, ids=lambda kind: kind.name)
def test_stand_in_contract_every_stand_in_keeps_it(kind, check):
    check(kind)


def test_stand_in_contract_the_example_runs():
    assert doctest.testmod(stand_ins).failed == 0


class Infinite(Argmin):
    def value(self, index, u, V):
        return super().value(index, u, V) + np.inf


class Flat(Argmin):
    def value(self, index, u, V):
        return super().value(index, u, V)[:, 0]


class Steep(SharedGP):
    def slope(self, index, u):
        return 1.5 * super().slope(index, u)


class Restless(SharedGP):
    def refresh(self):
        self._size = 0
        super().refresh()
        self.mean = self.mean + getattr(self, "mean_before", 0.0)
        self.mean_before = 1.0


class Wasteful(SharedGP):
    def plan(self, solves, paid):
        return super().plan(solves + 1, paid)


class Astray(Argmin):
    def query_points(self, index, u, drawn):
        return drawn[:1]


class Solving(Argmin):
    def value(self, index, u, V):
        self.pool.rows.oracle.regret(index, self.pool.rows.raw(u), phase="online")
        return super().value(index, u, V)


class Uncharged(Argmin):
    def value(self, index, u, V):
        oracle = self.pool.rows.oracle
        oracle.cost_at(index, oracle.Y[index], [self.pool.decisions[0]] * len(index))
        return super().value(index, u, V)


class Random(Argmin):
    def query_points(self, index, u, drawn):
        return drawn + np.random.rand()  # noqa: NPY002


class Forgetful(Argmin):
    def state(self):
        return {}


class Closed(Argmin):
    def __init__(self, pool, tuning):
        super().__init__(pool, tuning)
        self.nearest = lambda u: u


class Nowhere(Argmin):
    @classmethod
    def applicable(cls, pool):
        return False


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (Infinite, check_values),
        (Flat, check_values),
        (Steep, check_slopes),
        (Restless, check_refresh),
        (Wasteful, check_plan),
        (Astray, check_query_points),
        (Solving, check_calls),
        (Uncharged, check_calls),
        (Random, check_deterministic),
        (Forgetful, check_state),
        (Closed, check_state),
        (Nowhere, check_stand_in),
    ],
    ids=lambda one: one.__name__,
)
def test_stand_in_contract_one_that_breaks_a_rule_is_caught(kind, check):
    with pytest.raises(AssertionError, match="expected"):
        check(kind)
