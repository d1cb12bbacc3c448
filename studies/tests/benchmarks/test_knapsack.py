"""The three knapsacks: cost against an explicit program, decisions at any prediction, data as it is defined."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewsolves.errors import InputError
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.knapsack import recourse_cost, unknown_capacity, unknown_values, unknown_weights
from fewsolves_studies.benchmarks.milp import recourse_milp

RNG = np.random.default_rng(0)
VALUES, WEIGHTS = RNG.uniform(size=20), RNG.uniform(size=20)
PROBLEMS = {
    "values": lambda backend="embedded": unknown_values(WEIGHTS, 5.0, backend=backend),
    "weights": lambda backend="embedded": unknown_weights(VALUES, 900.0, 10.0, backend=backend),
    "capacity": lambda backend="embedded": unknown_capacity(VALUES, WEIGHTS, 10.0, backend=backend),
}


def draw(kind, n, rng):
    """Parameters of a usual size."""
    return {
        "values": lambda: WEIGHTS * rng.poisson(250.0, (n, 20)),
        "weights": lambda: rng.poisson(rng.uniform(0.0, 500.0, (n, 20))).astype(float),
        "capacity": lambda: rng.integers(0, 12, (n, 1)).astype(float),
    }[kind]()


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 2**32 - 1), st.floats(1.0, 50.0), st.booleans())
def test_knapsack_recourse_is_the_explicit_program_with_dropped_and_added_items(seed, penalty, whole):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 15))
    v, w = rng.uniform(size=n), rng.uniform(size=n)
    if whole:
        w = rng.integers(0, 9, n).astype(float)
    z, c = rng.integers(0, 2, n).astype(float), float(rng.uniform(0.0, 1.2) * w.sum())
    explicit = recourse_milp(v, w, c, z, penalty)
    assert recourse_cost(v, w, c, z[None], penalty)[0] == pytest.approx(-explicit, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_knapsack_the_decision_at_the_truth_needs_no_repair_and_nothing_beats_it(kind):
    problem, rng = PROBLEMS[kind](), np.random.default_rng(1)
    Y, Y_hat = draw(kind, 300, rng), draw(kind, 300, rng)
    best = problem.cost_batch(Y, problem.solve_batch(Y))
    if kind != "values":
        np.testing.assert_allclose(best, -problem.solve_batch(Y) @ VALUES, rtol=1e-12)
    regret = problem.cost_batch(Y, problem.solve_batch(Y_hat)) - best
    assert np.all(regret >= -1e-9 * np.abs(best)) and regret.max() > 0.0


@pytest.mark.parametrize("kind", PROBLEMS)
def test_knapsack_batches_are_their_rows(kind):
    problem, rng = PROBLEMS[kind](), np.random.default_rng(2)
    Y, Y_hat = draw(kind, 20, rng), draw(kind, 20, rng) - 0.4
    Z = problem.solve_batch(Y_hat)
    costs = problem.cost_batch(Y, Z)
    for i in range(20):
        assert np.array_equal(problem.solve(Y_hat[i]), Z[i])
        assert problem.cost(Y[i], Z[i]) == pytest.approx(costs[i], rel=1e-12)
    assert isinstance(problem.cost(Y[0], Z[0]), float)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_knapsack_any_prediction_gives_a_decision_and_nan_is_refused(kind):
    problem = PROBLEMS[kind]()
    n_y = 1 if kind == "capacity" else 20
    for size in (0.0, -1.0, 1e-300, -1e12, 1e12, 1e300, -1e300):
        z = problem.solve(np.full(n_y, size))
        assert z.shape == (20,) and set(z) <= {0.0, 1.0}
        assert np.isfinite(problem.cost(draw(kind, 1, RNG)[0], z))
    with pytest.raises(ValueError, match="finite"):
        problem.solve(np.full(n_y, np.nan))
    with pytest.raises(ValueError, match="finite"):
        problem.cost(np.full(n_y, np.nan), np.zeros(20))


@pytest.mark.parametrize("kind", ["weights", "capacity"])
def test_knapsack_predictions_are_rounded_and_clipped_inside(kind):
    problem, rng = PROBLEMS[kind](), np.random.default_rng(3)
    Y = draw(kind, 50, rng)
    assert np.array_equal(problem.solve_batch(Y + rng.uniform(-0.49, 0.49, Y.shape)), problem.solve_batch(Y))
    assert np.array_equal(problem.solve(-np.ones(Y.shape[1])), problem.solve(np.zeros(Y.shape[1])))


def test_knapsack_values_are_a_linear_problem_also_at_twice_the_prediction_minus_the_truth():
    problem, rng = PROBLEMS["values"](), np.random.default_rng(4)
    Y, Y_hat = draw("values", 100, rng), draw("values", 100, rng)
    Z = problem.solve_batch(2.0 * Y_hat - Y)
    assert problem.linear == "max"
    assert np.all(Z[2.0 * Y_hat - Y < 0] == 0.0)
    assert np.all(Z @ WEIGHTS <= 5.0 * (1 + 2e-9))
    np.testing.assert_allclose(problem.cost_batch(Y, Z), problem.linear_cost(Y, Z))


@pytest.mark.parametrize("kind", PROBLEMS)
def test_knapsack_highs_agrees(kind):
    rng = np.random.default_rng(5)
    Y, Y_hat = draw(kind, 15, rng), draw(kind, 15, rng)
    own, generic = PROBLEMS[kind](), PROBLEMS[kind]("milp")
    Z = own.solve_batch(Y_hat)
    np.testing.assert_allclose(own.cost_batch(Y, Z), generic.cost_batch(Y, Z), rtol=1e-7)
    best = own.cost_batch(Y_hat, Z)
    np.testing.assert_allclose(own.cost_batch(Y_hat, generic.solve_batch(Y_hat)), best, rtol=1e-7)


def test_knapsack_a_penalty_must_be_positive():
    with pytest.raises(InputError, match="penalty"):
        unknown_weights(VALUES, 1.0, 0.0)


def fixed(benchmark):
    """The object whose method `solve` is: it holds the dataset's fixed data."""
    return benchmark.problem.solve.__self__


