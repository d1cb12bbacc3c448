"""Peers on the public shapes, small."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest

from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.measure import beside_peers as peers
from fewsolves_studies.measure.peer_problems import SHAPES, arcs_of, fill, least_squares, paths_of

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
    theirs = [one for one in peers.methods_of(problem, 8) if peers.tuned(one)]
    for method in ("staged", "sfge", *peers.runnable(theirs)):
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


def test_peer_problems_paths_are_those_of_pyepos_grid():
    from pyepo.model.grb import shortestPathModel

    assert arcs_of((5, 5)) == shortestPathModel((5, 5)).arcs
    assert arcs_of((2, 3)) == [(0, 1), (1, 2), (0, 3), (1, 4), (2, 5), (3, 4), (4, 5)]
    assert paths_of((2, 3)).sum(axis=1).tolist() == [3.0, 3.0, 3.0]
    assert len(paths_of((5, 5))) == 70


@pytest.mark.parametrize("name", ["energy-60", "path-4"])
def test_peer_problems_gurobi_finds_the_same_optima(name):
    pytest.importorskip("gurobipy")
    shape = small(name)
    model = shape.gurobi()
    for y in shape.Y[:5]:
        model.setObj(y)
        assert model.solve()[1] == pytest.approx(float(y @ shape.solver(y)), rel=1e-6)


def test_beside_peers_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(peers.NEEDS, "PyEPO CaVE", (("no_such_module.at_all",), "pip install it"))
    assert peers.runnable(["staged", "PyEPO CaVE"]) == ["staged"]
    assert capsys.readouterr().out == "PyEPO CaVE is not run; it needs pip install it\n"


def test_beside_peers_an_optional_method_that_has_not_run_leaves_the_column_to_the_others():
    results = {}
    for method, dataset in product([peers.START, *peers.methods_of("path-4", 8)], range(2)):
        if method not in ("PyDFLT SFGE", "PyDFLT LANCER"):
            name = f"path-4/{method}@{peers.allowed(method, 8)}.{dataset}"
            results[name] = {"regret": 0.1, "solves": 1.0, "rate": None}
    found = peers.reported(results, [8])
    assert ("PyEPO CaVE", "path-4 @ 8") in found and ("PyDFLT SFGE", "path-4 @ 8") not in found


def test_beside_peers_runs_again_what_is_of_another_commit(tmp_path, monkeypatch):
    study, made = Study(tmp_path), []
    monkeypatch.setattr(peers, "code_commit", lambda: "b")
    monkeypatch.setattr(peers, "measure", lambda task: made.append(task.run) or {"regret": 0.0, "rate": task.rate})
    monkeypatch.setattr(peers, "ProcessPoolExecutor", lambda jobs, mp_context: ThreadPoolExecutor(1))
    tasks = [peers.Task("path-4", method, 2, 0) for method in ("staged", "sfge")]
    for task, commit in zip(tasks, "ab", strict=True):
        study.keep(task.run, {"regret": 1.0, "rate": None, "commit": commit})
    for _ in range(2):  # the second time nothing is left
        peers.complete(tasks, study, 1, again=["staged", "sfge"])
    assert made == ["path-4/staged@2.0"]
