"""What holds of every real dataset."""

import pickle
from importlib.resources import files

import numpy as np
import pytest

from fewsolves_studies.benchmarks.catalogue import REAL, load
from fewsolves_studies.benchmarks.run import run

EVERY = pytest.mark.parametrize("name", REAL)
FEW = {"market-clearing": {"months": 6, "test_days": 3}}
FEW_DAYS = {name: FEW.get(name, {"train_days": 60, "test_days": 3}) for name in REAL}


@EVERY
def test_real_benchmarks_the_solver_is_its_own_best_at_the_truth_and_travels(name):
    dataset = load(name, **FEW_DAYS[name])
    rows = dataset.split.test
    problem, Y = pickle.loads(pickle.dumps(dataset.problem)), dataset.Y[rows]
    Z = problem.solve_batch(Y)
    own = problem.cost_batch(Y, Z)
    others = problem.cost_batch(Y, np.roll(Z, 1, axis=0))
    assert (own <= others + 1e-3 * np.abs(own)).all() or name == "pjm-schedule"  # which keeps a reserve
    assert problem.cost(Y[0], problem.solve(Y[0])) == pytest.approx(own[0], rel=1e-6)


@EVERY
def test_real_benchmarks_rows_are_split_by_time(name):
    dataset = load(name, **FEW_DAYS[name])
    days = dataset.source.days
    assert days[dataset.split.test].min() > days[[*dataset.split.train, *dataset.split.valid]].max()
    assert len(dataset.source.outputs) == dataset.Y.shape[1] and len(days) == len(dataset.X)
    last = load(name, **FEW_DAYS[name], validation="last").split
    assert days[last.valid].min() > days[last.train].max() and (last.test == dataset.split.test).all()


@pytest.mark.parametrize("name", ["market-clearing", "yaz-kitchen"])
def test_real_benchmarks_a_run_is_tested_on_the_days_that_came_later(name):
    done = run(load(name, **FEW_DAYS[name]), "pfl", settings={"start_epochs": 2})
    assert done.result["calls"]["solve"]["test"] <= 2 * 3
    assert done.result["fresh_regret"] is None and done.result["test_regret"] >= 0.0


def test_real_benchmarks_data_is_small_and_has_licence_and_source_beside_it():
    data = files("fewsolves_studies.benchmarks.real") / "data"
    folders = [folder for folder in data.iterdir() if folder.is_dir()]
    assert len(folders) == 3
    for folder in folders:
        assert "github.com" in (folder / "SOURCE").read_text() and len((folder / "LICENSE").read_text()) > 1000
    assert sum(len(file.read_bytes()) for folder in folders for file in folder.iterdir()) < 1_500_000
