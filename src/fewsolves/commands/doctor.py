"""`fewsolves doctor`: is a problem fit to be trained on?"""

from __future__ import annotations

import click

from fewsolves.commands.given import Given, given_options
from fewsolves.commands.options import echo_json, json_option, on_one_thread


@click.command(short_help="Try a problem with at most fifty solves, and advise.")
@given_options
@click.option(
    "--time-limit", type=float, help="Seconds after which a solve is ended, with all processes that it started."
)
@json_option
@on_one_thread
def doctor(given: Given, time_limit: float | None, as_json: bool) -> None:
    """Try a problem with at most fifty solves; print what was found and what to do.

    PROBLEM is your own, as mymodule:problem or file.py:problem, with its table: --data FILE --x COLUMNS --y COLUMNS.
    The exit code is 0 if the problem is ready for training, else 1.
    """
    from fewsolves.diagnosis.doctor import doctor as examine

    diagnosis = examine(given.problem, given.X, given.Y, time_limit=time_limit)
    if as_json:
        echo_json({"ok": diagnosis.ok, **vars(diagnosis), "findings": [vars(one) for one in diagnosis.findings]})
    else:
        click.echo(str(diagnosis))
    if not diagnosis.ok:
        raise click.exceptions.Exit(1)
