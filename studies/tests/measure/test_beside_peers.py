"""Peers on the public shapes, small."""

from itertools import product

import numpy as np
import pytest

from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.measure import beside_peers as peers
from fewsolves_studies.measure.peer_problems import SHAPES, fill, least_squares

ROWS, FRESH = 30, 40


@pytest.fixture(scope="module", params=["energy-60", "path-4", "two-stage"])
def problem(request):
    return request.param


def small(problem):
    return peers.shape_of(problem, 0, ROWS, FRESH)


def test_peer_problems_the_knapsack_is_solved_exactly():
    rng = np.random.default_rng(0)
    for _ in range(20):
        values, weights = rng.normal(1, 2, 8), rng.integers(1, 8, 8)
        subsets = np.array(list(product([0.0, 1.0], repeat=8)))
        best = (subsets @ values)[subsets @ weights <= 12].max()
        chosen = fill(values, weights, 12)
        assert chosen @ weights <= 12 and chosen @ values == pytest.approx(best)


@pytest.mark.parametrize("name", ["energy-60", "path-4"])
def test_peer_problems_neighbours_of_the_best_decision_are_feasible_and_no_better(name):
    shape = small(name)
    sign = 1.0 if shape.problem.linear == "min" else -1.0
    for y in shape.Y[:5]:
        z = shape.solver(y)
        others = shape.neighbours(z)
        assert len(others) > 5 and not (others == z).all(axis=1).any()
        assert (sign * (others - z) @ y >= -1e-9).all()
        for other in others[:5]:  # itself best where nothing else is paid for
            made = shape.solver(
                sign * np.where(other == 1, -10.0, 10.0) if sign > 0 else np.where(other == 1, 9.0, -1.0)
            )
            assert np.array_equal(made, other)


def test_peer_problems_start_at_least_squares(problem):
    shape = small(problem)
    y_hat = peers.predicted(least_squares(shape), shape.X)
    off = y_hat - shape.Y
    assert abs(off.mean()) < 1e-8
    assert (off**2).mean() < shape.Y.var()


def test_beside_peers_each_method_keeps_to_its_budget_and_the_start_pays_nothing(problem):
    shape = small(problem)
    for method in ("staged", "sfge", *(one for one in peers.methods_of(problem, 8) if peers.tuned(one))):
        budget = peers.allowed(method, 8)
        found = peers.measure(peers.Task(problem, method, budget, 0, 0.01), shape)
        assert 0 < found["solves"] <= budget and found["regret"] >= -1e-9
    assert peers.measure(peers.Task(problem, peers.START, 0, 0), shape)["solves"] == 0


def test_beside_peers_what_is_there_is_not_run_again_and_tables_have_every_method(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(peers, "methods_of", lambda problem, budget: ["pairs", "vertices"])
    study, results = Study(tmp_path), {}
    for task in peers.to_choose(["path-4"], [8]):
        results[task.run] = {"regret": 0.5 - task.rate, "solves": 1.0, "rate": task.rate}
    tasks = peers.to_report(results, ["path-4"], [8], 2)
    assert [task.rate for task in tasks if task.method == "vertices"] == [max(peers.RATES)] * 2
    for task in tasks:
        results[task.run] = {"regret": 0.25 + task.dataset / 100, "solves": task.budget / 2, "rate": task.rate}
    for run, result in results.items():
        study.keep(run, result)
    peers.complete(tasks, study, jobs=1)  # nothing to run
    peers.write(tmp_path, study.read())
    assert "25.50 ± 0.50" in (tmp_path / "tables.md").read_text()
    assert "| path-4 @ 8 |" in capsys.readouterr().out


def test_peer_problems_every_shape_is_made():
    for name, make in SHAPES.items():
        shape = make(10, 10, 0)
        assert shape.problem.name == name and np.isfinite(shape.Y).all() and len(shape.X_fresh) == 10
