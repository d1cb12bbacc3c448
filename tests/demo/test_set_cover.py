"""Multi-cover: data, rounding of demands, cost of shortage."""

import numpy as np
import pytest

from fewsolves.errors import InputError
from fewsolves_studies.benchmarks.catalogue import load


@pytest.mark.parametrize("n_sets", [50, 250, 500, 750, 1000])
def test_set_cover_every_item_is_in_two_sets_and_every_set_has_an_item(n_sets):
    for seed in range(5):
        wsmc = load(f"wsmc-10-{n_sets}", seed=seed, n=5).problem.solve.__self__
        assert wsmc.coverage.shape == (10, n_sets)
        assert np.all(wsmc.coverage.sum(axis=1) >= 2) and np.all(wsmc.coverage.sum(axis=0) >= 1)
        assert n_sets <= wsmc.coverage.sum() <= n_sets + 20
        assert set(wsmc.costs) <= set(range(1, 100))
        for item in range(10):
            assert wsmc.shortage[item] == 10.0 * wsmc.costs[wsmc.coverage[item] > 0].max()


def test_set_cover_the_cost_is_what_was_bought_and_what_is_short():
    problem = load("wsmc-10-50", seed=1).problem
    data = problem.solve.__self__
    rng = np.random.default_rng(0)
    y, z = rng.integers(0, 500, 10).astype(float), rng.integers(0, 9, 50).astype(float)
    short = sum(data.shortage[i] * max(0.0, y[i] - data.coverage[i] @ z) for i in range(10))
    assert problem.cost(y, z) == pytest.approx(data.costs @ z + short)


def test_set_cover_demands_are_rounded_up_except_for_float_noise():
    problem = load("wsmc-10-50", seed=2).problem
    y = np.arange(100.0, 110.0)
    z = problem.solve(y)
    assert np.array_equal(problem.solve(y - 0.9), z)
    assert np.array_equal(problem.solve(y + 1e-8), z)
    assert np.array_equal(problem.solve(y + 0.01), problem.solve(y + 1.0))
    assert np.array_equal(problem.solve(-y), np.zeros(50))


def test_set_cover_any_prediction_covers_itself_and_nan_is_refused():
    problem = load("wsmc-10-250", seed=0, n=5).problem
    coverage = problem.solve.__self__.coverage
    rng = np.random.default_rng(1)
    for size in (1.0, 1e6, 1e12, 1e300):
        y_hat = size * rng.normal(size=10)
        assert np.all(coverage @ problem.solve(y_hat) >= y_hat * (1 - 1e-9))
    with pytest.raises(ValueError, match="finite"):
        problem.solve(np.full(10, np.nan))


def test_set_cover_batches_are_their_rows_and_highs_agrees():
    own, generic = load("wsmc-10-50", seed=3), load("wsmc-10-50", seed=3, backend="milp")
    Y_hat = own.conditional_mean(own.X[:15])
    Z, costs = own.problem.solve_batch(Y_hat), own.problem.solve.__self__.costs
    for i in range(15):
        assert np.array_equal(own.problem.solve(Y_hat[i]), Z[i])
    np.testing.assert_allclose(generic.problem.solve_batch(Y_hat) @ costs, Z @ costs, rtol=1e-9)
    best = own.problem.cost_batch(own.Y[:15], own.problem.solve_batch(own.Y[:15]))
    assert np.all(own.problem.cost_batch(own.Y[:15], Z) >= best)


def test_set_cover_sizes_are_options_and_one_set_is_too_few():
    assert load("wsmc-10-50", n=4, n_items=3, n_sets=8).problem.solve(np.ones(3)).shape == (8,)
    with pytest.raises(InputError, match="two distinct sets"):
        load("wsmc-10-50", n_sets=1)
