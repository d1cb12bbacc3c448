import os
import sys
import warnings

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import InputError
from fewsolves.execution.dispatch import Chunk, Landed
from fewsolves.execution.process import WorkerProcess
from fewsolves.execution.processes import Processes
from fewsolves.execution.records import Garbled, Record
from fewsolves.execution.serial import Serial
from fewsolves.oracle import Oracle, SolveConfig

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="worker processes need Linux or macOS")
ROWS, Y = np.arange(40), np.arange(80.0).reshape(40, 2)


def in_order(landed):
    pairs = [pair for answers in landed for pair in zip(answers.at, answers.values, strict=True)]
    assert sorted(k for k, _ in pairs) == list(range(len(pairs)))
    return [value for _, value in sorted(pairs, key=lambda pair: pair[0])]


def closing(execution, run):
    try:
        return run(execution)
    finally:
        execution.close()


def test_processes_workers_live_on_and_share_the_work(tmp_path):
    def run(workers):
        first = in_order(workers.solve(ROWS, Y))
        second = in_order(workers.cost(ROWS, Y, first))
        return {float(z[0]) for z in first}, set(second)

    def solve(y):
        import time

        (tmp_path / str(os.getpid())).touch()
        while len(list(tmp_path.iterdir())) < 2:  # the other one may start late
            time.sleep(0.01)
        return np.array([os.getpid()])

    problem = fs.Problem(solve=solve, cost=lambda y, z: float(os.getpid()))
    solving, costing = closing(Processes(problem, 2), run)
    assert len(solving) == 2
    assert costing <= solving
    assert os.getpid() not in solving


def build():
    """A model that takes a while to set up; `built` counts how often that was done in this process."""
    built = []

    def solve(y):
        return np.array([os.getpid(), len(built)])

    built.append(1)
    return solve, lambda y, z: float(z[1])


@pytest.mark.parametrize("made", ["pair", "problem", "nested"])
def test_processes_a_factory_is_called_once_in_each_process(made):
    ways = {
        "pair": build,
        "problem": lambda: fs.Problem(**dict(zip(("solve", "cost"), build(), strict=True))),
        "nested": lambda: fs.Problem(factory=build),
    }
    problem = fs.Problem(factory=ways[made])
    for execution in (Serial(problem), Processes(problem, 1)):
        decisions = closing(execution, lambda one: in_order(one.solve(ROWS, Y)) + in_order(one.solve(ROWS, Y)))
        assert {tuple(z) for z in decisions} == {(decisions[0][0], 1)}


def test_processes_a_factory_may_bring_batches_and_instances_stay():
    def build_batched():
        return fs.Problem(solve_batch=lambda Y, known: Y * len(Y), cost=lambda y, z, known: float(known))

    problem = fs.Problem(factory=build_batched, instances=list(range(40)))
    oracle = Oracle(problem, Y, solving=SolveConfig(workers=2))
    assert closing(oracle, lambda one: one.optimum(ROWS)).tolist() == ROWS.tolist()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"factory": build, "solve": abs}, "leave `solve=` out"),
        ({"factory": 3}, "must be a function, got int"),
        ({"factory": build, "linear": "up"}, "linear"),
    ],
)
def test_processes_a_factory_is_checked(given, says):
    with pytest.raises(InputError, match=says):
        fs.Problem(**given)


def test_processes_what_a_factory_makes_is_checked():
    with pytest.raises(InputError, match=r"must return \(solve, cost\) or a Problem, got 3"):
        Oracle(fs.Problem(factory=lambda: 3), Y).labels(ROWS)


