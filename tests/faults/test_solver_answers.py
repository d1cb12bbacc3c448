"""B3 to B6, B8, B9, B11: solvers that return rubbish, eat memory, print, or tamper with what is around them."""

import contextlib
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import InputError, SolverError
from fewsolves.execution import records, worker
from fewsolves.execution.base import Failure
from fewsolves.execution.processes import Processes
from fewsolves.execution.serial import Serial

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="worker processes need Linux or macOS")
N = 6
ROWS, Y = np.arange(N), np.arange(2.0 * N).reshape(N, 2)
BAD = 3


def values_of(execution, kind="solve", rows=ROWS):
    columns = (Y[rows],) if kind == "solve" else (Y[rows], list(Y[rows]))
    found = {}
    try:
        for answers in getattr(execution, kind)(rows, *columns):
            found |= {int(rows[k]): value for k, value in zip(answers.at, answers.values, strict=True)}
    finally:
        execution.close()
    return found


def acting(act, kind="solve"):
    """A problem that does something else at one row."""

    def solve(y):
        return act() if kind == "solve" and y[0] == Y[BAD, 0] else y * 2

    def cost(y, z):
        return act() if kind == "cost" and y[0] == Y[BAD, 0] else 1.0

    return fs.Problem(solve=solve, cost=cost)


def failure_of(act, kind="solve", apart=False, **limits):
    """What becomes of the one row; the others are as they should be."""
    problem = acting(act, kind)
    found = values_of(Processes(problem, 1, **limits) if apart else Serial(problem), kind)
    failure = found.pop(BAD)
    assert sorted(found) == [k for k in ROWS if k != BAD]
    assert all(np.array_equal(z, Y[k] * 2) if kind == "solve" else z == 1.0 for k, z in found.items())
    assert f"row {BAD}" in failure.message
    return failure


class Unfloatable:
    def __float__(self):
        raise RuntimeError("no")


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no")


def tensor_with_gradient():
    import torch  # here: workers that do not need it shall not wait for it

    return torch.tensor([1.0], requires_grad=True)


RUBBISH = {
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "minus inf": lambda: -float("inf"),
    "none": lambda: None,
    "complex": lambda: 1j,
    "huge": lambda: 10**400,
    "dict of complex": lambda: {"plan": 1j},
    "tensor with gradient": tensor_with_gradient,
    "unfloatable": Unfloatable,
    "unprintable": Unprintable,
    "object array": lambda: np.array([object()]),
    "dates": lambda: np.array(["2026-01-01"], dtype="datetime64[D]"),
}
NO_COST = RUBBISH | {
    "two": lambda: [1.0, 2.0],
    "bool": lambda: True,
    "nothing": list,
    "text": lambda: "3.1",
    "dict": dict,
    "ragged": lambda: [[1.0], [1.0, 2.0]],
}


@pytest.mark.parametrize("name", RUBBISH)
def test_solver_answers_b5_no_decision(name):
    assert failure_of(RUBBISH[name]).status == "bad-return"


@pytest.mark.parametrize("name", NO_COST)
def test_solver_answers_b5_no_cost(name):
    assert failure_of(NO_COST[name], kind="cost").status == "bad-return"


def test_solver_answers_b5_what_is_rubbish_here_is_rubbish_in_a_worker():
    for name in ("nan", "none", "dict of complex", "complex"):
        assert failure_of(RUBBISH[name]) == failure_of(RUBBISH[name], apart=True)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint16", "float16", "float32", "float64"])
