from __future__ import annotations

import json

from click.testing import CliRunner

from fewsolves.benchmarks.catalogue import load
from fewsolves.benchmarks.run import run
from fewsolves.cli import main
from fewsolves.paper.execute import execute
from fewsolves.paper.experiment import Size
from fewsolves.paper.once import Shared
from fewsolves.paper.task import Task

QUICK = Size(datasets=1, quick=True)
TIMES = ("seconds", "label", "delay", "limit")


def test_a_shared_start_changes_nothing_but_the_time():
    tasks = [QUICK.task("kp-values", method, 0) for method in ("pfl", "sfge", "gp-surrogate", "spo+")]
    shared = Shared(tasks[0].place)
    for task in tasks:
        together = shared.result(task)
        alone = run(load("kp-values", 0, n=80), task.method, settings=dict(task.settings)).result
        assert {k: v for k, v in together.items() if k not in TIMES} == {
            k: v for k, v in alone.items() if k != "seconds"
        }


def test_what_another_method_asked_for_is_not_solved_again_but_charged():
    forms = ("lodl-mse", "lodl-quadratic")
    tasks = [QUICK.task("kp-capacity", form, 0, delay=1e-4) for form in forms]
    shared = Shared(tasks[0].place)
    solve_batch, solved = shared.solve.function, []
    shared.solve.function = lambda y_hat: (solved.append(len(y_hat)), solve_batch(y_hat))[1]
    first, _ = shared.result(tasks[0]), solved.clear()
    second = shared.result(tasks[1])
    assert second["calls"]["solve"]["pre-training"] == first["calls"]["solve"]["pre-training"] == 64 * 20
    assert sum(solved) <= second["calls"]["solve"]["validation"] + second["calls"]["solve"]["test"]
    paid = sum(n for phase, n in second["calls"]["solve"].items() if phase != "test")
    assert second["seconds"]["total"] > second["seconds"]["solver"] >= 1e-4 * paid
    alone = run(load("kp-capacity", 0, n=80), forms[1], settings=dict(tasks[1].settings)).result
    assert second["calls"] == alone["calls"]
    assert second["fresh_regret"] == alone["fresh_regret"]


def test_what_is_charged_counts_against_a_time_limit():
    unlimited = QUICK.task("kp-capacity", "sfge", 0, delay=0.01, settings={"max_epochs": 2})
    shared = Shared(unlimited.place)
    took = shared.result(unlimited)["seconds"]["total"]
    limited = QUICK.task("kp-capacity", "sfge", 0, delay=0.01, limit=0.6 * took, settings={"max_epochs": 2})
    assert shared.result(limited)["stopped"].startswith("the time limit was reached")


def test_a_time_limit_ends_training():
    task = QUICK.task("kp-capacity", "sfge", 0, limit=1e-3, settings={"max_epochs": 50})
    assert Shared(task.place).result(task)["stopped"].startswith("the time limit was reached")


def test_a_slow_solver_trains_and_the_embedded_one_reports():
    task = QUICK.task("kp-capacity", "sfge", 0, delay=0.001)
    result = Shared(task.place).result(task)
    assert result["delay"] == 0.001
    paid = sum(n for phase, n in result["calls"]["solve"].items() if phase != "test")
    assert result["seconds"]["solver"] >= 0.001 * paid
    quick = Shared(QUICK.task("kp-capacity", "sfge", 0).place).result(QUICK.task("kp-capacity", "sfge", 0))
    assert result["fresh_regret"] == quick["fresh_regret"]


def test_missing_runs_are_made_once_and_a_failure_does_not_stop_the_others(tmp_path):
    good = QUICK.task("kp-capacity", "pfl", 0)
    bad = QUICK.task("kp-capacity", "spo+", 0)
    broken = Task(benchmark="no-such-benchmark", method="pfl", dataset=0)
    news = []
    progress = execute([broken, bad, good, good], tmp_path, jobs=1, show=lambda progress, text: news.append(text))
    assert set(progress.failed) == {bad, broken}
    assert "linear" in progress.failed[bad]
    assert "unknown benchmark" in progress.failed[broken]
    assert json.loads(good.file(tmp_path).read_text())["method"] == "pfl"
    assert not list(tmp_path.rglob("*.part"))
    written = good.file(tmp_path).stat().st_mtime_ns
    again = execute([good], tmp_path, jobs=1, show=lambda progress, text: news.append(text))
    assert (again.total, good.file(tmp_path).stat().st_mtime_ns) == (0, written)


def test_the_command(tmp_path):
    done = CliRunner().invoke(main, ["paper", "smoothing", "--quick", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "Made by `fewsolves paper smoothing --quick`" in done.output
    assert (tmp_path / "out" / "index.html").exists()
    assert CliRunner().invoke(main, ["paper", "q9"]).exit_code == 2


def test_a_folder_that_cannot_be_used_is_refused_before_anything_runs(tmp_path):
    def said(*arguments):
        done = CliRunner().invoke(main, ["paper", "q1", *map(str, arguments)])
        assert done.exit_code == 2
        return done.output

    (tmp_path / "whole" / "runs" / "kp-weights").mkdir(parents=True)
    assert "has runs of full size" in said("--quick", "--out", tmp_path / "whole")
    (tmp_path / "file").touch()
    assert "cannot be written" in said("--out", tmp_path / "file" / "below")
