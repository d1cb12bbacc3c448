import sys

import pytest

from fewsolves.methods.gp_surrogate.gp import threads


class Torch:
    """As a module of that name."""

    @staticmethod
    def get_num_threads():
        return 3


@pytest.mark.parametrize(
    ("omp", "torch", "expected"), [("", None, 8), ("2", None, 2), ("0", None, 8), ("many", None, 8), ("5", Torch, 3)]
)
def test_threads_are_the_cores_unless_openmp_or_torch_are_given_fewer(omp, torch, expected, monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 8)
    monkeypatch.setenv("OMP_NUM_THREADS", omp)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert threads.allowed() == expected


def test_threads_take_each_example_once(monkeypatch):
    monkeypatch.setattr(threads, "allowed", lambda: 4)
    seen = []
    threads.on_threads(lambda part: seen.extend(range(part.start, part.stop)), 4 * threads.WORTH_THREADS + 1)
    assert sorted(seen) == list(range(4 * threads.WORTH_THREADS + 1))
