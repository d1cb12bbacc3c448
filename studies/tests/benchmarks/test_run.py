import csv
import json

import numpy as np
import pytest

from fewsolves.execution import processes as solving_module
from fewsolves.execution.serial import Serial
from fewsolves.methods.registry import find_method
from fewsolves.oracle import SolveConfig
from fewsolves.testing.methods import known_settings
from fewsolves_studies.benchmarks import run as run_module
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.run import run
from problems_of_users import QUICK

KEYS = {
    "benchmark", "method", "dataset_seed", "config", "commit", "predictor", "test_regret", "test_relative_regret",
    "fresh_regret", "fresh_relative_regret", "best_validation_regret", "start_validation_regret", "solves_per_instance",
    "evaluations_per_instance", "cost_calls_per_instance", "total_solves_per_instance", "calls", "seconds", "stopped",
    "warnings", "failures", "budget", "problem", "rows", "regret", "message", "told", "next", "gain",
    "gained", "kept_start", "table_rows", "judged_on", "described",
}  # fmt: skip


def done(method="gp-surrogate", benchmark="kp-capacity", settings=None, seed=0, n=40, **options):
    settings = known_settings(find_method(method), QUICK | (settings or {}))
    return run(load(benchmark, seed, n=n), method, settings=settings, fresh_rows=30, **options)


def test_benchmarks_run_the_result_has_all_keys_and_is_plain_json():
    result = done(seed=3).result
    assert KEYS | {"calibration", "effective_sample_size", "samples_per_example"} == set(result)
    assert json.loads(json.dumps(result, allow_nan=False)) == json.loads(json.dumps(result))
    assert result["benchmark"] == "kp-capacity"
    assert result["method"] == "gp-surrogate"
    assert result["dataset_seed"] == 3
    assert result["predictor"] == "linear"
    assert result["config"]["data"]["n"] == 40
    assert result["config"]["loss"]["beta"] == 0.35
    assert result["config"]["train"] | QUICK == result["config"]["train"]
    assert result["fresh_regret"] >= 0
    assert result["best_validation_regret"] <= result["start_validation_regret"]


def test_benchmarks_run_test_solves_are_not_counted_as_training():
    found = done("sfge")
    result, calls = found.result, found.result["calls"]["solve"]
    assert calls["test"] > 0
    assert calls["online"] <= 2 * 32
    assert result["solves_per_instance"] == (calls["pre-training"] + calls["online"]) / 32
    assert result["total_solves_per_instance"] == sum(n for phase, n in calls.items() if phase != "test") / 32
    assert calls["test"] <= 2 * 4, "the solves of the fresh rows are not among them"
    assert done("pfl").result["solves_per_instance"] == 0


def test_benchmarks_run_the_seconds_of_the_test_are_not_counted(monkeypatch):
    after_fit, fit_in = [], run_module.fit_in

    def timed(*args, **kwargs):
        fitted = fit_in(*args, **kwargs)
        after_fit.append(fitted.oracle.calls.seconds)
        return fitted

    monkeypatch.setattr(run_module, "fit_in", timed)
    found = done()
    assert found.result["seconds"]["solver"] == after_fit[0] < found.fit.oracle.calls.seconds
    assert found.result["seconds"]["total"] > found.result["seconds"]["solver"]


@pytest.mark.parametrize(("name", "tested"), [("kp-capacity", 4), ("loading", 4), ("drift", 8)])  # known data; time
def test_benchmarks_run_regret_is_that_of_the_rows_it_is_named_after(name, tested):
    dataset = load(name, 0, n=40)
    found = run(dataset, "pfl", settings={"start_epochs": 2}, fresh_rows=30)
    predictor, test = found.fit.predictor, found.fit.split.test
    assert len(test) == tested

    def y_hat(rows):
        return predictor(rows.X)

    everything, fresh = dataset.rows, dataset.fresh(30)
    costs = {
        "test": (everything.cost(y_hat(everything))[test], everything.cost(everything.Y)[test]),
        "fresh": (fresh.cost(y_hat(fresh)), fresh.cost(fresh.Y)),
    }
    for which, (cost, best) in costs.items():
        assert found.result[f"{which}_regret"] == pytest.approx((cost - best).mean())
        assert found.result[f"{which}_relative_regret"] == pytest.approx((cost - best).mean() / abs(best.mean()))


def test_benchmarks_run_the_relative_regret_of_an_optimum_of_0_is_left_open():
    result = done("pfl", "toy-64").result
    assert result["fresh_regret"] > 0
    assert result["fresh_relative_regret"] is None
    assert result["test_relative_regret"] is None


def test_benchmarks_run_files(tmp_path):
    found = done("sfge")
    found.write(tmp_path / "a/b")
    assert json.loads((tmp_path / "a/b/result.json").read_text()) == json.loads(json.dumps(found.result))
    with (tmp_path / "a/b/history.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["stage"], row["epoch"]) for row in rows] == [
        (stage, str(epoch)) for stage in ("start", "train") for epoch in (1, 2)
    ]
    assert rows[-1]["solves_online"] == str(found.result["calls"]["solve"]["online"])


def test_benchmarks_run_a_dataset_is_split_alike_for_all_methods_and_seeds():
    splits = [done(method, seed=1).fit.split for method in ("pfl", "sfge")]
    assert np.array_equal(splits[0].test, splits[1].test)
    assert np.array_equal(splits[0].train, splits[1].train)
    assert sorted(np.concatenate([splits[0].train, splits[0].valid, splits[0].test])) == list(range(40))
    assert [len(part) for part in (splits[0].train, splits[0].valid, splits[0].test)] == [32, 4, 4]


def test_benchmarks_run_worker_processes_serve_the_fresh_rows_too_and_none_is_left_behind(monkeypatch):
    made = []

    class FakeProcesses(Serial):
        def __init__(self, problem, workers, **limits):
            super().__init__(problem)
            self.workers, self.open = workers, False
            made.append(self)

        def solve(self, rows, y_hat):
            self.open = True
            return super().solve(rows, y_hat)

        def close(self):
            self.open = False

    monkeypatch.setattr(solving_module, "Processes", FakeProcesses)
    done("pfl", solving=SolveConfig(workers=2))
    assert [one.workers for one in made] == [2, 2]
    assert not any(one.open for one in made)
