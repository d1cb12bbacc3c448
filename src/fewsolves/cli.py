"""The command line: the group `fewsolves`, whose commands are the files of `commands`, and those of other packages."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import click

from fewsolves import commands
from fewsolves._internal.text import clean
from fewsolves.errors import FewsolvesError

COMMAND_ENTRY_POINTS = "fewsolves.commands"  # entry points of other packages: click commands


class _Group(click.Group):
    """Errors made on purpose are shown as one line, not as a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except FewsolvesError as error:
            raise click.ClickException(clean(str(error))) from error
        except KeyboardInterrupt:
            click.echo("The run was stopped; with --folder, the same command resumes it", err=True)
            raise click.exceptions.Exit(130) from None


@click.group(cls=_Group, context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fewsolves")
def main() -> None:
    """Train predictors for the decisions they drive, with few calls of the solver."""


def _found() -> Iterator[click.Command]:
    """The command of each file that has one of its own name; then those of other packages that are installed."""
    for file in pkgutil.iter_modules(commands.__path__):
        found = getattr(import_module(f"{commands.__name__}.{file.name}"), file.name, None)
        if isinstance(found, click.Command):
            yield found
    for plugin in entry_points(group=COMMAND_ENTRY_POINTS):
        try:
            made = plugin.load()
            if not isinstance(made, click.Command):
                raise TypeError(f"{plugin.value} is not a click command")
        except Exception as error:  # another package must not take the commands of this one away
            package = plugin.dist.name if plugin.dist is not None else plugin.value
            why = clean(f"{type(error).__name__}: {error}", 200)
            click.echo(f"warning: the command {plugin.name} of {package} is left out, {why}", err=True)
        else:
            yield made


for _command in _found():
    main.add_command(_command)
