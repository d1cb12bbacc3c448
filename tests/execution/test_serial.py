import os
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

import fewsolves as fs
from fewsolves.errors import SolverError
from fewsolves.execution.processes import Processes
from fewsolves.execution.serial import Serial
from fewsolves.oracle import Oracle, SolveConfig

Y = np.arange(12.0).reshape(6, 2)
ROWS = np.arange(6)


def problem(**changes):
    return fs.Problem(**{"solve": lambda y: y * 2, "cost": lambda y, z: float(np.sum(y + z))} | changes)


class Unfloatable:
    def __float__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "value", ["3.1", None, np.nan, np.inf, [1.0, 2.0], 1j, Unfloatable(), [], object(), -np.inf, {}, "nan"]
)
def test_serial_a_cost_that_is_no_number_names_the_row(value):
    oracle = Oracle(problem(cost=lambda y, z: value if y[0] == 4 else 0.0), Y)
    with pytest.raises(SolverError, match="at row 2") as caught:
        oracle.optimum(ROWS)
    assert caught.value.row == 2


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.array([2.0]), np.array(2), torch.tensor(2.0)])
def test_serial_a_cost_that_is_a_number_is_taken(value):
    assert Oracle(problem(cost=lambda y, z: value), Y).optimum(ROWS)[0] == 2.0


@pytest.mark.parametrize(("value", "says"), [(None, "None"), (1j, "numbers"), ([1.0, np.nan], "NaN")])
def test_serial_a_bad_decision_names_the_row(value, says):
    with pytest.raises(SolverError, match=f"{says}.*row 3|row 3.*{says}"):
        Oracle(problem(solve=lambda y: value if y[0] == 6 else y), Y).labels(ROWS)


def test_serial_an_error_of_the_solver_keeps_its_words():
    def solve(y):
        raise ZeroDivisionError("licence expired")

    with pytest.raises(SolverError, match="ZeroDivisionError at row 0: licence expired"):
        Oracle(problem(solve=solve), Y).labels(ROWS)


def test_serial_a_solver_may_change_its_input():
    def solve(y):
        y[:] = -1
        return y

    before = Y.copy()
    Oracle(problem(solve=solve), Y).labels(ROWS)
    assert np.array_equal(Y, before)


def test_serial_batches_are_used_and_checked():
    batched = problem(solve_batch=lambda y: y * 2, cost_batch=lambda y, z: (y + z).sum(1))
    assert np.allclose(Oracle(batched, Y).optimum(ROWS), Oracle(problem(), Y).optimum(ROWS))
    with pytest.raises(SolverError, match="one value per row: 6 rows, got 2 values"):
        Oracle(problem(solve_batch=lambda y: y[:2]), Y).labels(ROWS)


def test_serial_instances_reach_both_functions():
    known = [{"factor": k} for k in range(6)]
    with_data = fs.Problem(
        solve=lambda y, known: y * known["factor"], cost=lambda y, z, known: known["factor"], instances=known
    )
    oracle = Oracle(with_data, Y).part(np.array([5, 2]))
    assert oracle.optimum(np.array([0, 1])).tolist() == [5.0, 2.0]
    assert oracle.labels(np.array([1]))[0].tolist() == (Y[2] * 2).tolist()


def in_order(landed):
    pairs = [pair for answers in landed for pair in zip(answers.at, answers.values, strict=True)]
    return [value for _, value in sorted(pairs, key=lambda pair: pair[0])]


def test_serial_processes_give_the_same():
    apart = Processes(problem(), workers=2)
    try:
        here = Serial(problem())
        for rows in (ROWS, ROWS[:1]):
            values = in_order(apart.solve(rows, Y[rows]))
            assert np.array_equal(values, in_order(here.solve(rows, Y[rows])))
            assert in_order(apart.cost(rows, Y[rows], values)) == in_order(here.cost(rows, Y[rows], values))
        assert all(seconds > 0 for answers in apart.solve(ROWS, Y) for seconds in answers.seconds)
    finally:
        apart.close()


def test_serial_an_error_crosses_the_process_border():
    def solve(y):
        if y[0] == 8:
            raise ValueError("infeasible")
        return y

    oracle = Oracle(problem(solve=solve), Y, solving=SolveConfig(workers=2))
    try:
        with pytest.raises(SolverError, match="ValueError at row 4: infeasible") as caught:
            oracle.labels(ROWS)
        assert caught.value.row == 4
    finally:
        oracle.close()


def test_serial_a_function_that_misses_known_data_raises_with_the_place_to_declare_them():
    problem = fs.Problem(solve=lambda y_hat, price: y_hat, cost=lambda y, z: 0.0)
    with pytest.raises(SolverError, match="'price'; known data by row are given as instances="):
        Oracle(problem, np.zeros((5, 2))).labels(np.arange(5))
    inside = fs.Problem(solve=lambda y_hat: (lambda price: price)(), cost=lambda y, z: 0.0)
    with pytest.raises(SolverError, match="'price'") as failed:
        Oracle(inside, np.zeros((5, 2))).labels(np.arange(5))
    assert "instances" not in str(failed.value)


