"""B1, B2, B14, B15: solvers that hang or die, and a trainer that dies."""

import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import numpy as np
import pytest
import torch

import fewsolves as fs
from fewsolves.execution.base import Failure
from fewsolves.execution.processes import Processes

from .misbehaviour import CRASHES, HANGS, TOKEN, survivors, survivors_after

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets every descendant be found")
LIMIT = 0.4
BAD = 7
PATIENCE = 60.0  # seconds for what takes none where a machine has nothing else to do; who hangs does so for an hour


@pytest.fixture
def token(monkeypatch):
    mark = uuid.uuid4().hex
    monkeypatch.setenv(TOKEN, mark)
    yield mark
    assert survivors_after(mark, PATIENCE) == {}


def pool(act, workers=1, bad=BAD, **limits):
    """A problem that misbehaves at one row."""

    def solve(y):
        if y[0] == bad:
            act()
        return y * 2

    return Processes(fs.Problem(solve=solve, cost=lambda y, z: 0.0), workers, **limits)


def answers_of(workers, rows):
    rows = np.asarray(rows)
    Y = np.stack([rows, rows], axis=1).astype(float)
    landed = {}
    for answers in workers.solve(rows, Y):
        landed |= {int(rows[k]): value for k, value in zip(answers.at, answers.values, strict=True)}
    return landed


def hang(act, token, times):
    """One worker: when the failure is reported, nothing of it is left."""
    workers = pool(act, time_limit=LIMIT)
    try:
        for _ in range(times):
            answers_of(workers, range(3))  # a worker is up, so what follows is the hang alone
            (answers,) = workers.solve(np.array([BAD]), np.full((1, 2), float(BAD)))
            assert survivors(token) == {}
            (failure,), (seconds,) = answers.values, answers.seconds
            assert failure.status == "timeout"
            assert failure.message.startswith(f"`solve` took longer than time_limit={LIMIT} seconds at row {BAD}")
            assert LIMIT <= seconds < PATIENCE
        assert sorted(answers_of(workers, range(3))) == [0, 1, 2]  # the pool goes on
    finally:
        workers.close()


@pytest.mark.parametrize("mode", HANGS)
def test_solver_ends_b1_a_solver_that_hangs_is_ended_with_all_that_it_started(mode, token):
    hang(HANGS[mode], token, times=1)


@pytest.mark.faults
@pytest.mark.timeout(1600)
@pytest.mark.parametrize("mode", HANGS)
def test_solver_ends_b1_fifty_times(mode, token, record_property):
    hang(HANGS[mode], token, times=50)
    record_property("solvers that hung and were ended", 50)


@pytest.mark.parametrize("way", CRASHES)
def test_solver_ends_b2_one_crash_among_twenty_keeps_nineteen(way, token):
    workers = pool(CRASHES[way], workers=2)
    try:
        answers = answers_of(workers, range(20))
    finally:
        workers.close()
    failure = answers.pop(BAD)
    said = {"segfault": "SIGSEGV", "abort": "SIGABRT", "SIGKILL": "SIGKILL"}.get(way, "exited with code 0 without")
    assert failure.status == ("lost" if way == "SIGKILL" else "crash")
    assert said in failure.message
    assert f"at row {BAD}" in failure.message
    assert all(np.array_equal(z, [2 * row, 2 * row]) for row, z in answers.items())
    assert len(answers) == 19


def test_solver_ends_b2_a_batch_that_crashes_is_run_row_by_row(token):
    def solve_batch(Y):
        if (Y[:, 0] == BAD).any():
            os.abort()
        return Y * 2

    problem = fs.Problem(solve_batch=solve_batch, cost=lambda y, z: 0.0)
    workers = Processes(problem, workers=1)
    try:
        answers = answers_of(workers, range(10))
        failed = [row for row, value in answers.items() if isinstance(value, Failure)]
        assert {answers[row].status for row in failed} == {"batch"}
        assert BAD in failed
        answers |= answers_of(workers, failed)  # the caller decides, for each is one more call
    finally:
        workers.close()
    assert answers.pop(BAD).status == "crash"
    assert all(np.array_equal(z, [2 * row, 2 * row]) for row, z in answers.items())
    assert len(answers) == 9


def test_solver_ends_a_worker_that_leaves_children_behind_does_not_leave_them_behind(token):
    def start_and_die():
        subprocess.Popen(["sleep", "3600"], start_new_session=True)
        os._exit(3)

    workers = pool(start_and_die)
    try:
        (answers,) = workers.solve(np.array([BAD]), np.full((1, 2), float(BAD)))
        assert survivors(token) == {}
    finally:
        workers.close()
    assert "exited with code 3" in answers.values[0].message


def test_solver_ends_b1_a_guard_that_does_not_answer_is_done_without(token):
    """It may be stopped, or wait for what cannot be killed: what it should have ended is ended all the same."""

    def stop_the_guard():
        subprocess.Popen(["sleep", "3600"], start_new_session=True)
        os.kill(os.getppid(), signal.SIGSTOP)
        time.sleep(3600)

    workers = pool(stop_the_guard, time_limit=LIMIT, end_limit=0.1)
    try:
        assert answers_of(workers, [BAD])[BAD].status == "timeout"
        assert survivors(token) == {}
        assert sorted(answers_of(workers, range(3))) == [0, 1, 2]
    finally:
        workers.close()


