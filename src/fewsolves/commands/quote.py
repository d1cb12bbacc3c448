"""`fewsolves quote`: the expected price of each method, before training."""

from __future__ import annotations

import click

from fewsolves.commands.given import Given, given_options
from fewsolves.commands.options import budget_options, echo_json, json_option, on_one_thread
from fewsolves.oracle import Budget


@click.command(short_help="Estimate what each method would cost.")
@given_options
@click.option("--delay", default=0.0, help="Minimum seconds of a solve, to imitate a slower solver.")
@click.option("--workers", type=click.IntRange(min=1), default=1, help="Processes that solve in parallel.")
@budget_options
@json_option
@on_one_thread
def quote(given: Given, delay: float, workers: int, budget: Budget, as_json: bool) -> None:
    """Time three solves; print for each method the expected solves and time, and how many parameters it can handle.

    PROBLEM is your own, as mymodule:problem or file.py:problem, with its table: --data FILE --x COLUMNS --y COLUMNS.
    """
    import numpy as np

    from fewsolves.data import split_rows
    from fewsolves.demo.slow import slow
    from fewsolves.quoting import quote as pricing
    from fewsolves.quoting.price import Workload

    problem, limit = slow(given.problem, delay), None if budget == Budget() else budget
    if given.benchmark is None:
        quoted = pricing.quote(problem, given.X, given.Y, workers=workers, budget=limit)
    else:
        split = split_rows(len(given.X), rng=np.random.default_rng(given.benchmark.seed))
        quoted = pricing.quote_workload(Workload(problem, given.Y, split), workers=workers, budget=limit)
    if as_json:
        echo_json(
            {**vars(quoted), "lines": [vars(line) | {"total_solves": line.total_solves} for line in quoted.lines]}
        )
    else:
        click.echo(str(quoted))
