"""Small work on one thread: no others are started, which would wait for it at full speed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from fewsolves._internal.threads import MIN_WORK_FOR_BLAS_THREADS, _blas, blas_for, product


def blas_threads():
    """Of each library behind the products of NumPy and SciPy; other tests may have loaded more of them."""
    return {one["filepath"]: one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.mark.parametrize("work, small", [(MIN_WORK_FOR_BLAS_THREADS - 1, True), (MIN_WORK_FOR_BLAS_THREADS, False)])
def test_threads_of_numpy_are_for_large_work_and_given_back(work, small):
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        with pytest.raises(KeyError), blas_for(work):
            inside = blas_threads()
            raise KeyError
        assert blas_threads() == before
    ours = [library["filepath"] for library in _blas().info()]
    assert {inside[path] for path in ours} == ({1} if small else {before[path] for path in ours})


def test_threads_a_product_is_what_numpy_finds():
    a, b = np.random.default_rng(0).normal(size=(2, 7, 7))
    assert np.array_equal(product(a, b.T), a @ b.T)


STEPS = """
import os, numpy as np
from fewsolves._internal.adam import Adam
from fewsolves.predictors.predictor import network
net, x = network(5, 50, seed=0), np.random.default_rng(0).normal(size=(32, 5))
before = len(os.listdir("/proc/self/task"))
adam = Adam(net.weights(), 0.01)
y, kept = net.forward(x)
adam.step(net.backward(2 * y, kept))
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts threads by /proc")
def test_threads_steps_of_a_small_network_start_no_thread():
    variables = {"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", STEPS], capture_output=True, text=True, env=os.environ | variables)
    assert done.stdout.split() == ["0"], done.stdout + done.stderr
