"""What the problems of the panel have in common: their data, and what a solver of any of them must do."""

import pickle

import numpy as np
import pytest

from fewsolves.errors import InputError
from fewsolves_studies.benchmarks.catalogue import PANEL, load

ALL = pytest.mark.parametrize("name", PANEL)
INSTANCES = {"lot-sizing-stock", "loading", "blending", "crews", "charging", "picking"}
SLOW = {"crews", "recourse"}  # milliseconds a row
DISTINCT = {"fleet": 10, "paths": 40, "crews": 80}  # decisions in 500 rows, at least; 200 of crews; of 70 paths


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
    assert len(set(fresh)) > 50  # 80 units of stock, 2^8 absences
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
    error = np.abs(Y.mean(axis=0) - dataset.conditional_mean(dataset.X[0])[0])
    assert (error <= 5.0 * Y.std(axis=0) / 200.0 + 1e-12 * np.abs(Y).max()).all()  # paths have no noise


@ALL
def test_panel_decisions_depend_on_the_prediction(name):
    rows = load(name, 0).fresh(200 if name in SLOW else 500)
    assert len(np.unique(solve(rows, rows.Y), axis=0)) > DISTINCT.get(name, 150)


@ALL
def test_panel_true_parameters_beat_their_means(name):
    """On average, even where the solver is a rule."""
    dataset = load(name, 0)
    rows = dataset.fresh(150 if name in SLOW else 1000)
    constant = np.tile(rows.Y.mean(axis=0), (len(rows.Y), 1))
    costs = [rows.cost(Y_hat).mean() for Y_hat in (rows.Y, dataset.conditional_mean(rows.X), constant)]
    assert costs == sorted(costs)


@pytest.mark.parametrize(
    ("name", "away"),
    [
        ("blending", -0.6),
        ("crews", 0.5),
        ("charging", 0.8),
        ("picking", 0.4),
        ("drift", 1.1),
        ("items", 0.5),
        ("recourse", 0.5),
    ],
)
def test_panel_to_predict_on_the_cheap_side_pays(name, away):
    """By at least a tenth of the regret of least squares, with one number, `away` times std(y)."""
    dataset = load(name, 0)
    rows = dataset.fresh(150 if name in SLOW else 1000)
    weights = np.linalg.lstsq(np.c_[dataset.X, np.ones(len(dataset.X))], dataset.Y, rcond=None)[0]
    least_squares, best = np.c_[rows.X, np.ones(len(rows.X))] @ weights, rows.cost(rows.Y)
    regret, moved = (np.mean(rows.cost(least_squares + s * dataset.Y.std(axis=0)) - best) for s in (0.0, away))
    assert 0.0 < moved < 0.9 * regret


@pytest.mark.parametrize("name", sorted(INSTANCES))
def test_panel_decisions_of_other_rows_have_a_price_under_own_data(name):
    """But for crews, where most send somebody who is absent."""
    rows = load(name, 0).fresh(150)
    decisions = solve(rows, rows.Y)
    costs = rows.problem.cost_batch(rows.Y, np.roll(decisions, 1, axis=0), rows.problem.instances)
    assert np.all(rows.cost(rows.Y) <= np.nan_to_num(costs, nan=np.inf) + 1e-9) or name == "loading"
    priced = np.isfinite(costs).mean()
    assert priced < 0.5 if name == "crews" else priced == 1.0


def test_panel_sizes_are_options():
    assert load("tour", n_stops=5).Y.shape == (300, 10)
    with pytest.raises(InputError, match="no option stops; it takes n, n_stops"):
        load("tour", stops=5)
