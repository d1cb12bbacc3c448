"""The knapsack solver against enumeration, HiGHS and the laws of the problem; the table of capacities against it."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fewsolves.errors import InputError
from fewsolves_studies.benchmarks.knapsack_solver import CERTIFIED, EXACT, solve_knapsacks, tabulate
from fewsolves_studies.benchmarks.milp import knapsack_milp


def tolerance(c):
    return 1e-9 * np.maximum(1.0, np.abs(c))


def enumerate_best(V, W, c):
    """Optimal values by trying all subsets."""
    subsets = np.array(list(itertools.product([0.0, 1.0], repeat=V.shape[1])))
    feasible = (c + tolerance(c))[:, None] >= W @ subsets.T
    return np.where(feasible, V @ subsets.T, -np.inf).max(axis=1)


@pytest.mark.parametrize("kind", ["normal", "integer", "zeros and ones", "equal weights", "mixed scales"])
def test_knapsack_solver_every_sign_pattern_against_enumeration(kind):
    rng = np.random.default_rng(0)
    shape = (2000, 9)
    V, W = {
        "normal": lambda: (rng.normal(size=shape), rng.normal(size=shape)),
        "integer": lambda: (rng.integers(-4, 5, shape), rng.integers(-4, 5, shape)),
        "zeros and ones": lambda: (rng.integers(-1, 2, shape), rng.integers(-1, 2, shape)),
        "equal weights": lambda: (rng.normal(size=shape), np.tile(rng.uniform(0.1, 1.0, (2000, 1)), 9)),
        "mixed scales": lambda: (rng.normal(size=shape) * 10.0 ** rng.integers(-6, 7, shape), rng.normal(size=shape)),
    }[kind]()
    V, W = V.astype(float), W.astype(float)
    c = np.minimum(W, 0.0).sum(axis=1) + np.abs(rng.normal(size=2000)) * 2.0
    if kind in ("integer", "zeros and ones"):
        c = np.rint(c)  # tight: many subsets fill it exactly
    found = solve_knapsacks(V, W, c)
    assert np.all(np.einsum("ij,ij->i", W, found.z) <= c + 2 * tolerance(c))
    np.testing.assert_allclose(found.value, enumerate_best(V, W, c), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found.value, np.einsum("ij,ij->i", V, found.z), rtol=1e-12, atol=1e-12)
    assert np.all(found.gap == EXACT)


@pytest.mark.parametrize("kind", ["poisson values", "integer weights", "few distinct", "signs"])
def test_knapsack_solver_fifty_items_against_highs(kind):
    rng = np.random.default_rng(1)
    for _ in range(40):
        w = rng.uniform(size=50)
        v = w * rng.poisson(rng.uniform(50.0, 500.0, 50))
        c = 0.5 * w.sum()
        if kind == "integer weights":
            v, w = rng.uniform(size=50), rng.poisson(rng.uniform(50.0, 500.0, 50)).astype(float)
            c = np.rint(0.2 * w.sum())
        elif kind == "few distinct":
            v, w, c = rng.integers(1, 4, 50).astype(float), rng.integers(1, 4, 50).astype(float), 37.0
        elif kind == "signs":
            v, w, c = rng.normal(size=50), rng.normal(size=50), 1.0
        z = knapsack_milp(v, w, c)
        found = solve_knapsacks(v, w, c)
        assert w @ found.z[0] <= c + 2 * tolerance(c)
        if w @ z <= c + tolerance(c):  # HiGHS may overfill by 1e-6
            assert found.value[0] == pytest.approx(v @ z, rel=1e-11)


numbers = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-12]), st.floats(-1e6, 1e6, allow_subnormal=False))


@st.composite
def knapsacks(draw):
    n = draw(st.integers(1, 12))
    v, w = draw(arrays(float, n, elements=numbers)), draw(arrays(float, n, elements=numbers))
    return v, w, np.minimum(w, 0.0).sum() + draw(st.floats(0.0, 1e6))


def greedy(v, w, c):
    """Free items in, then by ratio while they fit; values and weights positive."""
    total = 0.0
    for i in sorted(range(len(v)), key=lambda i: -v[i] / w[i]):
        if w[i] <= c:
            total, c = total + v[i], c - w[i]
    return total


@settings(deadline=None)
@given(knapsacks())
def test_knapsack_solver_feasible_and_never_worse_than_doing_nothing_or_greedy(knapsack):
    v, w, c = knapsack
    found = solve_knapsacks(v, w, c)
    assert set(found.z[0]) <= {0.0, 1.0}
    assert w @ found.z[0] <= c + 2 * tolerance(c) + 1e-12 * np.abs(w).sum()
    if c >= 0:
        assert found.value[0] >= 0.0
    positive = (v > 0) & (w > 0)
    if np.all(w >= 0):
        assert found.value[0] >= greedy(v[positive], w[positive], c) * (1 - 1e-11)


@settings(deadline=None)
@given(knapsacks(), st.randoms(use_true_random=False))
def test_knapsack_solver_order_and_unit_of_items_do_not_matter(knapsack, random):
    v, w, c = knapsack
    order = list(range(len(v)))
    random.shuffle(order)
    value = solve_knapsacks(v, w, c).value[0]
    size = np.abs(v).sum()
    assert solve_knapsacks(v[order], w[order], c).value[0] == pytest.approx(value, rel=1e-9, abs=1e-9 * size)
    assert np.array_equal(solve_knapsacks(4.0 * v, w, c).z, solve_knapsacks(v, w, c).z)


def test_knapsack_solver_a_batch_is_its_rows_and_shared_arguments_broadcast():
    rng = np.random.default_rng(2)
    V, w, c = rng.uniform(size=(30, 20)), rng.uniform(size=20), rng.uniform(1.0, 8.0, 30)
    batch = solve_knapsacks(V, w, c)
    for i in range(30):
        assert np.array_equal(batch.z[i], solve_knapsacks(V[i], w, c[i]).z[0])
    assert np.array_equal(batch.z, solve_knapsacks(V, np.tile(w, (30, 1)), c).z)
    assert np.array_equal(solve_knapsacks(V[0], w, c).z, solve_knapsacks(np.tile(V[0], (30, 1)), w, c).z)
    assert solve_knapsacks(V[:0], w, 1.0).z.shape == (0, 20)
    assert np.array_equal(batch.z, solve_knapsacks(V.astype(np.float64, order="F"), w, c).z)


def test_knapsack_solver_of_equal_items_the_first_are_taken():
    assert solve_knapsacks(np.ones(5), np.ones(5), 2.0).z.tolist() == [[1.0, 1.0, 0.0, 0.0, 0.0]]


def nasty():
    rng = np.random.default_rng(3)
    w = rng.uniform(size=50)
    c = 0.5 * w.sum()
    whole = np.rint(1000.0 * w)
    return {
        "subset sum": (250.0 * w, w, c, CERTIFIED),
        "almost subset sum": (250.0 * w + rng.normal(0.0, 1e-2, 50), w, c, CERTIFIED),
        "integer subset sum": (whole, whole, np.rint(whole.sum() / 2), EXACT),
        "even weights, odd capacity": (2.0 * whole, 2.0 * whole, whole.sum() // 2 * 2 + 1.0, EXACT),
        "all equal": (np.full(50, 0.3), np.full(50, 0.7), 17.7, EXACT),
        "two kinds": (np.tile([0.3, 0.31], 25), np.tile([0.7, 0.71], 25), 17.9, EXACT),
        "equal weights": (rng.uniform(1.0, 1.1, 50), np.full(50, 0.7), 17.7, EXACT),
        "negative": (-rng.uniform(size=50), w, c, EXACT),
        "huge": (10.0 ** rng.uniform(-300.0, 308.0, 50), w, c, EXACT),
        "tiny weights": (rng.uniform(size=50), 1e-300 * w, 1e-300 * c, EXACT),
        "huge capacity": (rng.normal(size=50), rng.normal(size=50), 1e300, EXACT),
        "nothing fits": (rng.uniform(size=50), w + 1.0, 0.5, EXACT),
    }


@pytest.mark.parametrize("name", nasty())
def test_knapsack_solver_nasty_inputs_end_with_a_stated_tolerance(name):
    v, w, c, gap = nasty()[name]
    found = solve_knapsacks(v, w, c)
    assert found.gap[0] <= gap
    assert np.isfinite(found.value[0])
    assert w @ found.z[0] <= c + 2 * tolerance(c)
    if w.min() > 0 and v.min() > 0:
        order = np.argsort(-v / w)
        assert found.value[0] >= greedy(v[order], w[order], c) * (1 - 1e-9)


def test_knapsack_solver_the_stated_gap_is_true_even_when_both_searches_are_cut_short():
    rng = np.random.default_rng(4)
    w = rng.uniform(size=(100, 50))
    v, c = w * rng.poisson(300.0, (100, 50)), 0.5 * w.sum(axis=1)
    exact, cut = solve_knapsacks(v, w, c), solve_knapsacks(v, w, c, max_nodes=3)
    assert np.any(cut.value < exact.value)
    assert np.all(exact.value <= cut.value * (1.0 + cut.gap) * (1.0 + 1e-12))
    assert np.all(cut.gap >= EXACT)


def test_knapsack_solver_unusable_data_is_named():
    with pytest.raises(InputError, match="knapsack 1 has NaN"):
        solve_knapsacks(np.array([[1.0, 2.0], [np.nan, 1.0]]), np.ones(2), 1.0)
    with pytest.raises(InputError, match="no feasible"):
        solve_knapsacks(np.ones(2), np.ones(2), -1.0)
    with pytest.raises(InputError, match="do not belong together"):
        solve_knapsacks(np.ones(2), np.ones(3), 1.0)
    with pytest.raises(InputError, match="do not belong together"):
        solve_knapsacks(np.ones((2, 3)), np.ones((4, 3)), 1.0)


@pytest.mark.parametrize("whole", [False, True])
def test_knapsack_solver_the_table_agrees_with_the_solver_at_every_capacity(whole):
    rng = np.random.default_rng(0)
    w = rng.uniform(size=40)
    v = rng.uniform(size=40) * w
    if whole:
        v, w = np.rint(9.0 * v), np.rint(9.0 * w)  # ties and zeros
    table = tabulate(v, w)
    capacity = np.r_[0.0, np.arange(np.ceil(w.sum()) + 2.0), rng.uniform(0.0, w.sum(), 200), 1e300, table.weight[:50]]
    z = table.solve(capacity)
    assert np.all(z @ w <= capacity * (1 + 2e-9) + 2e-9)
    np.testing.assert_allclose(z @ v, solve_knapsacks(v, w, capacity).value, rtol=1e-12, atol=1e-12)


def test_knapsack_solver_the_table_is_a_rising_frontier_that_its_subsets_attain():
    rng = np.random.default_rng(1)
    w, v = rng.uniform(size=30), rng.uniform(size=30)
    table = tabulate(v, w)
    assert np.all(np.diff(table.weight) > 0) and np.all(np.diff(table.value) > 0)
    np.testing.assert_allclose(table.z @ w, table.weight, atol=1e-12)
    np.testing.assert_allclose(table.z @ v, table.value, atol=1e-12)


def test_knapsack_solver_the_table_refuses_negative_data():
    with pytest.raises(InputError, match=">= 0"):
        tabulate(np.array([1.0, -1.0]), np.ones(2))
