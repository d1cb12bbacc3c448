"""What the problems of the panel have in common: their data, and what a solver of any of them must do."""

import pickle

import numpy as np
import pytest

from fewsolves.errors import InputError
from fewsolves_studies.benchmarks.catalogue import PANEL, load

ALL = pytest.mark.parametrize("name", PANEL)
INSTANCES = {"lot-sizing-stock", "loading"}


def known(rows):
    return () if rows.problem.instances is None else (rows.problem.instances,)


def solve(rows, Y_hat):
    return rows.problem.solve_batch(Y_hat, *known(rows))


@ALL
@pytest.mark.parametrize("n", [300, 1000])
def test_panel_rows_are_finite_and_their_features_standardised(name, n):
    X, Y, problem = load(name, seed=1, n=n).rows
    assert len(X) == len(Y) == n and np.isfinite(X).all() and np.isfinite(Y).all()
    assert (problem.instances is not None) == (name in INSTANCES)
    problem.check_instances(n)
    assert np.abs(X.mean(axis=0)).max() < 0.25 and np.abs(X.std(axis=0) - 1.0).max() < 0.15


@ALL
def test_panel_a_dataset_is_a_function_of_its_seed(name):
    one, again, other = load(name, 3), load(name, 3), load(name, 4)
    assert np.array_equal(one.X, again.X) and np.array_equal(one.Y, again.Y)
    assert one.problem.instances == again.problem.instances
    assert not np.array_equal(one.Y, other.Y)
    fresh, same, more = one.fresh(50, 7), again.fresh(50, 7), one.fresh(50, 8)
    assert np.array_equal(fresh.X, same.X) and np.array_equal(fresh.Y, same.Y)
    assert not np.array_equal(fresh.Y, more.Y) and not np.array_equal(fresh.Y, one.Y[:50])
    assert np.array_equal(solve(fresh, fresh.Y), solve(same, fresh.Y))
    assert one.problem.name == fresh.problem.name == name


@pytest.mark.parametrize("name", sorted(INSTANCES))
def test_panel_fresh_rows_have_known_data_of_their_own(name):
    dataset = load(name, 0)
    ours, fresh, again = (
        dataset.problem.instances,
        dataset.fresh(300).problem.instances,
        dataset.fresh(300)[2].instances,
    )
    assert fresh == again
    assert len(set(fresh)) > 50
    assert fresh != ours != dataset.fresh(300, 1).problem.instances


def test_panel_problems_share_no_random_number():
    first = {name: load(name, 0).X[0, -1] for name in PANEL}
    assert len(set(first.values())) == len(PANEL)


@ALL
def test_panel_single_calls_agree_with_batches(name):
    dataset = load(name, 0, n=20, **({"frozen": True} if name == "staffing" else {}))
    rows, problem = dataset.rows, dataset.problem
    y_hat = dataset.conditional_mean(rows.X)
    Z, g = solve(rows, y_hat), rows.cost(y_hat)
    assert g.shape == (20,)
    for i in range(20):
        own = () if problem.instances is None else (problem.instances[i],)
        z = problem.solve(y_hat[i], *own)
        np.testing.assert_array_equal(z, Z[i])
        assert problem.cost(rows.Y[i], z, *own) == pytest.approx(g[i], rel=1e-12)


@ALL
def test_panel_any_finite_prediction_has_a_finite_cost_and_others_are_refused(name):
    rows = load(name, 0, n=6).rows
    wild = np.random.default_rng(0).normal(0.0, 1000.0, rows.Y.shape)
    assert np.isfinite(rows.cost(wild)).all()
    wild[0, 0] = np.nan
    with pytest.raises(InputError, match="finite"):
        solve(rows, wild)


@ALL
def test_panel_problems_travel_to_other_processes(name):
    dataset = load(name, 0, n=5)
    copy = pickle.loads(pickle.dumps(dataset))
    np.testing.assert_array_equal(solve(dataset.rows, dataset.Y), solve(copy.rows, dataset.Y))
    np.testing.assert_array_equal(dataset.fresh(3).Y, copy.fresh(3).Y)


@ALL
def test_panel_the_conditional_mean_is_the_mean_of_draws(name):
    dataset = load(name, 2)
    Y = dataset.sample_given(dataset.X[0], 40_000, np.random.default_rng(0))
    error = np.abs(Y.mean(axis=0) - dataset.conditional_mean(dataset.X[0])[0]) / (Y.std(axis=0) / 200.0)
    assert error.max() < 5.0


@ALL
def test_panel_decisions_depend_on_the_prediction(name):
    rows = load(name, 0).fresh(500)
    assert len(np.unique(solve(rows, rows.Y), axis=0)) > (10 if name == "fleet" else 150)


@ALL
def test_panel_true_parameters_beat_their_means(name):
    """On average, even where the solver is a rule."""
    dataset = load(name, 0)
    rows = dataset.fresh(1000)
    constant = np.tile(rows.Y.mean(axis=0), (1000, 1))
    costs = [rows.cost(Y_hat).mean() for Y_hat in (rows.Y, dataset.conditional_mean(rows.X), constant)]
    assert costs == sorted(costs)


def test_panel_sizes_are_options():
    assert load("tour", n_stops=5).Y.shape == (300, 10)
    with pytest.raises(InputError, match="no option stops; it takes n, n_stops"):
        load("tour", stops=5)