def test_solver_ends_what_a_solver_printed_last_is_reported(token):
    def complain():
        os.write(2, b"no licence for 17 cores\n")
        os.abort()

    workers = pool(complain)
    try:
        assert "no licence for 17 cores" in answers_of(workers, [BAD])[BAD].message
    finally:
        workers.close()


TRAINER = """
import subprocess, sys, time
import numpy as np, fewsolves as fs
from fewsolves.execution.base import Failure
from fewsolves.execution.processes import Processes

def solve(y):
    subprocess.Popen(["sleep", "3600"], start_new_session=True)
    print("solving", flush=True)
    open(sys.argv[1] + f"/{{y[0]:.0f}}", "w").close()
    time.sleep({seconds})
    return y

problem = fs.Problem(solve=solve, cost=lambda y, z: 0.0)
workers = Processes(problem, workers=3)
list(workers.solve(np.arange(3), np.arange(3.0)[:, None]))
{after}
"""


def wait_for(condition):
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("busy", [True, False], ids=["busy", "idle"])
def test_solver_ends_b14_no_worker_outlives_a_killed_trainer(busy, token, tmp_path):
    code = TRAINER.format(seconds=3600 if busy else 0, after="open(sys.argv[1] + '/idle', 'w'); time.sleep(3600)")
    code = code.replace("sys.argv[1]", repr(str(tmp_path)))
    trainer = subprocess.Popen([sys.executable, "-c", code])
    try:
        wait_for(lambda: len(list(Path(tmp_path).iterdir())) == (3 if busy else 4))
        # the trainer, three children of solvers, and three guards and workers, of which one may have solved all
        assert len(survivors(token)) == 10 if busy else len(survivors(token)) >= 6
    finally:
        trainer.send_signal(signal.SIGKILL)
        trainer.wait()
    assert survivors_after(token, PATIENCE) == {}


def test_solver_ends_b14_a_forked_child_of_the_trainer_does_not_keep_workers_alive(token, tmp_path):
    """It holds copies of all pipes and sockets, so their end says nothing; the trainer's death does."""
    fork = "child = os.fork() or time.sleep(3600); open(sys.argv[1] + f'/child-{child}', 'w'); time.sleep(3600)"
    code = "import os\n" + TRAINER.format(seconds=0, after=fork).replace("sys.argv[1]", repr(str(tmp_path)))
    trainer = subprocess.Popen([sys.executable, "-c", code])
    try:
        wait_for(lambda: list(tmp_path.glob("child-*")))
    finally:
        trainer.send_signal(signal.SIGKILL)
        trainer.wait()
    (child,) = (int(path.name.removeprefix("child-")) for path in tmp_path.glob("child-*"))
    try:
        until = time.monotonic() + PATIENCE
        while survivors(token).keys() - {child} and time.monotonic() < until:
            time.sleep(0.02)
        assert survivors(token).keys() == {child}
    finally:
        os.kill(child, signal.SIGKILL)


def test_solver_ends_b14_a_trainer_that_ends_without_closing_leaves_no_process(token, tmp_path):
    code = TRAINER.format(seconds=0, after="").replace("sys.argv[1]", repr(str(tmp_path)))
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=100)
    assert survivors_after(token, PATIENCE) == {}


def test_solver_ends_a_thread_that_ends_does_not_take_its_workers_along(token):
    """The kernel's death signal is about the thread that started a process, not about the process."""
    import threading

    workers = pool(lambda: None)
    try:
        thread = threading.Thread(target=lambda: answers_of(workers, range(3)))
        thread.start()
        thread.join()
        before = survivors(token)
        assert len(answers_of(workers, range(3))) == 3
        assert survivors(token).keys() == before.keys()
    finally:
        workers.close()


def test_solver_ends_b15_threads_of_the_trainer_do_no_harm(token):
    torch.ones(300, 300) @ torch.ones(300, 300)
    workers = pool(lambda: None, workers=2)
    try:
        assert len(answers_of(workers, range(4))) == 4
    finally:
        workers.close()


def test_solver_ends_an_impatient_caller_leaves_nothing_in_work(token):
    workers = pool(lambda: time.sleep(3600), workers=2)
    try:
        while len(workers._idle) < 2:  # a worker that still loads the problem has no row to leave
            answers_of(workers, range(3))
        workers.pace.note("solve", 0, 3600.0)  # both rows may be one chunk: this one comes first, whatever the load
        landed = workers.solve(np.array([0, BAD]), np.array([[0.0, 0.0], [BAD, BAD]]))
        next(landed)
        landed.close()
        assert len(survivors(token)) <= 2  # the idle one and its guard
        assert len(answers_of(workers, range(3))) == 3
    finally:
        workers.close()