def test_knapsack_the_data_of_unknown_weights():
    benchmark = load("kp-weights", seed=1)
    kp = fixed(benchmark)
    assert benchmark.X.shape == (1000, 5) and benchmark.Y.shape == (1000, 50)
    assert np.all(np.rint(benchmark.Y) == benchmark.Y) and np.all(benchmark.Y >= 0)
    assert kp.capacity == np.rint(0.2 * benchmark.Y.sum(axis=1).mean())
    assert kp.penalty == 10.0 and kp.values.min() >= 0 and kp.values.max() <= 1
    assert 150 < np.median(benchmark.Y) < 320 and 300 < benchmark.Y.mean() < 480


def test_knapsack_the_data_of_unknown_values():
    benchmark = load("kp-values", seed=1)
    kp = fixed(benchmark)
    assert kp.capacity == pytest.approx(0.5 * kp.weights.sum())
    counts = benchmark.Y / kp.weights
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-6)
    assert benchmark.problem.linear == "max"


def test_knapsack_the_data_of_unknown_capacity():
    benchmark = load("kp-capacity", seed=1)
    kp = fixed(benchmark)
    assert benchmark.Y.shape == (1000, 1) and np.all(benchmark.X >= 0)
    assert np.all(np.rint(benchmark.Y) == benchmark.Y)
    assert benchmark.Y.min() >= np.rint(0.1 * kp.weights.sum()) and benchmark.Y.max() <= np.rint(kp.weights.sum())
    assert np.all(kp.values <= kp.weights)


def test_knapsack_mean_capacity_is_the_mean_of_draws():
    benchmark = load("kp-capacity", seed=2)
    for x in benchmark.X[:5]:
        draws = benchmark.sample_given(x, 40_000, np.random.default_rng(0))
        error = draws.std() / np.sqrt(len(draws)) + 1e-9
        assert abs(draws.mean() - benchmark.conditional_mean(x)[0, 0]) < 5 * error


def test_knapsack_poisson_capacity_is_half_of_the_weights_on_average():
    benchmark = load("kp-capacity", seed=3, capacity="poisson")
    assert fixed(benchmark).weights.sum() == pytest.approx(2.0 * benchmark.Y.mean())
    assert np.any(benchmark.X < 0)


@pytest.mark.parametrize("seed", range(30))
def test_knapsack_some_feature_always_drives_the_capacity(seed):
    assert load("kp-capacity", seed=seed, n=2, n_items=3, n_features=2).source.b.any()


def test_knapsack_options_reach_the_data():
    small = load("kp-weights", n=20, n_items=7, n_features=3, penalty=2.0, capacity_share=0.5)
    assert small.X.shape == (20, 3) and small.Y.shape == (20, 7) and fixed(small).penalty == 2.0
    assert fixed(small).capacity == np.rint(0.5 * small.Y.sum(axis=1).mean())
    assert load("kp-values", n=20, degree=2).Y.mean() < load("kp-values", n=20).Y.mean()
    assert not np.array_equal(load("kp-values", noise="multiplicative").Y, load("kp-values").Y)


@pytest.mark.parametrize(
    "options", [{"capacity": "gamma"}, {"noise": "additive"}, {"capacity": "poisson", "noise": "?"}]
)
def test_knapsack_unusable_options(options):
    with pytest.raises(InputError):
        load("kp-capacity", **options)
