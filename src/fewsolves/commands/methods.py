"""`fewsolves methods [NAME]`: the methods, or the settings of one of them."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from fewsolves._internal.text import text_width
from fewsolves.commands.options import echo_json, json_option, method_names
from fewsolves.errors import InputError
from fewsolves.settings import settings_of

TEXT_WIDTH, LIST_WIDTH, NAME_WIDTH = 100, 400, 25  # columns at most: of settings, of the list, of a name in it


@click.command(short_help="List the methods, or the settings of one.")
@click.argument("name", required=False, shell_complete=method_names)
@json_option
def methods(name: str | None, as_json: bool) -> None:
    """List the methods; with NAME, its settings with their defaults and meanings."""
    from fewsolves.methods.base import GradientTrainer
    from fewsolves.methods.registry import DEFAULT, METHODS, find_method

    if name is None:
        listed = sorted(METHODS.values(), key=lambda method: method.name != DEFAULT)
        if as_json:
            echo_json([{"name": m.name, "summary": m.summary, "default": m.name == DEFAULT} for m in listed])
            return
        for method in listed:
            summary = f"{method.summary}{' (the default)' * (method.name == DEFAULT)}"
            room = text_width(LIST_WIDTH)
            beside = room > 2 * NAME_WIDTH  # else below its name
            lead = f"{method.name:{NAME_WIDTH}s}" if beside else f"{method.name}\n  "
            indent = " " * (NAME_WIDTH if beside else 2)
            click.echo(lead + f"\n{indent}".join(textwrap.wrap(summary, room - len(indent))))
        return
    try:
        method = find_method(name).with_settings({})
    except InputError as error:
        raise click.UsageError(str(error)) from error
    if as_json:
        known = [
            {"name": one.name, "default": one.default, "meaning": one.meaning, "allowed": one.allowed}
            for one in [*settings_of(method.settings), *settings_of(method.common)]
        ]
        echo_json({"name": method.name, "summary": method.summary, "settings": known})
        return
    click.echo(f"{method.name}: {method.summary}\n")
    click.echo(f'Give a setting by --set NAME=VALUE, or by settings={{"NAME": VALUE}}.\n\nOf {method.name}:')
    _list(method.settings)
    loop = isinstance(method, GradientTrainer)
    click.echo(f"\nOf the {'training loop' if loop else 'start'}:")
    _list(method.common)


def _list(config: Any) -> None:
    listed = settings_of(config)
    for one in listed:
        description = f"{one.meaning}; {one.allowed}" if one.meaning else one.allowed
        click.echo(f"  {one.name} = {one.default!r}")
        click.echo(textwrap.indent(textwrap.fill(description, text_width(TEXT_WIDTH) - 6), 6 * " "))
    if not listed:
        click.echo("  none")
