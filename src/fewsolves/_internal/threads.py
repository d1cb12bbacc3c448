"""One thread for small work.

The BLAS of NumPy shares a product of some thousand numbers out to all cores. The threads that have nothing to do then
wait at full speed, and where others use the machine they hold up the one that works
(`studies/src/fewsolves_studies/measure/speed.py`, the cases that end in "all threads"). What the user's functions
compute is left alone.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

MIN_WORK_FOR_BLAS_THREADS = 200_000_000  # here they wait for a tenth of a second after each product


def product(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """a @ b by NumPy."""
    with blas_for(a.size * b.shape[-1]):
        return np.asarray(a @ b)


def blas_for(work: int) -> AbstractContextManager[Any]:
    """While it is entered NumPy and SciPy multiply on one thread, unless there is `work` for more."""
    limit: AbstractContextManager[Any] = _blas().limit(limits=1) if work < MIN_WORK_FOR_BLAS_THREADS else nullcontext()
    return limit


@cache
def _blas() -> Any:
    """The libraries behind their products; to find them takes a few milliseconds."""
    return ThreadpoolController().select(user_api="blas")
