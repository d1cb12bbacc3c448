from __future__ import annotations

import pytest

from fewsolves.errors import InputError
from fewsolves.methods.registry import METHODS
from fewsolves.paper.experiment import Size
from fewsolves.paper.experiments import EXPERIMENTS
from fewsolves.paper.task import FLOOR, Results, Task

from .made_up import write

WHOLE, QUICK = Size(), Size(datasets=1, quick=True)
TASKS = {size.quick: {name: one.tasks(size) for name, one in EXPERIMENTS.items()} for size in (WHOLE, QUICK)}


@pytest.mark.parametrize("size", [WHOLE, QUICK])
def test_two_different_runs_never_share_a_file(size, tmp_path):
    every = {task for tasks in TASKS[size.quick].values() for task in tasks}
    assert len({task.file(tmp_path) for task in every}) == len(every)


@pytest.mark.parametrize("size", [WHOLE, QUICK])
def test_every_task_has_settings_that_its_method_knows(size):
    for task in {task for tasks in TASKS[size.quick].values() for task in tasks}:
        if task.method != FLOOR:
            METHODS[task.method].with_settings(dict(task.settings))


def test_q1_is_the_papers_table():
    tasks = TASKS[False]["q1"]
    assert {task.dataset for task in tasks} == set(range(5))
    on_values = {task.name for task in tasks if task.benchmark == "kp-values"}
    assert {"pfl", "gp-surrogate", "gp-surrogate-paper", "sfge", "spo+", "lancer", "floor"} < on_values
    assert sum(name.startswith(("lodl", "egl")) for name in on_values) == 8
    assert "spo+" not in {task.name for task in tasks if task.benchmark == "kp-weights"}, "not a linear objective"


def test_experiments_share_the_runs_that_they_have_in_common():
    q1 = set(TASKS[False]["q1"])
    assert set(TASKS[False]["regret-calls"]) == q1 < set(TASKS[False]["q2"])
    for name in ("ablation", "sensitivity", "classical"):
        assert set(TASKS[False][name]) & q1, name


def test_what_shares_a_place_shares_its_start():
    places = {task.place for task in TASKS[False]["q1"]}
    assert len(places) == 4 * 5
    slow = {task.place for task in TASKS[False]["q2"]} - places
    assert {(place.delay > 0, place.limit is not None) for place in slow} == {(True, False), (False, True)}


def test_results_are_found_again(tmp_path):
    mine = Task(benchmark="kp-weights", method="sfge", dataset=1, label="mine", settings=(("patience", 3),))
    write([mine, Task(benchmark="kp-weights", method="pfl", dataset=1)], tmp_path)
    found = Results.read([mine, Task(benchmark="kp-weights", method="pfl", dataset=2)], tmp_path)
    assert list(found.found) == [mine]
    assert list(found.of("mine", "kp-weights")) == [1]
    assert found.names("kp-weights") == ["mine"]
    assert found.commits() == ["abc123"]


def test_a_result_of_other_settings_is_not_taken_for_this_one(tmp_path):
    before = Task(benchmark="kp-weights", method="sfge", dataset=0, label="mine", settings=(("patience", 3),))
    now = Task(benchmark="kp-weights", method="sfge", dataset=0, label="mine", settings=(("patience", 4),))
    write([before], tmp_path)
    assert before.file(tmp_path) == now.file(tmp_path)
    assert before.result(tmp_path) is not None
    assert now.result(tmp_path) is None
    assert not Results.read([now], tmp_path).found


def test_a_file_that_is_no_result_is_named(tmp_path):
    task = Task(benchmark="kp-weights", method="sfge", dataset=0)
    write([task], tmp_path)
    task.file(tmp_path).write_text("")
    with pytest.raises(InputError, match=r"sfge\.linear\.0\.json is no result of a run"):
        Results.read([task], tmp_path)
