"""Options that several commands share, most of them made by settings; the input of a command is in `given`.

A setting becomes an option of its name, type, default and meaning; the command gets the checked object that they fill.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click

from fewsolves._internal.text import clean
from fewsolves.errors import InputError
from fewsolves.oracle import Budget, SolveConfig
from fewsolves.settings import Setting, settings_of

Command = Callable[..., None]


class _Folder(click.Path):
    """A path; not the empty one of a shell variable that is not set, which would be the working directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("it is empty; give the path of a folder, or . for the working directory", param, ctx)
        return super().convert(value, param, ctx)


FOLDER = _Folder(path_type=Path, file_okay=False)


@contextlib.contextmanager
def usage() -> Iterator[None]:
    """A wrong name or value in an option is wrong usage, with exit code 2."""
    try:
        yield
    except InputError as error:
        raise click.UsageError(clean(str(error))) from error


def method_names(ctx: click.Context, option: click.Parameter, begun: str) -> list[str]:
    """Methods whose names begin so, for the completion of a shell."""
    from fewsolves.methods.registry import METHODS

    return [name for name in METHODS if name.startswith(begun)]


def on_one_thread(command: Command) -> Command:
    """For commands that train: the networks are small, and a second thread costs more than it brings."""

    @functools.wraps(command)
    def call(**given: Any) -> None:
        if (torch := sys.modules.get("torch")) is not None:
            torch.set_num_threads(1)
        command(**given)

    return call


def solving_options(command: Command) -> Command:
    """How solves run; the command gets `solving`, a SolveConfig."""
    return _from_settings(command, "solving", SolveConfig, "--{}")


def budget_options(command: Command) -> Command:
    """Options that limit the calls; the command gets `budget`, a Budget. The former names, --max-..., still work."""
    return _from_settings(command, "budget", Budget, "--budget-{}", "--max-{}")


def json_option(command: Command) -> Command:
    """--json: the command gets `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")(command)


def echo_json(value: Any) -> None:
    """Print plain data; numbers that are not finite become null, since JSON has none."""
    click.echo(json.dumps(_plain(value), indent=1, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(dataclasses.asdict(value))
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def assignments(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE pairs, as a callback of an option."""
    return read_assignments(given)


def read_assignments(given: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE pairs; a value is read as JSON where it is JSON, else it is text."""
    values = {}
    for assignment in given:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise click.BadParameter(f"{assignment!r} is not NAME=VALUE")
        try:
            values[name] = json.loads(text)
        except json.JSONDecodeError:
            values[name] = text
    return values


def _from_settings(command: Command, name: str, config: type, *patterns: str) -> Command:
    listed = settings_of(config)

    @functools.wraps(command)
    def call(**given: Any) -> None:
        values = {one.name: given.pop(f"{name}_{one.name}") for one in listed}
        with usage():
            made_of_them = config(**values)
        command(**given, **{name: made_of_them})

    made: Command = call
    for one in reversed(listed):
        flags = [pattern.format(one.name.replace("_", "-")) for pattern in patterns]
        made = click.option(*flags, f"{name}_{one.name}", **_described(one))(made)
    return made


def _described(one: Setting) -> dict[str, Any]:
    """Type, default and help of an option."""
    kind = next(kind for kind in (*get_args(one.kind), one.kind) if kind is not type(None))
    common = {"default": None if one.default is dataclasses.MISSING else one.default, "help": _sentence(one.meaning)}
    if one.kind is bool:
        return {**common, "is_flag": True}
    if get_origin(one.kind) is Literal:
        return {**common, "type": click.Choice(get_args(one.kind))}
    return {**common, "type": kind}


def _sentence(meaning: str) -> str:
    """The help of an option; what None means is its default, since None cannot be given in a terminal."""
    meaning, none, default = meaning.partition("; None: ")
    return f"{meaning[:1].upper()}{meaning[1:]}." + (f"  [default: {default}]" if none else "")
