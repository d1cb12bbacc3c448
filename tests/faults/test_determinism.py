"""A run is a function of data, settings and seed: runs are repeated while other programs use the processors."""

import os
import subprocess
import sys
import warnings
from contextlib import contextmanager

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.methods.registry import METHODS, find_method
from fewsolves.testing.methods import known_settings
from problems_of_users import QUICK

RNG = np.random.default_rng(3)
X = RNG.normal(size=(24, 2))
Y = 10 + X + RNG.gamma(1.0, 2.0, size=(24, 2))
LINEAR = {"linear": "min"}


def cheapest(y_hat):
    return np.eye(2)[np.argmin(y_hat)]


def paid_cost(y, z):
    return float(y @ z)


@contextmanager
def load(processes):
    """Programs that do nothing but compute, as long as the block takes."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def bits(method):
    """Everything that a run returns: predictions, counts of calls, and the history of losses."""
    problem = fs.Problem(solve=cheapest, cost=paid_cost, **LINEAR)
    settings = known_settings(find_method(method), QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fs.DecisionRegressor(problem, method, predictor="linear", settings=settings, verbose=False).fit(X, Y)
    losses = np.array([record.train_loss for record in model.history_])
    return model.predict(X).tobytes(), repr(model.calls_.counts), losses.tobytes(), model.stopped_


@pytest.mark.parametrize("method", sorted(METHODS))
def test_determinism_two_runs_under_load_have_the_same_bits(method):
    alone = bits(method)
    with load(1):
        assert bits(method) == alone


@pytest.mark.faults
@pytest.mark.parametrize("method", sorted(METHODS))
def test_determinism_ten_runs_under_load_have_the_same_bits(method, record_property):
    """Twice as many programs as processors compute; those of others count."""
    wanted, others = 2 * (os.cpu_count() or 1), int(os.getloadavg()[0])
    with load(max(0, wanted - others)):
        found = [bits(method) for _ in range(10)]
    record_property("runs", len(found))
    record_property("runs with other bits than the first", sum(one != found[0] for one in found))
    assert len(set(found)) == 1
