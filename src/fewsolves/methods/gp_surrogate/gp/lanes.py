"""SIMD by hand: four float64 numbers in one vector register, as a number type of compiled functions.

    Lanes                 (x_0, x_1, x_2, x_3); + - * / and unary minus act on each of the four
    load, store           four consecutive entries of a C-contiguous float64 array, from a flat position on
    store_transposed      four registers as a 4 x 4 matrix, column by column
    splat, lane, total    one number in all four; one of the four; their sum
    maximum, sqrt, rint   of each lane; rint rounds to the nearest whole number
    where_above(x, t, a, b)    a where x > t, else b
    exp                   of each lane, within 2 units in the last place; exp(x) = 0 below -700, x <= 700 is assumed
    log                   of each lane, for positive normal x
    exponent, mantissa    x = mantissa * 2**exponent with 1 <= mantissa < 2, for positive normal x
    power_of_two          2**x for whole x between -1022 and 1023

One factorisation of a 40 x 40 matrix cannot fill a vector unit: its inner loops are short, and each waits for the one
before. Four examples side by side can, and every lane does the operations that a loop over the examples would do, in
the same order, so that no result depends on the neighbours. LLVM lowers the same code to AVX, SSE or NEON.

Of numba this uses more than its documented interface: the templates behind operators (`numba.core.typing.templates`),
LLVM instructions of our own (`llvmlite.ir`, `numba.core.cgutils`) and the stamp of its cache on disk
(`numba.core.caching`). None of them is promised from one minor version to the next, hence the upper bound in
pyproject.toml. What each name must compute stands in NumPy in `tests/methods/gp_surrogate/gp/test_lanes.py`: a newer
numba will do when that passes.
"""

from __future__ import annotations

import contextlib
import inspect
import operator
import warnings
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.caching import FunctionCache
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

