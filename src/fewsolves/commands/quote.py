"""`fewsolves quote`: what each method would cost on a benchmark, before anything large is paid for."""

from __future__ import annotations

import click


@click.command()
@click.option("--benchmark", required=True, help="Which benchmark; see `fewsolves benchmarks`.")
@click.option("--dataset-seed", default=0, help="Which of its datasets.")
@click.option("--delay", default=0.0, help="Seconds that a solve shall take at least, as a real solver would.")
@click.option("--workers", type=click.IntRange(min=1), default=1, help="Processes that solve side by side.")
@click.option("--max-solves", type=int, help="A budget: the most solves.")
@click.option("--max-cost-calls", type=int, help="A budget: the most cost calls.")
@click.option("--max-seconds", type=float, help="A budget: the most seconds inside the solver, over all workers.")
def quote(
    benchmark: str,
    dataset_seed: int,
    delay: float,
    workers: int,
    max_solves: int | None,
    max_cost_calls: int | None,
    max_seconds: float | None,
) -> None:
    """Time three solves; print expected solves, hours and the largest n_y of each method."""
    import numpy as np

    from fewsolves.benchmarks.catalogue import load
    from fewsolves.benchmarks.slow import slow
    from fewsolves.data import split_rows
    from fewsolves.oracle import Budget
    from fewsolves.pricing.price import Task
    from fewsolves.pricing.quote import quote_task

    given = load(benchmark, dataset_seed)
    split = split_rows(len(given.X), rng=np.random.default_rng(given.seed))
    budget = Budget(solves=max_solves, cost_calls=max_cost_calls, seconds=max_seconds)
    task = Task(slow(given.problem, delay), given.Y, split)
    click.echo(str(quote_task(task, workers=workers, budget=None if budget == Budget() else budget)))
