"""`fewsolves quote`: what each method would cost on a benchmark, before anything large is paid for."""

from __future__ import annotations

import click

from fewsolves.commands.options import benchmark_options, budget_options
from fewsolves.oracle import Budget


@click.command()
@benchmark_options
@click.option("--delay", default=0.0, help="Seconds that a solve shall take at least, as a real solver would.")
@click.option("--workers", type=click.IntRange(min=1), default=1, help="Processes that solve side by side.")
@budget_options
def quote(benchmark: str, dataset_seed: int, delay: float, workers: int, budget: Budget) -> None:
    """Time three solves; print expected solves, hours and the largest n_y of each method."""
    import numpy as np

    from fewsolves.benchmarks.catalogue import load
    from fewsolves.benchmarks.slow import slow
    from fewsolves.data import split_rows
    from fewsolves.pricing.price import Workload
    from fewsolves.pricing.quote import quote_workload

    given = load(benchmark, dataset_seed)
    split = split_rows(len(given.X), rng=np.random.default_rng(given.seed))
    work = Workload(slow(given.problem, delay), given.Y, split)
    click.echo(str(quote_workload(work, workers=workers, budget=None if budget == Budget() else budget)))
