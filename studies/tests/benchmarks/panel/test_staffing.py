import numpy as np
import pytest
from scipy.linalg import expm

from fewsolves_studies.benchmarks.catalogue import load


def centre(**options):
    return load("staffing", 0, n=3, **options).problem.solve.__self__


def waits(n, load):
    """Erlang's C formula: the probability that a call waits."""
    terms = np.cumprod([1.0, *(load / k for k in range(1, n))])
    queue = terms[-1] * load / n / (1.0 - load / n)
    return queue / (terms.sum() + queue)


def test_staffing_the_rule_against_erlangs_formula():
    staff = centre()
    rates = np.random.default_rng(1).uniform(1.0, 120.0, (40, staff.n_hours))
    for rate, n in zip(rates.ravel(), staff.solve_batch(rates).ravel(), strict=True):
        offered = rate / staff.service
        assert n > offered and waits(n, offered) <= staff.delay
        assert n == 1 or n - 1 <= offered or waits(n - 1, offered) > staff.delay


def test_staffing_the_simulation_against_the_expectation_of_the_chain():
    staff, most = centre(n_hours=3, days=20_000), 60
    y, z = np.array([20.0, 45.0, 10.0]), np.array([3, 7, 2])
    state, waited, lost = np.eye(most + 1)[0], 0.0, 0.0
    calls = np.arange(most + 1.0)
    for rate, n in zip(y, z, strict=True):
        queue = np.maximum(0.0, calls - n)
        up, down = np.full(most, rate), (staff.service * np.minimum(calls, n) + staff.patience * queue)[1:]
        Q = np.diag(up, 1) + np.diag(down, -1)
        Q -= np.diag(Q.sum(axis=1))
        # d/dt of (state, time waited so far), as one linear system
        grown = np.zeros((most + 2, most + 2))
        grown[:-1, :-1], grown[:-1, -1] = Q, queue
        end = np.append(state, 0.0) @ expm(grown)
        state, waited, lost = end[:-1], waited + end[-1], lost + staff.patience * end[-1]
    expected = staff.wage * z.sum() + staff.waiting * waited + staff.lost * lost
    assert staff.cost(y, z) == pytest.approx(expected, rel=0.01)


def test_staffing_the_cost_is_noisy_unless_frozen():
    dataset = load("staffing", 0, n=3)
    y = dataset.Y[0]
    z = dataset.problem.solve(y)
    assert not dataset.problem.deterministic
    assert dataset.problem.cost(y, z) != dataset.problem.cost(y, z)
    frozen = load("staffing", 0, n=3, frozen=True).problem
    assert frozen.deterministic and frozen.cost(y, z) == frozen.cost(y, z)
