"""The multi-cover solver against enumeration, HiGHS and the laws of the problem."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewsolves.demo.cover_solver import reduce_columns
from fewsolves.demo.milp import cover_milp
from fewsolves.errors import InputError


def set_system(rng, n_sets, density, n_items=10):
    coverage = np.maximum(rng.random((n_items, n_sets)) < density, np.eye(n_items, n_sets)).astype(float)
    return coverage, rng.integers(1, 100, n_sets).astype(float)


@pytest.mark.parametrize(
    ("n_sets", "density"), [(50, 0.05), (50, 0.2), (50, 0.3), (250, 0.05), (250, 0.2), (1000, 0.05), (1000, 0.1)]
)
def test_cover_solver_all_columns_by_highs_find_nothing_cheaper(n_sets, density):
    rng = np.random.default_rng(n_sets)
    coverage, costs = set_system(rng, n_sets, density)
    demands = rng.poisson(rng.lognormal(5.4, 0.8, (25, 10))).astype(float)
    demands[0], demands[1, :5] = 0.0, 0.0
    Z = reduce_columns(coverage, costs).solve(demands)
    assert np.all(demands <= Z @ coverage.T) and np.all(Z >= 0) and np.all(np.rint(Z) == Z)
    for z, demand in zip(Z, demands, strict=True):
        assert costs @ z == pytest.approx(costs @ cover_milp(coverage, costs, demand), rel=1e-12)


@pytest.mark.parametrize("whole_costs", [True, False])
def test_cover_solver_fractional_vertices_against_enumeration(whole_costs):
    """Three items, pairs of them at equal cost: the LP optimum is one half each."""
    coverage = np.array([[1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]])
    costs = np.array([2.0, 2.0, 2.0, 1.5 if not whole_costs else 1.0])
    cover = reduce_columns(coverage, costs)
    plans = np.array(list(itertools.product(range(6), repeat=4)), dtype=float)
    for demand in itertools.product(range(5), repeat=3):
        enough = np.all(plans @ coverage.T >= demand, axis=1)
        z = cover.solve(np.array([demand], dtype=float))[0]
        assert np.all(coverage @ z >= demand)
        assert costs @ z == pytest.approx((plans[enough] @ costs).min(), rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(6, 20), st.floats(0.1, 0.7), st.booleans())
def test_cover_solver_hard_little_systems_against_highs(seed, n_items, n_sets, density, whole_costs):
    rng = np.random.default_rng(seed)
    coverage, costs = set_system(rng, n_sets, density, n_items)
    costs = rng.integers(1, 5, n_sets).astype(float) if whole_costs else rng.uniform(1.0, 1.5, n_sets)
    demands = rng.integers(0, 8, (4, n_items)).astype(float)
    Z = reduce_columns(coverage, costs).solve(demands)
    for z, demand in zip(Z, demands, strict=True):
        assert np.all(coverage @ z >= demand)
        assert costs @ z == pytest.approx(costs @ cover_milp(coverage, costs, demand), rel=1e-8)


def test_cover_solver_beyond_the_node_limit_highs_takes_over():
    rng = np.random.default_rng(5)
    coverage = set_system(rng, 30, 0.35)[0]
    cover = reduce_columns(coverage, rng.uniform(1.0, 1.2, 30))
    demands = rng.integers(0, 9, (40, 10)).astype(float)
    own, handed_over = cover.solve(demands), cover.solve(demands, max_nodes=0)
    full = np.zeros(30)
    full[cover.kept] = cover.costs
    np.testing.assert_allclose(own @ full, handed_over @ full, rtol=1e-8)


def test_cover_solver_huge_demands_are_covered_at_nearly_the_least_cost():
    rng = np.random.default_rng(6)
    coverage, costs = set_system(rng, 50, 0.15)
    cover = reduce_columns(coverage, costs)
    shape = rng.uniform(0.5, 1.5, (5, 10))
    relaxed = cover.solve(np.rint(1e7 * shape)) @ costs / 1e7
    for size in (9e7, 1e9, 1e12, 1e300):
        demands = np.rint(size * shape)
        Z = cover.solve(demands)
        assert np.all(demands * (1 - 1e-12) <= Z @ coverage.T)
        np.testing.assert_allclose(Z @ costs / size, relaxed, rtol=1e-5)


def test_cover_solver_the_reduction_keeps_the_cheapest_and_drops_what_others_cover():
    coverage = np.array([[1.0, 1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0, 0.0]])
    costs = np.array(
        [5.0, 3.0, 4.0, 7.0, 1.0]
    )  # set 0 is dearer than 1, set 3 dearer than 1 and 2 in total, 4 is empty
    assert reduce_columns(coverage, costs).kept.tolist() == [1, 2]
    costs[3] = 6.0
    assert reduce_columns(coverage, costs).kept.tolist() == [1, 2, 3]


def test_cover_solver_a_batch_is_its_rows():
    rng = np.random.default_rng(7)
    coverage, costs = set_system(rng, 60, 0.2)
    cover = reduce_columns(coverage, costs)
    demands = rng.integers(0, 500, (50, 10)).astype(float)
    Z = cover.solve(demands)
    for i in reversed(range(50)):
        assert np.array_equal(Z[i], cover.solve(demands[i : i + 1])[0])
    assert cover.solve(demands[:0]).shape == (0, 60)
    assert np.array_equal(Z, cover.solve(np.asfortranarray(demands)))


@pytest.mark.parametrize("costs", [[0.0, 1.0], [-1.0, 1.0]])
def test_cover_solver_refuses_free_sets(costs):
    with pytest.raises(InputError, match="costs > 0"):
        reduce_columns(np.ones((1, 2)), np.array(costs))


def test_cover_solver_refuses_an_item_that_no_set_covers():
    with pytest.raises(InputError, match="every item in some set"):
        reduce_columns(np.array([[1.0], [0.0]]), np.ones(1))
