"""Decisions of any kind as JSON text, for memory, ledger and the pipes of workers; nothing is ever pickled.

    an array of numbers, a number, a flat list or tuple of numbers    stays an array, and is no JSON
    text; lists, tuples, named tuples, sets, dicts                    JSON, with what is in them
    in these: None, True, False, numbers, text, arrays, numbers of numpy, data frames and series of pandas, and these
    anything else                                                     refused; `Problem(encode=)` makes one of the above

What comes back is what went in: the types too. JSON has fewer of them, so others are objects with the name of their
type under "!". A named tuple is of its class again where that is loaded, else of one with the same names.
"""

from __future__ import annotations

import base64
import functools
import json
import sys
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from fewsolves.problem import Array

TYPE = "!"
ARRAY_KINDS = "biufcSUmM"  # of arrays inside of other things
_NUMBERS = (bool, int, float, np.bool_, np.number)


class Encoded(bytes):
    """The text of one decision, UTF-8."""


def as_decision(value: Any) -> Array | Encoded:
    """An array of numbers, a copy; or the text of anything else. TypeError, ValueError where it is neither."""
    if type(value) is not np.ndarray:  # nearly always it is one, and further checks are slow
        if isinstance(value, Encoded):
            return value
        if isinstance(value, str | dict | set | frozenset) or hasattr(value, "_fields") or _is_pandas(value):
            return encode(value)
        if isinstance(value, list | tuple) and not all(isinstance(one, _NUMBERS) for one in value):
            return encode(value)
        if np.ma.isMaskedArray(value):
            if np.ma.getmaskarray(value).any():
                raise TypeError("it is a masked array with masked entries; fill them")
            value = value.data
    z = np.array(value)  # a copy: the solver may use its buffer again
    if z.dtype.kind not in "biuf":
        raise TypeError(
            f"a {type(value).__name__} is not an array of numbers and cannot be stored; give Problem(encode=)"
        )
    if z.dtype.kind == "f" and not np.isfinite(z).all():
        raise ValueError("NaN or inf")
    return z


def encode(value: Any) -> Encoded:
    """The text of a value; TypeError where it has a part that cannot be kept."""
    return Encoded(json.dumps(_plain(value), separators=(",", ":")).encode())


