"""`fewsolves methods [NAME]`: the methods, or the settings of one of them."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from fewsolves.settings import settings_of

TEXT_WIDTH = 100


@click.command()
@click.argument("name", required=False)
def methods(name: str | None) -> None:
    """List the methods; with NAME, its settings with their defaults and meanings."""
    from fewsolves.methods.base import GradientTrainer
    from fewsolves.methods.registry import DEFAULT, METHODS, find_method

    if name is None:
        for method in METHODS.values():
            click.echo(f"{method.name:24s} {method.summary}{' (the default)' * (method.name == DEFAULT)}")
        return
    method = find_method(name).with_settings({})
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
        click.echo(textwrap.indent(textwrap.fill(description, TEXT_WIDTH - 6), 6 * " "))
    if not listed:
        click.echo("  none")