WIDTH = 4

Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def _digest(folder: Path) -> str:
    """Of the Python sources in a folder."""
    digest = sha256()
    for file in sorted(folder.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


class _Cache(FunctionCache):
    """Machine code on disk, renewed when a source changes beside the function or beside this file.

    Numba renews it when the file of the function itself changes, and does not see what is inlined from other files.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        folders = Path(inspect.getfile(function)).parent, Path(__file__).parent
        file = self._cache_file
        file._source_stamp = (file._source_stamp, *map(_digest, folders))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Where it cannot be written (a full disk), it is compiled again next time."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def compiled(function: Function) -> Function:
    """Compile and keep on disk; release the interpreter lock; x/0 is inf instead of an exception.

    Of the fast-math licences only fused multiply-add is taken: NaN keeps its meaning and sums their order.
    A compiled function uses what lies in its own folder and in this one, nothing else of ours: see `_Cache`.
    """
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy", fastmath={"contract"})(function)
    try:
        dispatcher._cache = _Cache(function)
    except RuntimeError:
        _say_that_nothing_is_kept()
    return cast(Function, dispatcher)


@cache
def _say_that_nothing_is_kept() -> None:
    """Once."""
    warnings.warn(
        "neither the folder of fewsolves nor a cache folder in HOME can be written to, so the Gaussian processes are "
        "compiled anew by each process, for half a minute; set NUMBA_CACHE_DIR to a folder of yours",
        stacklevel=2,
    )


def inlined(function: Function) -> Function:
    """As `compiled`, for the pieces of an inner loop."""
    return cast(Function, numba.njit(forceinline=True, error_model="numpy", fastmath={"contract"})(function))


class LanesType(types.Type):
    def __init__(self) -> None:
        super().__init__(name="float64x4")


_lanes = LanesType()
_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_INTEGERS = ir.VectorType(ir.IntType(64), WIDTH)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes_type: Any) -> None:
        super().__init__(manager, lanes_type, _VECTOR)  # type: ignore[no-untyped-call]


def _define(symbol: Any, instruction: str, n_arguments: int) -> None:
    """Let the operator act on Lanes by one LLVM instruction."""
    cases = [signature(_lanes, *[_lanes] * n_arguments)]
    infer_global(symbol)(type(f"Lanes_{instruction}", (ConcreteTemplate,), {"cases": cases}))

    def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return getattr(builder, instruction)(*arguments)

    lower_builtin(symbol, *[_lanes] * n_arguments)(lower)


_define(operator.add, "fadd", 2)
_define(operator.sub, "fsub", 2)
_define(operator.mul, "fmul", 2)
_define(operator.truediv, "fdiv", 2)
_define(operator.neg, "fneg", 1)


def _call(builder: Any, name: str, *arguments: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(arguments))
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{WIDTH}f64"), arguments)


def _integers(number: int) -> Any:
    return ir.Constant(_INTEGERS, [number] * WIDTH)


def _address(context: Any, builder: Any, array_type: Any, array: Any, position: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [position]), _VECTOR.as_pointer())


def _load(typing_context: Any, array: Any, position: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, sig.args[0], *arguments), align=8)  # numpy promises no more

    return _lanes(array, types.intp), generate


def _store(typing_context: Any, array: Any, position: Any, vector: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _address(context, builder, sig.args[0], *arguments[:2]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, _lanes), generate


def _store_transposed(typing_context: Any, array: Any, position: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        def shuffle(left: Any, right: Any, *order: int) -> Any:
            mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), list(order))
            return builder.shuffle_vector(left, right, mask)

        array_value, start, v0, v1, v2, v3 = arguments
        even, odd = (0, 4, 2, 6), (1, 5, 3, 7)
        low, high = (0, 1, 4, 5), (2, 3, 6, 7)
        columns = [
            shuffle(shuffle(v0, v1, *pick), shuffle(v2, v3, *pick), *half)
            for half in (low, high)
            for pick in (even, odd)
        ]
        for k, column in enumerate(columns):
            at = builder.add(start, ir.Constant(start.type, WIDTH * k))
            builder.store(column, _address(context, builder, sig.args[0], array_value, at), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, _lanes, _lanes, _lanes, _lanes), generate


def _splat(typing_context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        vector = ir.Constant(_VECTOR, ir.Undefined)
        for k in range(WIDTH):
            vector = builder.insert_element(vector, arguments[0], ir.Constant(ir.IntType(32), k))
        return vector

    return _lanes(types.float64), generate


def _lane(typing_context: Any, vector: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return builder.extract_element(*arguments)

    return types.float64(_lanes, types.intp), generate


def _sqrt(typing_context: Any, vector: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return _call(builder, "sqrt", *arguments)

    return _lanes(_lanes), generate


def _rint(typing_context: Any, vector: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return _call(builder, "rint", *arguments)

    return _lanes(_lanes), generate


def _maximum(typing_context: Any, left: Any, right: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        # ordered comparison: a NaN on the left gives way to the right
        return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)

    return _lanes(_lanes, _lanes), generate


def _where_above(typing_context: Any, vector: Any, threshold: Any, yes: Any, no: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *arguments[:2]), *arguments[2:])

    return _lanes(_lanes, _lanes, _lanes, _lanes), generate


def _power_of_two(typing_context: Any, exponent: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        whole = builder.fptosi(arguments[0], ir.VectorType(ir.IntType(32), WIDTH))
        biased = builder.add(builder.sext(whole, _INTEGERS), _integers(1023))
        return builder.bitcast(builder.shl(biased, _integers(52)), _VECTOR)

    return _lanes(_lanes), generate


def _exponent(typing_context: Any, vector: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        biased = builder.lshr(builder.bitcast(arguments[0], _INTEGERS), _integers(52))
        narrow = builder.trunc(biased, ir.VectorType(ir.IntType(32), WIDTH))
        return builder.fsub(builder.sitofp(narrow, _VECTOR), ir.Constant(_VECTOR, [1023.0] * WIDTH))

    return _lanes(_lanes), generate


def _mantissa(typing_context: Any, vector: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        fraction = builder.and_(builder.bitcast(arguments[0], _INTEGERS), _integers((1 << 52) - 1))
        return builder.bitcast(builder.or_(fraction, _integers(1023 << 52)), _VECTOR)

    return _lanes(_lanes), generate


load: Any = intrinsic(_load)
store: Any = intrinsic(_store)
store_transposed: Any = intrinsic(_store_transposed)
splat: Any = intrinsic(_splat)
lane: Any = intrinsic(_lane)
sqrt: Any = intrinsic(_sqrt)
rint: Any = intrinsic(_rint)
maximum: Any = intrinsic(_maximum)
where_above: Any = intrinsic(_where_above)
power_of_two: Any = intrinsic(_power_of_two)
exponent: Any = intrinsic(_exponent)
mantissa: Any = intrinsic(_mantissa)


@inlined
def total(vector: Any) -> Any:
    return (lane(vector, 0) + lane(vector, 1)) + (lane(vector, 2) + lane(vector, 3))


@inlined
def exp(x: Any) -> Any:
    x_kept = maximum(x, splat(-700.0))
    k = rint(x_kept * splat(1.4426950408889634))
    r = x_kept - k * splat(6.93145751953125e-1)  # log 2 in two parts, the first with trailing zero bits
    r = r - k * splat(1.42860682030941723212e-6)
    r2 = r * r
    r4 = r2 * r2
    # Taylor polynomial of degree 12 on |r| <= log(2)/2, grouped so that its parts do not wait for one another
    low = (splat(1.0) + r) + r2 * (splat(1 / 2) + r * splat(1 / 6))
    middle = (splat(1 / 24) + r * splat(1 / 120)) + r2 * (splat(1 / 720) + r * splat(1 / 5040))
    high = (splat(1 / 40320) + r * splat(1 / 362880)) + r2 * (splat(1 / 3628800) + r * splat(1 / 39916800))
    polynomial = low + r4 * (middle + r4 * (high + r4 * splat(1 / 479001600)))
    return where_above(x, splat(-700.0), polynomial * power_of_two(k), splat(0.0))


@inlined
def log(x: Any) -> Any:
    m = mantissa(x)
    upper = where_above(m, splat(1.4142135623730951), splat(1.0), splat(0.0))
    m = m - m * (splat(0.5) * upper)  # now sqrt(1/2) <= m <= sqrt(2)
    e = exponent(x) + upper
    s = (m - splat(1.0)) / (m + splat(1.0))
    z = s * s  # at most 0.0295: log m = 2 artanh s, whose series then needs ten terms
    z2 = z * z
    z4 = z2 * z2
    low = splat(1 / 3) + z * splat(1 / 5) + z2 * (splat(1 / 7) + z * splat(1 / 9))
    high = splat(1 / 11) + z * splat(1 / 13) + z2 * (splat(1 / 15) + z * splat(1 / 17))
    series = low + z4 * (high + z4 * splat(1 / 19))
    return e * splat(6.93145751953125e-1) + (e * splat(1.42860682030941723212e-6) + splat(2.0) * (s + s * z * series))
