import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from fewsolves.errors import InputError
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.real.tables import read_columns
from fewsolves_studies.benchmarks.real.yaz import DISHES, FIRST, MINUTES


def referee(y_hat, under, over, setup, capacity):
    """Least cost as a mixed-integer program: portions, set-ups, missed, left."""
    n = len(y_hat)
    eye, zero = np.eye(n), np.zeros((n, n))
    balance = LinearConstraint(np.hstack([eye, zero, eye, -eye]), y_hat, y_hat)
    started = LinearConstraint(np.hstack([eye, -200.0 * eye, zero, zero]), -np.inf, 0.0)
    room = LinearConstraint(np.concatenate([MINUTES, np.full(n, FIRST), np.zeros(2 * n)]), -np.inf, capacity)
    costs = np.concatenate([np.zeros(n), np.full(n, setup), np.full(n, under), np.full(n, over)])
    upper = np.concatenate([np.full(n, 200.0), np.ones(n), np.full(2 * n, np.inf)])
    whole = np.repeat([1, 0], 2 * n)
    found = milp(costs, constraints=[balance, started, room], bounds=Bounds(0.0, upper), integrality=whole)
    return found.fun


@pytest.mark.parametrize("capacity", [480, 260])
def test_yaz_portions_are_the_best_of_the_mixed_integer_program(capacity):
    dataset = load("yaz-kitchen", capacity=capacity)
    Y_hat = dataset.Y[:12] + np.random.default_rng(0).normal(size=(12, 7))
    Z = dataset.problem.solve_batch(Y_hat)
    assert (Z @ MINUTES + FIRST * (Z > 0).sum(axis=1) <= capacity).all()
    ours = dataset.problem.cost_batch(np.maximum(Y_hat, 0.0), Z)
    assert ours == pytest.approx([referee(np.maximum(y, 0.0), 9.0, 1.0, 10.0, capacity) for y in Y_hat], abs=1e-4)


@pytest.mark.parametrize(("service", "published"), [(0.9, 101.20), (0.75, 168.51), (0.5, 194.65)])
def test_yaz_quantiles_of_the_past_cost_what_was_published(service, published):
    """Sample average approximation, of the 553 days there; our rows begin a day later, tested days are the same."""
    table = read_columns("yaz", "days.csv.gz")
    past = np.array([table[dish][27:580] for dish in DISHES], dtype=np.float64)
    order = np.quantile(past, service, axis=1, method="inverted_cdf")
    dataset = load("yaz-newsvendor", service=service)
    test = dataset.Y[dataset.split.test]
    cost = dataset.problem.cost_batch(test, np.tile(order, (len(test), 1))).mean()
    assert len(test) == 185 and cost == pytest.approx(published, abs=0.01)


def test_yaz_published_lags_know_the_day_itself_and_ours_do_not():
    known, published = load("yaz-newsvendor"), load("yaz-newsvendor", lags="published")
    np.testing.assert_array_equal(known.X[1:, -28:], published.X[:-1, -28:])
    week = np.array([known.Y[t - 6 : t + 1].mean(axis=0) for t in range(6, 50)])
    np.testing.assert_allclose(published.X[6:50, -21:-14], week)


def test_yaz_bad_options_are_refused():
    with pytest.raises(InputError, match="service is between 0 and 1"):
        load("yaz-kitchen", service=1.0)
    with pytest.raises(InputError, match="'known' or 'published'"):
        load("yaz-kitchen", lags="all")