def decode(text: bytes) -> Any:
    """The value again, an object of its own; ValueError where the text is not what `encode` writes."""
    try:
        return _value(json.loads(text))
    except (KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise ValueError(f"this is not a decision: {type(error).__name__} {error}") from error


def _plain(value: Any) -> Any:
    """As JSON has it."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list:
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        if all(type(name) is str for name in value) and TYPE not in value:
            return {name: _plain(one) for name, one in value.items()}
        return {TYPE: "dict", "items": [[_plain(name), _plain(one)] for name, one in value.items()]}
    if isinstance(value, tuple | set | frozenset):
        return _plain_collection(value)
    if isinstance(value, np.ndarray | np.generic):
        return _plain_array(np.asarray(value)) | ({} if isinstance(value, np.ndarray) else {TYPE: "scalar"})
    if _is_pandas(value):
        return _plain_pandas(value)
    raise TypeError(f"a {kind.__module__}.{kind.__qualname__} cannot be stored; give Problem(encode=)")


def _plain_collection(value: Any) -> dict[str, Any]:
    kind = type(value)
    if kind in (tuple, list):
        return {TYPE: kind.__name__, "items": [_plain(one) for one in value]}
    if kind in (set, frozenset):  # in one order, whatever the hashes are
        return {TYPE: kind.__name__, "items": sorted((_plain(one) for one in value), key=json.dumps)}
    if hasattr(value, "_fields"):
        named = {"module": kind.__module__, "name": kind.__qualname__, "fields": list(value._fields)}
        return {TYPE: "named", **named, "items": [_plain(one) for one in value]}
    raise TypeError(f"a {kind.__module__}.{kind.__qualname__} cannot be stored; give Problem(encode=)")


def _plain_array(value: Array) -> dict[str, Any]:
    if value.dtype.kind == "O":
        return {TYPE: "objects", "shape": list(value.shape), "items": [_plain(one) for one in value.ravel()]}
    if value.dtype.kind not in ARRAY_KINDS:
        raise TypeError(f"an array of {value.dtype} cannot be stored; give Problem(encode=)")
    little = value.astype(value.dtype.newbyteorder("<"), copy=False)
    data = base64.b64encode(little.tobytes()).decode()
    return {TYPE: "array", "dtype": little.dtype.str, "shape": list(value.shape), "data": data}


def _plain_pandas(value: Any) -> dict[str, Any]:
    if hasattr(value, "columns"):
        columns = [_plain_column(value.iloc[:, k]) for k in range(value.shape[1])]
        names = [_plain(name) for name in value.columns]
        return {TYPE: "frame", "names": names, "columns": columns, "index": _plain_column(value.index)}
    column = _plain_column(value)
    return {TYPE: "series", "name": _plain(value.name), "column": column, "index": _plain_column(value.index)}


def _plain_column(value: Any) -> dict[str, Any]:
    if getattr(value, "nlevels", 1) > 1 or str(value.dtype) == "category":
        raise TypeError("a data frame with a multi-index or categories cannot be stored; give Problem(encode=)")
    if isinstance(value.dtype, np.dtype):
        return _plain_array(value.to_numpy())
    items = [None if one is not one or repr(one) == "<NA>" else _plain(one) for one in value]
    return {TYPE: "column", "dtype": str(value.dtype), "items": items}


def _value(plain: Any) -> Any:
    """What `_plain` made it of."""
    if isinstance(plain, list):
        return [_value(one) for one in plain]
    if not isinstance(plain, dict):
        return plain
    if TYPE not in plain:
        return {name: _value(one) for name, one in plain.items()}
    return _OF_TYPE[plain[TYPE]](plain)


def _items(plain: dict[str, Any]) -> list[Any]:
    return [_value(one) for one in plain["items"]]


def _array(plain: dict[str, Any]) -> Array:
    dtype = np.dtype(plain["dtype"])
    if dtype.kind not in ARRAY_KINDS or dtype.hasobject:
        raise ValueError(f"an array of {dtype}")
    content = base64.b64decode(plain["data"], validate=True)
    array: Array = np.frombuffer(content, dtype=dtype).reshape(plain["shape"]).astype(dtype.newbyteorder("="))
    return array


def _objects(plain: dict[str, Any]) -> Array:
    array = np.empty(len(plain["items"]), dtype=object)
    array[:] = _items(plain)
    return array.reshape(plain["shape"])


def _named(plain: dict[str, Any]) -> Any:
    fields = tuple(plain["fields"])
    found: Any = sys.modules.get(plain["module"])  # never imported: a text decides nothing about what is run
    for part in plain["name"].split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, tuple) and getattr(found, "_fields", None) == fields):
        found = _made_up(plain["name"].rsplit(".", 1)[-1], fields)
    return tuple.__new__(found, _items(plain))


@functools.lru_cache(maxsize=256)
def _made_up(name: str, fields: tuple[str, ...]) -> Any:
    return namedtuple(name, fields)


def _pandas(plain: dict[str, Any]) -> Any:
    import pandas

    def column(one: dict[str, Any]) -> Any:
        return pandas.array(_items(one), dtype=one["dtype"]) if one[TYPE] == "column" else _value(one)

    index = pandas.Index(column(plain["index"]))
    if plain[TYPE] == "series":
        return pandas.Series(column(plain["column"]), index=index, name=_value(plain["name"]))
    frame = pandas.DataFrame({k: column(one) for k, one in enumerate(plain["columns"])}, index=index)
    frame.columns = pandas.Index(_value(plain["names"]))
    return frame


_OF_TYPE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": lambda plain: {_value(name): _value(one) for name, one in plain["items"]},
    "tuple": lambda plain: tuple(_items(plain)),
    "set": lambda plain: set(_items(plain)),
    "frozenset": lambda plain: frozenset(_items(plain)),
    "named": _named,
    "array": _array,
    "scalar": lambda plain: _array(plain)[()],
    "objects": _objects,
    "frame": _pandas,
    "series": _pandas,
}


def _is_pandas(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "iloc")
