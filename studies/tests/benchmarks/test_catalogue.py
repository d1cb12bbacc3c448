"""Loading by name, reproducibility, and agreement with the published difficulty of each benchmark."""

import pickle

import numpy as np
import pytest

from fewsolves.errors import InputError
from fewsolves_studies.benchmarks.catalogue import DESCRIPTIONS, NAMES, PANEL, REAL, floor, load

PAPER = pytest.mark.parametrize("name", [name for name in NAMES if name not in (*PANEL, *REAL)])  # those have theirs


def linear_regret(benchmark, X, Y):
    """(absolute, relative) mean regret of least squares on the first 800 rows."""
    fit = np.linalg.lstsq(np.c_[np.ones(800), benchmark.X[:800]], benchmark.Y[:800], rcond=None)[0]
    problem = benchmark.problem
    best = problem.cost_batch(Y, problem.solve_batch(Y))
    regret = np.mean(problem.cost_batch(Y, problem.solve_batch(np.c_[np.ones(len(X)), X] @ fit)) - best)
    return regret, regret / abs(best.mean())


@pytest.mark.parametrize(
    ("name", "relative", "low", "high"),
    [
        ("kp-weights", False, 1.5, 2.0),
        ("kp-values", False, 75.0, 165.0),
        ("kp-capacity", False, 4.0, 13.0),
        ("wsmc-10-50", True, 7.0, 17.0),
    ],
)
def test_catalogue_the_regret_of_a_linear_fit_is_the_published_one(name, relative, low, high):
    benchmarks = [load(name, seed) for seed in range(5)]
    mean = np.mean([linear_regret(b, b.X[900:], b.Y[900:])[relative] for b in benchmarks])
    assert low < mean < high


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("kp-weights", 0.2, 0.4), ("kp-values", 5.5, 9.0), ("kp-capacity", 1.0, 4.5), ("toy-128", 0.0, 0.0)],
)
def test_catalogue_floors(name, low, high):
    benchmark = load(name)
    limit = floor(benchmark, n_fresh=1000)
    assert low <= limit.absolute <= high
    if name != "toy-128":
        assert limit.absolute < linear_regret(benchmark, *benchmark.fresh(1000)[:2])[0]


def test_catalogue_floor_of_the_cover_is_a_fraction_of_its_cost():
    limit = floor(load("wsmc-10-50"), n_fresh=500)
    assert 0.1 < limit.relative < 0.35 and limit.scale > 1.0


@pytest.mark.parametrize("name", ["fleet", "loading"])
def test_catalogue_floors_of_the_panel_lie_below_what_the_mean_alone_leaves(name):
    dataset = load(name)
    fresh = dataset.fresh(500)
    mean = np.mean(fresh.cost(dataset.conditional_mean(fresh.X)) - fresh.cost(fresh.Y))
    assert 0.0 < floor(dataset, n_fresh=500).absolute < mean


@PAPER
def test_catalogue_a_dataset_is_a_function_of_its_seed(name):
    one, again, other = load(name, 3, n=30), load(name, 3, n=30), load(name, 4, n=30)
    assert np.array_equal(one.X, again.X) and np.array_equal(one.Y, again.Y)
    assert not np.array_equal(one.X, other.X)
    Z = one.problem.solve_batch(one.Y)
    assert np.array_equal(Z, again.problem.solve_batch(one.Y))
    assert np.array_equal(one.problem.cost_batch(one.Y[::-1], Z), again.problem.cost_batch(one.Y[::-1], Z))
    assert one.problem.name == name and one.options["n"] == 30 and DESCRIPTIONS[name]


@PAPER
def test_catalogue_fresh_instances_are_new_but_of_the_same_dataset(name):
    benchmark = load(name, 1, n=300)
    X, Y, problem = benchmark.fresh(300)
    assert problem.solve == benchmark.problem.solve and problem.instances is None
    assert X.shape == benchmark.X.shape and Y.shape == benchmark.Y.shape
    assert not np.isin(X, benchmark.X).any()
    assert np.array_equal(X, benchmark.fresh(300)[0])
    assert not np.isin(X, benchmark.fresh(300, seed=1)[0]).any()
    if name != "kp-capacity":  # there the mean hardly depends on x
        explained = np.sum((Y - benchmark.conditional_mean(X)) ** 2) / np.sum((Y - Y.mean(axis=0)) ** 2)
        assert explained < 0.05


@PAPER
def test_catalogue_problems_travel_to_other_processes(name):
    benchmark = load(name, n=10)
    copy = pickle.loads(pickle.dumps(benchmark))
    assert np.array_equal(copy.problem.solve_batch(copy.Y), benchmark.problem.solve_batch(benchmark.Y))
    assert np.array_equal(copy.fresh(5)[1], benchmark.fresh(5)[1])


def test_catalogue_draws_given_x_have_the_conditional_mean():
    benchmark = load("kp-values", n=10)
    x = benchmark.X[0]
    draws = benchmark.sample_given(x, 20_000, np.random.default_rng(0))
    assert draws.shape == (20_000, 50)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - benchmark.conditional_mean(x)[0]) < 5 * error + 1e-9)


def test_catalogue_unknown_names_and_options_are_answered_with_the_known_ones():
    with pytest.raises(InputError, match="kp-weights, kp-values"):
        load("kp-weight")
    with pytest.raises(InputError, match=r"no option colour; it takes n, n_items"):
        load("kp-weights", colour=1)
    with pytest.raises(InputError, match="backend"):
        load("kp-weights", backend="gurobi")
