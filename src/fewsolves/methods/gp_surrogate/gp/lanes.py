"""How the functions of this folder are compiled, and the two elementary functions that they need many times.

    LANES                  examples side by side in a lane array (`gather`), along which vector units work
    compiled, inlined      decorators: machine code by numba, or plain Python and NumPy where numba cannot be imported
    exp, log               of each entry of an array, in place

One factorisation of a 10 x 10 matrix cannot fill a vector unit: its inner loops are short, and each waits for the one
before. Thirty-two examples side by side can: the innermost loop runs over examples, LLVM turns it into vector
instructions, and every example gets the operations that a loop over it alone would do, in the same order, so that no
result depends on the neighbours. LLVM does so only where it can prove that no array overlaps another with at most 8
comparisons, and where it does not unroll the loop first. Hence two habits of the kernels here: what is read and written
together lies in one row at constant offsets, and the number of lanes is an argument and no constant.

Of numba nothing but documented names is used: `njit` and its options, and `config.CACHE_DIR`.
"""

from __future__ import annotations

import inspect
import os
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

numba: Any
try:
    import numba
except ImportError:  # not installed, or too old for this Python or NumPy
    numba = None

LANES = 32 if numba else 64  # NumPy is paid by the call, so that more examples at once are better
MULTIPLE = 4  # of lanes in use and of the side of tiles: the numbers in a vector register of AVX2

Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def _digest(folder: Path) -> str:
    """Digest of the Python sources in a folder."""
    digest = sha256()
    for file in sorted(folder.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


@cache
def _folder_of_machine_code(folder: Path) -> Path | None:
    """The cache folder for machine code of functions in `folder`; its name depends on all sources that may be inlined.

    Numba by itself renews machine code when the file of the function changes, and does not see what is inlined from
    other files. None: nothing can be written anywhere.
    """
    digests = _digest(folder), _digest(Path(__file__).parent)
    name = "fewsolves-" + sha256("".join(digests).encode()).hexdigest()[:16]
    given = numba.config.CACHE_DIR
    own = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "fewsolves"
    for place in (Path(given),) if given else (folder / "__pycache__", own):
        try:
            kept = place.expanduser() / name
            kept.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=kept).close()
        except (OSError, RuntimeError):  # no right to write there, or no home
            continue
        return kept
    return None


def _kept(function: Callable[..., Any], **options: Any) -> Any:
    """The function compiled by numba, with its machine code on disk if possible."""
    folder = _folder_of_machine_code(Path(inspect.getfile(function)).resolve().parent)
    if folder is None:
        _warn_that_nothing_is_kept()
        return numba.njit(**options)(function)
    given = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)  # numba reads it when the decorator runs
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = given


@cache
def _warn_that_nothing_is_kept() -> None:
    """Once."""
    warnings.warn(
        "neither the folder of fewsolves nor a cache folder in HOME can be written to, so the Gaussian processes are "
        "compiled again by each process, for half a minute; set NUMBA_CACHE_DIR to a folder of yours",
        stacklevel=2,
    )


@cache
def warn_if_not_compiled() -> None:
    """Once, when Gaussian processes are made without numba."""
    if numba is None:
        warnings.warn(
            "numba cannot be imported, so the Gaussian processes run in NumPy: fitting them takes 50 to 150 times as "
            "long, and evaluating them 5 to 7 times as long; results differ by rounding alone. Install it: "
            "pip install 'fewsolves[fast]'",
            stacklevel=3,
        )


def compiled(function: Function | None = None, *, plain: Callable[..., Any] | None = None) -> Any:
    """Compile and keep on disk; release the interpreter lock; x/0 is inf instead of an exception.

    Of the fast-math licences only fused multiply-add is taken: NaN keeps its meaning and sums their order.
    A compiled function uses what lies in its own folder and in this one, nothing else of ours: see
    `_folder_of_machine_code`. plain: the same in NumPy, to be used without numba; by default the function itself.
    """
    if function is None:
        return lambda one: compiled(one, plain=plain)
    if numba is None:
        return plain or function
    return _kept(function, nogil=True, error_model="numpy", fastmath={"contract"})