def test_solver_answers_decisions_of_any_kind_and_shape_arrive_unchanged(dtype):
    shapes = [(), (3,), (2, 3), (0,), (2, 0, 1), (1, 1, 1, 1)]
    decisions = [np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype) for shape in shapes]
    problem = fs.Problem(solve=lambda y: decisions[int(y[0]) // 2], cost=lambda y, z: 0.0)
    for k, z in values_of(Processes(problem, 1)).items():
        assert (z.dtype, z.shape) == (decisions[k].dtype, decisions[k].shape)
        assert np.array_equal(z, decisions[k])


def test_solver_answers_b6_infeasible_is_an_error_with_its_words():
    def infeasible():
        raise fs.Infeasible("demand exceeds capacity")

    for apart in (False, True):
        failure = failure_of(infeasible, apart=apart)
        assert failure.status == "error"
        assert "Infeasible at row 3: demand exceeds capacity" in failure.message


def test_solver_answers_b2_sys_exit_is_an_error_of_the_solver_and_no_end_of_the_run():
    for apart in (False, True):
        failure = failure_of(lambda: sys.exit(0), apart=apart)
        assert (failure.status, failure.message) == ("error", "`solve` called sys.exit(0) at row 3")


class UnspeakableError(Exception):
    def __str__(self):
        raise RuntimeError("no")

    def __reduce__(self):
        raise RuntimeError("no")


def deep():
    return deep()


def raising(error):
    raise error


@pytest.mark.parametrize("act", [lambda: raising(UnspeakableError()), deep, lambda: raising(ValueError("x" * 10**7))])
def test_solver_answers_b11_exceptions_that_cannot_travel_keep_their_text(act):
    failure = failure_of(act, apart=True)
    assert failure.status == "error"
    assert any(name in failure.message for name in ("UnspeakableError", "RecursionError", "ValueError"))
    assert len(failure.message.encode()) <= 4096


def test_solver_answers_b11_a_decision_that_is_too_large_is_refused():
    failure = failure_of(lambda: np.zeros(records.MAX_DECISION_BYTES // 8 + 1), apart=True)
    assert failure.status == "bad-return"
    assert "67,108,872 bytes; at most 67,108,864" in failure.message


def test_solver_answers_b3_memory_runs_out_for_one_solve_only():
    failure = failure_of(lambda: np.ones(2**27), apart=True, memory_limit=2**28)  # 1 GB of 256 MB
    assert failure.status == "out-of-memory"
    assert "memory_limit" in failure.message


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_solver_answers_b4_a_worker_that_leaks_makes_way_for_a_fresh_one(monkeypatch):
    kept = []

    def solve(y):
        kept.append(np.ones(2**20, dtype=np.uint8))
        return np.array([os.getpid(), len(kept)])

    rows = np.arange(700)
    workers = Processes(fs.Problem(solve=solve, cost=lambda y, z: 0.0), 1)
    found = []
    try:
        for _ in range(700 // 10):  # many small requests, as training makes them
            found += [z for answers in workers.solve(rows[:10], np.zeros((10, 1))) for z in answers.values]
    finally:
        workers.close()
    pids, leaked = np.array(found).T
    assert 3 <= len(set(pids)) <= 4
    assert leaked.max() < 300 + 2 * 10 + 10


def noise():
    os.write(1, bytes(range(256)) * 2**14)  # 4 MB
    os.write(2, b"fws1" * 2**16)
    print("\udcff".encode(errors="replace"))
    return Y[BAD] * 2


def tamper():
    os.chdir("/")
    os.umask(0o777)
    os.environ.clear()
    np.random.seed(0)  # noqa: NPY002
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.stdout.close()
    sys.path.clear()
    return Y[BAD] * 2


def close_everything():
    os.closerange(0, 64)
    return Y[BAD] * 2


@pytest.mark.parametrize("act", [noise, tamper, close_everything])
def test_solver_answers_b8_noise_and_closed_files_do_not_reach_the_answers(act):
    here = Path.cwd()
    found = values_of(Processes(acting(act), 1), rows=np.array([0, BAD, 4, 5]))
    assert all(np.array_equal(z, Y[k] * 2) for k, z in found.items())
    assert Path.cwd() == here


def test_solver_answers_b8_a_solver_that_writes_into_its_pipe_has_crashed():
    def scribble():
        for pipe in range(worker.OUT_OF_THE_WAY, worker.OUT_OF_THE_WAY + 8):
            with contextlib.suppress(OSError):
                os.write(pipe, b"solution found, objective 17\n" * 10)
        return Y[BAD]

    failure = failure_of(scribble, apart=True)
    assert failure.status == "crash"
    assert "wrote into the pipe" in failure.message


def test_solver_answers_b9_a_solver_may_change_its_input():
    def solve(y):
        y[:] = -1
        return np.zeros(1)

    before = Y.copy()
    problem = fs.Problem(solve=solve, cost=lambda y, z: float(y.sum()))
    for execution in (Serial(problem), Processes(problem, 1)):
        given = Y.copy()
        list(execution.solve(ROWS, given))
        costs = [value for answers in execution.cost(ROWS, given, [np.zeros(1)] * N) for value in answers.values]
        execution.close()
        assert np.array_equal(given, before)
        assert sorted(costs) == sorted(Y.sum(axis=1))


def test_solver_answers_a_batch_that_raises_names_the_row():
    def solve_batch(batch):
        if (batch[:, 0] == Y[BAD, 0]).any():
            raise ValueError("singular")
        return batch * 2

    problem = fs.Problem(solve_batch=solve_batch, cost=lambda y, z: 0.0)
    for execution in (Serial(problem), Processes(problem, 1)):
        found = values_of(execution)
        assert found[BAD].status == "batch"
        found |= values_of(execution)  # each row of a batch that failed is tried by itself when it is asked for again
        assert found.pop(BAD) == Failure("error", "`solve_batch` raised ValueError at row 3: singular")
        assert all(np.array_equal(z, Y[k] * 2) for k, z in found.items())


def test_solver_answers_a_problem_that_cannot_be_sent_is_refused_with_advice_to_use_a_factory():
    import threading

    handle = threading.Lock()
    problem = fs.Problem(solve=lambda y: handle and y, cost=lambda y, z: 0.0)
    with pytest.raises(InputError, match=r"cannot be sent to worker processes .*factory"):
        values_of(Processes(problem, 1))


def test_solver_answers_a_factory_that_fails_is_reported_with_its_words():
    def build():
        raise ImportError("no solver here")  # what may pass is tried again, after pauses

    with pytest.raises(InputError, match="could not be loaded in a worker process: ImportError: no solver here"):
        values_of(Processes(fs.Problem(factory=build), 1))


def test_solver_answers_a_factory_that_kills_its_process_is_not_tried_for_ever():
    with pytest.raises(SolverError, match=r"worker processes end while they load .* SIGABRT"):
        values_of(Processes(fs.Problem(factory=os.abort), 1))