FORKS = """
import os, sys, warnings
import numpy as np
import fewsolves as fs

X = np.random.default_rng(0).normal(size=(20, 2))
FORKED, TRAINER = set(), os.getpid()
FEW = {"solves": 4, "cost_calls": 20}

def forked(where):
    "Each form once: where the child is not ended, it goes on as a second trainer."
    if where not in FORKED and os.getpid() == TRAINER:
        FORKED.add(where)
        child = os.fork()
        if child:
            os.waitpid(child, 0)

def solve(y):
    forked("solve")
    return y

def cost(y, z):
    forked("cost")
    return float(np.abs(y + 1 - z).sum())

def solve_batch(y):
    forked("solve_batch")
    return y

def cost_batch(y, z):
    forked("cost_batch")
    return np.abs(y + 1 - z).sum(1)

def build():
    forked("factory")
    return solve, cost

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    batched = {"solve_batch": solve_batch, "cost_batch": cost_batch}
    for k, how in enumerate([{"solve": solve, "cost": cost}, batched, {"factory": build}]):
        options = {"folder": f"{sys.argv[1]}/{k}", "settings": FEW, "verbose": False}
        fs.DecisionRegressor(fs.Problem(**how), predictor="linear", **options).fit(X, X)
print("trainer" if os.getpid() == TRAINER else "second trainer", sorted(FORKED))
said = [str(one.message).partition(";")[0] for one in caught]
print(*[one for one in said if "also returns from it" in one], sep="\\n")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_serial_a_forked_child_that_returns_too_is_no_second_trainer(tmp_path):
    done = subprocess.run([sys.executable, "-c", FORKS, str(tmp_path)], capture_output=True, text=True, timeout=240)
    lines = done.stdout.splitlines()
    assert lines[0] == "trainer ['cost', 'cost_batch', 'factory', 'solve', 'solve_batch']", done.stderr
    names = ["solve", "cost", "solve_batch", "cost_batch", "factory"]
    assert lines[1:] == [f"`{name}` forks a process that also returns from it" for name in names]


def test_serial_costs_that_are_looked_at_are_those_that_are_paid_for_and_nan_where_a_call_fails():
    def cost(y, z):
        found = float(np.sum(y + z))
        y[:], z[:] = np.nan, np.nan  # may change its input
        if found == 30.0:
            raise RuntimeError("no")
        return {54.0: "54", 42.0: np.float32(42)}.get(found, found)

    sent, serial, z = [], Serial(problem(cost=cost)), 2 * Y
    serial.on_send = sent.append
    for decisions in (z, list(z)):
        found = serial.costs(ROWS, Y, decisions, again=lambda n: n)
        assert np.array_equal(found, [3.0, 15.0, 27.0, 39.0, 51.0, 63.0])
    assert sum(sent) == 12
    assert not np.isnan([Y, z]).any()
    odd = np.array([[1.0, 0.0], [14.0, 13.0], [14.0, 13.0], [28.0, 3.0]])  # two that are numbers, a text, an exception
    values = serial.costs(ROWS[:4], odd, np.array([[0.0, 1.0], [15.0, 0.0], [27.0, 0.0], [0.0, -1.0]]), again=int)
    assert np.array_equal(values, [2.0, 42.0, np.nan, np.nan], equal_nan=True)


def test_serial_a_child_that_is_forked_where_costs_are_looked_at_goes_no_further():
    def cost(y, z):
        if y[0] == 4:
            os.fork()
        return float(np.sum(y + z))

    serial, forked = Serial(problem(cost=cost)), []
    serial.on_fork = forked.append
    assert np.array_equal(serial.costs(ROWS, Y, 2 * Y, again=lambda n: n), 3 * Y.sum(axis=1))
    os.wait()
    serial.costs(ROWS[:1], Y[:1], Y[:1], again=lambda n: n)  # by now it is reported
    assert forked[:1] == ["cost"]


def test_serial_costs_of_known_decisions_are_charged_by_blocks_before_they_begin():
    sent, made = [], []
    serial = Serial(problem(cost=lambda y, z: made.append(1) or 1.0))
    serial.on_send = lambda n: sent.append((n, len(made)))
    many = np.tile(Y, (500, 1))
    assert serial.costs(np.arange(3000) % 6, many, many, again=lambda n: n).tolist() == [1.0] * 3000
    assert sum(n for n, _ in sent) == len(made) == 3000
    assert all(sum(n for n, _ in sent[:k]) == before for k, (_, before) in enumerate(sent))
    assert len(sent) < 300


def test_serial_slow_costs_of_known_decisions_are_charged_one_at_a_time():
    sent, serial = [], Serial(problem(cost=lambda y, z: time.sleep(0.02) or 1.0))
    serial.on_send = sent.append
    serial.costs(ROWS, Y, Y, again=lambda n: n)
    assert sent == [1] * 6