def test_processes_functions_of_a_script_and_modules_of_the_user_travel(tmp_path, monkeypatch):
    (tmp_path / "my_model_of_the_plant.py").write_text("def solve(y):\n    return y + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import my_model_of_the_plant

    problem = fs.Problem(solve=my_model_of_the_plant.solve, cost=lambda y, z: 0.0)
    assert np.array_equal(closing(Processes(problem, 1), lambda one: in_order(one.solve(ROWS, Y))), Y + 1)


def test_processes_closed_workers_start_again_at_the_next_request():
    workers = Processes(fs.Problem(solve=lambda y: y, cost=lambda y, z: 0.0), 1)
    for _ in range(2):
        assert np.array_equal(closing(workers, lambda one: in_order(one.solve(ROWS, Y))), Y)
        assert workers.alive == []


def test_processes_large_rows_and_decisions_pass_through_the_pipe():
    wide = np.random.default_rng(0).normal(size=(4, 300_000))  # 2.4 MB each
    workers = Processes(fs.Problem(solve=lambda y: y[::-1], cost=lambda y, z: 0.0), 2)
    decisions = closing(workers, lambda one: in_order(one.solve(np.arange(4), wide)))
    assert np.array_equal(np.stack(decisions), wide[:, ::-1])


def test_processes_an_answer_that_comes_just_in_time_does_not_blame_the_next_row(monkeypatch):
    """The worker is being ended for row 0 when its answer arrives; row 1, which it has begun, is lost: a call."""
    workers = Processes(fs.Problem(solve=abs, cost=max), 1, time_limit=1.0)
    monkeypatch.setattr(workers, "stop_workers", lambda ended: None)
    worker = object.__new__(WorkerProcess)
    worker.chunk, worker.answered = Chunk(range(5, 7), "solve", ROWS[:2], [Y[:2]], batched=False), 0
    worker.ready, worker.ending, worker._report, worker.deadline = True, "timeout", b"", 0.0
    worker.since = 0.0
    assert workers._event(worker, Record("answer", 5, 0.1, "", np.zeros(()))) == Landed(worker, 5, 0.0, 0.1)
    gone = workers._ended(worker)
    assert (gone.failure.status, gone.in_work) == ("lost", 1)
    assert f"row {ROWS[1]}" in gone.failure.message


def fork_and_return_twice(wait):
    def solve(y):
        child = os.fork()
        if child and wait:
            os.waitpid(child, 0)
        return y + (0 if child else 1000)

    return fs.Problem(solve=solve, cost=lambda y, z: 0.0)


def test_processes_a_forked_child_that_returns_too_gives_no_answer():
    """Each row is answered by the process that was asked; before, answers went to the wrong rows, or none came."""
    workers = Processes(fork_and_return_twice(wait=False), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        values = closing(workers, lambda one: in_order(one.solve(ROWS, Y)) + in_order(one.solve(ROWS, Y)))
    assert np.array_equal(values, np.concatenate([Y, Y]))


def test_processes_a_forked_child_that_returns_too_is_reported_once():
    workers = Processes(fork_and_return_twice(wait=True), 1)
    with pytest.warns(RuntimeWarning, match=r"`solve` forks a process that also returns from it") as caught:
        closing(workers, lambda one: in_order(one.solve(ROWS, Y)))
    assert len(caught) == 1


def test_processes_a_forked_child_that_raises_or_exits_gives_no_answer():
    def solve(y):
        if os.fork() == 0:
            raise SystemExit(f"the child of {y[0]}")
        return y

    workers = Processes(fs.Problem(solve=solve, cost=lambda y, z: 0.0), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert np.array_equal(closing(workers, lambda one: in_order(one.solve(ROWS, Y))), Y)


def test_processes_an_answer_without_the_number_of_the_row_in_work_is_no_answer():
    workers = Processes(fs.Problem(solve=abs, cost=max), 1)
    worker = object.__new__(WorkerProcess)
    worker.chunk, worker.answered = Chunk(range(5, 7), "solve", ROWS[:2], [Y[:2]], batched=False), 1
    worker.ready = True
    for status, number in (("answer", 5), ("answer", 7), ("error", 5), ("forked", 5), ("ready", 6), ("unusable", 6)):
        with pytest.raises(Garbled):
            workers._event(worker, Record(status, number, 0.1, "", Y[0]))
