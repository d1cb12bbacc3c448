"""What a value consists of, so that two of them can be compared: its own bytes and named parts.

Numbers, text, arrays, frames, lists, dicts, sets, functions, classes and modules of the user have parts, and objects
have their attributes. An object of a C library is complete only if it says itself how it is copied (`__reduce_ex__`);
models of known libraries are read by `ledger.identity.models`. The rest cannot be looked into: `None`.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import copyreg
import functools
import io
import marshal
import random
import threading
import types
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from hashlib import blake2b
from pathlib import PurePath
from typing import Any

import numpy as np

from fewsolves.ledger.identity.models import model_state
from fewsolves.ledger.identity.objects import class_source, is_library, module_data, object_state
from fewsolves.ledger.identity.reads import Reach, Source, class_reads, of_object, read_by
from fewsolves.ledger.identity.scope import Assigned, reads_outside

EXACT = (type(None), bool, int, float, complex, str, bytes, date, time, timedelta, Decimal, Fraction)
PLAIN_KINDS = {type(None), bool, int, float, str, bytes}
MANY = 100  # plain values in one list, which then are one part
MARSHAL = 2  # the format whose bytes depend on nothing but the values
OF_PYTHON = "(vectorized)"  # end of the name of what `np.frompyfunc` makes of a function that it does not show
OPAQUE = ("logging", "threading", "_thread", "_io", "io", "socket", "subprocess", "weakref", "multiprocessing")

Parts = Sequence[tuple[str, Any]]


@dataclass(frozen=True)
class State:
    """The bytes of a value itself, and its parts by name; `whole` is False where more is hidden in it."""

    own: bytes
    parts: Parts = ()
    whole: bool = True


def state_of(value: Any, reach: Reach) -> State | None:
    """None if the value cannot be inspected."""
    with contextlib.suppress(Exception):  # an object may do anything when it is looked at
        for look in (_of_plain, _of_array, _of_code, _of_model, _of_collection, _of_object):
            found = look(value, reach)
            if found is not None:
                return State(f"{type(value).__qualname__}:".encode() + found.own, found.parts, found.whole)
    return None


def _of_plain(value: Any, reach: Reach) -> State | None:
    if isinstance(value, Source):
        return State(value.text)
    if type(value) is int:
        return State(hex(value).encode())  # of any length
    if type(value) in EXACT or isinstance(value, PurePath) or value is Ellipsis:
        return State(repr(value).encode("utf-8", "surrogatepass"))
    if isinstance(value, bytearray | memoryview):
        return State(bytes(value))
    if isinstance(value, np.generic) and not isinstance(value, np.void):
        return State(value.dtype.str.encode() + value.tobytes())
    if isinstance(value, contextvars.ContextVar):
        return State(
            value.name.encode(), [("", contextvars.copy_context().get(value, _NOTHING)), ("", _default(value))]
        )
    if isinstance(value, threading.local):
        return State(b"", [(f".{name}", held) for name, held in sorted(vars(value).items())])
    if isinstance(value, io.StringIO | io.BytesIO):
        return State(b"", [("", value.getvalue())])
    return None


_NOTHING = "nothing"


def _default(variable: contextvars.ContextVar[Any]) -> Any:
    try:
        return contextvars.Context().run(variable.get)
    except LookupError:
        return _NOTHING


def _of_array(value: Any, reach: Reach) -> State | None:
    kind = type(value)  # an object may answer for any attribute as it likes
    if hasattr(kind, "to_numpy") and hasattr(kind, "index"):  # of pandas
        labels = [(".index", list(value.index)), (".columns", list(getattr(value, "columns", ())))]
        names = [
            (".names", [list(one.names) for one in value.axes]),
            (".kinds", list(map(_column_kind, _dtypes(value)))),
        ]
        return State(
            b"", [*labels, *names, (".values", value.to_numpy()), (".attrs", dict(getattr(value, "attrs", {})))]
        )
    if hasattr(kind, "tocoo") and hasattr(kind, "nnz"):  # of scipy
        sparse = value.tocoo()
        return State(repr(sparse.shape).encode(), [(".coords", list(sparse.coords)), (".data", sparse.data)])
    if hasattr(kind, "detach") and hasattr(kind, "numpy"):  # of torch
        value = value.detach().cpu().numpy()
    if not isinstance(value, np.ndarray):
        return None
    own = f"{value.dtype.str}{value.shape}".encode()
    extra = [(f".{name}", one) for name, one in getattr(value, "__dict__", {}).items()]
    if isinstance(value, np.ma.MaskedArray):
        extra = [(".mask", np.ma.getmaskarray(value))]
        value = value.filled()
    if value.dtype.hasobject:
        return State(own, [*((f"[{k}]", one) for k, one in enumerate(value.ravel().tolist())), *extra])
    return State(own + blake2b(np.ascontiguousarray(value).tobytes(), digest_size=16).digest(), extra)


def _dtypes(table: Any) -> list[Any]:
    return list(table.dtypes) if hasattr(table, "columns") else [table.dtype]


def _column_kind(dtype: Any) -> list[Any]:
    """Its name, and the categories that a column has, those without a row too."""
    categories = getattr(dtype, "categories", None)
    return [str(dtype), None if categories is None else list(categories)]


def _of_code(value: Any, reach: Reach) -> State | None:
    if isinstance(value, types.ModuleType):
        name = value.__name__.encode()
        return State(name) if is_library(value) else State(name, [(f".{k}", v) for k, v in module_data(value).items()])
    if isinstance(value, type):
        return _of_class(value, reach)
    if reads_outside(value):
        return State(str(getattr(value, "__qualname__", "")).encode(), whole=False)
    if isinstance(value, types.BuiltinFunctionType) and not isinstance(value.__self__, types.ModuleType | None):
        return State(value.__name__.encode(), [(".__self__", value.__self__)])
    if isinstance(value, np.ufunc) and value.__name__.endswith(OF_PYTHON):
        return State(value.__name__.encode(), whole=False)
    if isinstance(
        value, types.BuiltinFunctionType | types.MethodDescriptorType | types.WrapperDescriptorType | np.ufunc
    ):
        return State(f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)!s}".encode())
    if isinstance(value, types.FunctionType | types.MethodType | functools.partial):
        return _of_function(value, reach)
    if isinstance(getattr(value, "__wrapped__", None), types.FunctionType) and callable(value):  # of lru_cache
        return _of_function(value, reach)
    return None


def _of_class(value: type, reach: Reach) -> State:
    name = f"{value.__module__}.{value.__qualname__}".encode()
    if is_library(value):
        return State(name)
    return State(
        name + class_source(value), [(f" {path}", held) for path, held in class_reads(value, "", reach.again())]
    )


def _of_function(value: Any, reach: Reach) -> State:
    if is_library(value) and isinstance(value, types.FunctionType):
        return State(f"{value.__module__}.{value.__qualname__}".encode())
    return State(b"", [(f" {path}", held) for path, held in read_by(value, reach.again())])


def _of_model(value: Any, reach: Reach) -> State | None:
    parts = model_state(value)
    if parts is None:
        return None
    own = [] if is_library(type(value)) else list(of_object(value, "", reach.again()))
    return State(b"", [*parts.items(), *own])


def _of_collection(value: Any, reach: Reach) -> State | None:
    extra = _extra(value)
    if isinstance(value, Mapping):
        named = sorted(((_word(key, reach), key, held) for key, held in value.items()), key=lambda one: one[0])
        keys = [(".keys", [key for _, key, _ in named])]
        return State(b"", [*keys, *((f"[{word}]", held) for word, _, held in named), *extra])
    if isinstance(value, AbstractSet):
        return State(b"", [("", sorted(digest_alone(one, reach) for one in value)), *extra])
    if type(value) in (list, tuple) and len(value) > MANY and PLAIN_KINDS.issuperset(map(type, value)):
        return State(blake2b(marshal.dumps(value, MARSHAL), digest_size=16).digest())
    if isinstance(value, list | tuple | collections.deque | collections.UserList):
        return State(b"", [*((f"[{k}]", one) for k, one in enumerate(value)), *extra])
    return None


def _extra(value: Any) -> list[tuple[str, Any]]:
    """Attributes of a collection of a class of its own."""
    held = {} if type(value) in (dict, list, tuple, set, frozenset) else object_state(value)
    if isinstance(value, collections.defaultdict):
        held["default_factory"] = value.default_factory
    return [(f".{name}", one) for name, one in sorted(held.items())]


def _of_object(value: Any, reach: Reach) -> State | None:
    kind = type(value)
    own = b"" if is_library(kind) else class_source(kind)
    if isinstance(value, Enum):
        return State(value.name.encode(), [("", value.value)])
    if isinstance(value, np.random.Generator):
        return State(own, [(".state", value.bit_generator.state)])
    if isinstance(value, random.Random):
        return State(own, [(".state", value.getstate())])
    if kind.__module__.split(".")[0] in OPAQUE:
        return None
    if isinstance(value, types.GeneratorType | types.CoroutineType | types.FrameType):
        return None
    parts = list(of_object(value, "", reach.again()))
    copied = _copied(value)
    if copied is None:
        return State(own, parts, whole=False) if parts else None
    return State(own, parts + [("", one) for one in copied])


def _copied(value: Any) -> list[Any] | None:
    """What is needed to copy an object besides its attributes; None if it cannot be copied: it holds more."""
    kind: Any = type(value)
    bases: tuple[Any, ...] = (str, bytes, int, float, complex)  # with a class of its own
    for base in bases:
        if isinstance(value, base):
            return [base(value)]
    by_default = _copied_by_default(kind)
    if by_default and any("__getstate__" in vars(one) for one in kind.__mro__[:-1]):
        if not is_library(kind):
            return []  # it leaves out what it likes
        by_default = hasattr(value, "__dict__")  # an object of a C library has its state there alone
    try:
        given = copyreg.dispatch_table.get(kind)
        reduced = value.__reduce_ex__(4) if given is None else given(value)
    except Exception:
        return None
    if by_default or isinstance(reduced, str):
        return [] if by_default else [reduced]
    parts: list[Any] = list(reduced[1:])
    return [list(one) if hasattr(one, "__next__") else one for one in parts]


def _copied_by_default(kind: Any) -> bool:
    """Whether its objects are copied as Python does without a word of their class."""
    own = any(getattr(kind, name) is not getattr(object, name) for name in ("__reduce_ex__", "__reduce__"))
    return not own and kind not in copyreg.dispatch_table


def digest_alone(value: Any, reach: Reach) -> str:
    """A digest of a value that stands by itself, as the key of a dict or in a set."""
    state = state_of(value, reach)
    if state is None:
        return type(value).__qualname__
    digest = blake2b(state.own, digest_size=12)
    for name, part in state.parts:
        digest.update(f"{name}={digest_alone(part.value if isinstance(part, Assigned) else part, reach)};".encode())
    return digest.hexdigest()


def _word(key: Any, reach: Reach) -> str:
    short = isinstance(key, EXACT) and type(key) in EXACT and len(repr(key)) <= 60
    return repr(key) if short else digest_alone(key, reach)
