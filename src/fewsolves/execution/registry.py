"""Registry of executions: `SolveConfig(execution=)` names one of them.

Every module of this folder that is an execution ends in `register(name, start)`, and so does a module of your own:

    start    (problem, resources) -> Execution; raises InputError where it cannot keep to the resources
    address  `host:port` or `ray://host:port` is no name: it is the cluster that the execution "ray" shall join
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module

from fewsolves import execution
from fewsolves.errors import InputError
from fewsolves.execution.base import Execution, Resources
from fewsolves.problem import Problem

Start = Callable[[Problem, Resources], Execution]
EXECUTION_NAME = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
ADDRESS = re.compile(r"(ray://)?([\w.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]+", re.ASCII)
AUTO = "auto"  # chosen by the other settings of `SolveConfig`

_STARTS: dict[str, Start] = {}


def register(name: str, start: Start) -> None:
    """Register an execution under a name; your own names may be registered again, those of the library may not."""
    if not EXECUTION_NAME.fullmatch(name):
        raise InputError(
            f"the name of an execution has letters, digits, '-' and '_', and begins with a letter; got {name!r}"
        )
    of_the_library = (getattr(start, "__module__", None) or "").startswith(f"{execution.__name__}.")
    if not of_the_library and (name == AUTO or name in _modules()):
        raise InputError(f"{name!r} is a name that fewsolves uses; choose another")
    _STARTS[name] = start


def names() -> tuple[str, ...]:
    """All that are registered."""
    _load()
    return tuple(sorted(_STARTS))


def find(name: str) -> Start:
    """What starts the execution of this name, or on the Ray cluster at this address."""
    _load()
    if name in _STARTS:
        return _STARTS[name]
    if ADDRESS.fullmatch(name):
        on_ray: Callable[..., Execution] = _STARTS["ray"]
        return partial(on_ray, address=name)
    known = ", ".join(repr(one) for one in (AUTO, *names()))
    raise InputError(
        f"execution is {known}, or the address of a Ray cluster (host:port, ray://host:port), got {name!r}; "
        "fewsolves.execution.register adds one of your own"
    )


@cache
def _load() -> None:
    for name in _modules():
        import_module(f"{execution.__name__}.{name}")


@cache
def _modules() -> tuple[str, ...]:
    return tuple(module.name for module in pkgutil.iter_modules(execution.__path__))
