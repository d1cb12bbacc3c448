"""The delay is per solve, also within a batch, and changes nothing else."""

import pickle
import time

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.demo.slow import slow
from fewsolves.errors import InputError
from fewsolves_studies.benchmarks.catalogue import load


def seconds(call, *arguments):
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def test_slow_each_solve_takes_its_time_and_costs_do_not_change():
    benchmark = load("wsmc-10-50", n=5)
    late = pickle.loads(pickle.dumps(slow(benchmark.problem, 0.01)))
    assert seconds(late.solve, benchmark.Y[0]) >= 0.01
    assert seconds(late.solve_batch, benchmark.Y) >= 0.05
    assert np.array_equal(late.solve_batch(benchmark.Y), benchmark.problem.solve_batch(benchmark.Y))
    assert late.cost(benchmark.Y[0], late.solve(benchmark.Y[0])) == benchmark.problem.cost(
        benchmark.Y[0], benchmark.problem.solve(benchmark.Y[0])
    )


def test_slow_negative_delays_are_refused():
    for seconds in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="seconds must be >= 0 and at most 1e"):
            slow(load("toy-64", n=2).problem, seconds)


def test_slow_what_a_factory_makes_is_slowed_too():
    problem = slow(fs.Problem(factory=lambda: (lambda y: y, lambda y, z: 0.0)), 0.01)
    began = time.perf_counter()
    problem.build().solve(np.ones(2))
    assert time.perf_counter() - began >= 0.01