def inlined(
    function: Function | None = None, *, plain: Callable[..., Any] | None = None, any_order: bool = False
) -> Any:
    """The same as `compiled`, for the pieces of an inner loop. any_order: sums may be taken in any order."""
    if function is None:
        return lambda one: inlined(one, plain=plain, any_order=any_order)
    if numba is None:
        return plain or function
    licences = {"contract", "reassoc"} if any_order else {"contract"}
    return numba.njit(forceinline=True, error_model="numpy", fastmath=licences)(function)


def lanes_of(n: int) -> int:
    """How many lanes n <= LANES examples take."""
    return -(-n // MULTIPLE) * MULTIPLE


lanes_in_use = inlined(lanes_of)

CHUNK = 1024  # numbers that stay in the first cache while several loops go over them
SHIFTER = 6755399441055744.0  # 1.5 * 2^52: adding it leaves the nearest whole number in the lowest bits
LOG2_HIGH, LOG2_LOW = 6.93145751953125e-1, 1.42860682030941723212e-6  # log 2; the first with trailing zero bits


def _exp(x: Any) -> None:
    np.exp(np.where(x > -700.0, x, -np.inf), out=x)


def _log(x: Any) -> None:
    np.log(x, out=x)


@compiled(plain=_exp)
def exp(x: Any) -> None:
    """Within 2 units in the last place for a vector x <= 700; 0 where x < -700 or NaN.

    exp(x) = 2^k exp(r) with whole k and |r| <= log(2) / 2. Written out, since LLVM has no vector form of `math.exp`.
    """
    shifted = np.empty(min(CHUNK, x.size))
    bits = shifted.view(np.int64)
    for first in range(0, x.size, CHUNK):
        part = x[first : first + CHUNK]
        for i in range(part.size):
            shifted[i] = (part[i] if part[i] > -700.0 else -700.0) * 1.4426950408889634 + SHIFTER
        for i in range(part.size):
            k = shifted[i] - SHIFTER
            r = (part[i] if part[i] > -700.0 else -700.0) - k * LOG2_HIGH
            r = r - k * LOG2_LOW
            r2 = r * r
            r4 = r2 * r2
            # Taylor polynomial of degree 12, grouped so that its parts do not wait for one another
            low = (1.0 + r) + r2 * (1 / 2 + r * (1 / 6))
            middle = (1 / 24 + r * (1 / 120)) + r2 * (1 / 720 + r * (1 / 5040))
            high = (1 / 40320 + r * (1 / 362880)) + r2 * (1 / 3628800 + r * (1 / 39916800))
            polynomial = low + r4 * (middle + r4 * (high + r4 * (1 / 479001600)))
            part[i] = polynomial if part[i] > -700.0 else 0.0
        for i in range(part.size):
            bits[i] = (bits[i] + 1023) << 52  # k is in the lowest bits, 2^k has k + 1023 in the exponent
        for i in range(part.size):
            part[i] *= shifted[i]


@compiled(plain=_log)
def log(x: Any) -> None:
    """The logarithm of a vector of positive normal numbers x = m 2^e, sqrt(1/2) <= m <= sqrt(2).

    log m = 2 artanh((m - 1) / (m + 1)).
    """
    exponents = np.empty(x.size)
    bits, to = x.view(np.int64), exponents.view(np.int64)
    for i in range(x.size):
        to[i] = (bits[i] >> 52) | 0x4330000000000000  # the number 2^52 + e + 1023
        bits[i] = (bits[i] & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000  # 1 <= m < 2
    for i in range(x.size):
        upper = 1.0 if x[i] > 1.4142135623730951 else 0.0
        m = x[i] - x[i] * (0.5 * upper)
        e = (exponents[i] - 4503599627370496.0) - 1023.0 + upper
        s = (m - 1.0) / (m + 1.0)
        z = s * s  # at most 0.0295, so that ten terms of the series do
        z2 = z * z
        z4 = z2 * z2
        low = 1 / 3 + z * (1 / 5) + z2 * (1 / 7 + z * (1 / 9))
        high = 1 / 11 + z * (1 / 13) + z2 * (1 / 15 + z * (1 / 17))
        series = low + z4 * (high + z4 * (1 / 19))
        x[i] = e * LOG2_HIGH + (e * LOG2_LOW + 2.0 * (s + s * z * series))
