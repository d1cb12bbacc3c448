"""Split the examples over threads where that pays."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from fewsolves._internal.platform import cores
from fewsolves.methods.gp_surrogate.gp.lanes import LANES

WORTH_THREADS = 2000  # examples per thread; with fewer the threads wait for one another


def on_threads(work: Callable[[slice], None], n: int) -> None:
    """Run `work` on slices of n examples, on at most `allowed` threads.

    Kernels release the interpreter lock, and no result depends on the split.
    """
    n_threads = n // WORTH_THREADS
    if n_threads > 1:
        n_threads = min(n_threads, allowed())
    if n_threads <= 1:
        if n:
            work(slice(0, n))
        return
    size = -(-n // (4 * n_threads * LANES)) * LANES  # several parts per thread, since the last examples are larger
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(work, [slice(k, min(k + size, n)) for k in range(0, n, size)]))


def allowed() -> int:
    """The cores of this process; fewer by OMP_NUM_THREADS, or by torch.set_num_threads where torch is in use."""
    limits, given, torch = [cores()], os.environ.get("OMP_NUM_THREADS", ""), sys.modules.get("torch")
    if given.isdecimal() and int(given):
        limits.append(int(given))
    if torch is not None:
        limits.append(torch.get_num_threads())
    return min(limits)
