"""`fewsolves` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from fewsolves.commands.ledger import ledger
from fewsolves.commands.paper import paper
from fewsolves.commands.quote import quote
from fewsolves.errors import FewsolvesError
from fewsolves.text import clean

FOLDER = click.Path(path_type=Path, file_okay=False)


class _Group(click.Group):
    """Errors made on purpose are shown as one line, not as a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except FewsolvesError as error:
            raise click.ClickException(clean(str(error))) from error
        except KeyboardInterrupt:
            click.echo("stopped; with a folder (--out), the same command goes on from here", err=True)
            raise click.exceptions.Exit(130) from None


def _assignments(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
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


@click.group(cls=_Group, context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fewsolves")
def main() -> None:
    """Train predictors for the decisions they drive, with few calls of the solver."""
    import torch

    torch.set_num_threads(1)  # the networks are small: a second thread costs more than it brings


@main.command()
@click.option("--out", type=FOLDER, default=Path("runs/demo"), help="Folder for the runs and the report.")
@click.option("--benchmark", default="wsmc-10-50", help="Which benchmark; see `fewsolves benchmarks`.")
@click.option("--dataset-seed", default=0, help="Which of its datasets.")
def demo(out: Path, benchmark: str, dataset_seed: int) -> None:
    """Train every method that fits a benchmark; print a table and write report.html."""
    from fewsolves.benchmarks.demo import run_demo

    run_demo(out, benchmark, dataset_seed)


@main.command()
@click.option("--benchmark", required=True, help="Which benchmark; see `fewsolves benchmarks`.")
@click.option("--method", required=True, help="Which method; see `fewsolves methods`.")
@click.option("--dataset-seed", default=0, help="Which of the benchmark's datasets.")
@click.option(
    "--out",
    type=FOLDER,
    help="Folder of the run: every solve is on record there, and the same command goes on where it stopped.  "
    "[default: runs/train, for the result only]",
)
@click.option("--ledger", type=FOLDER, help="Folder of a ledger that several runs share.  [default: that of --out]")
@click.option("--adopt", is_flag=True, help="Take the ledger over although the problem has changed.")
@click.option("--predictor", default="linear", help="linear (the paper's), network, or auto: the better start.")
@click.option("--seed", default=0, help="Seed of the training.")
@click.option("--workers", default=1, help="Processes that solve side by side.")
@click.option("--time-limit", type=float, help="Seconds after which a solve is ended.")
@click.option("--memory-limit", type=int, help="Bytes that a solve may take.")
@click.option("--on-failure", type=click.Choice(["raise", "penalise", "skip"]), default="raise", help="Of a solve.")
@click.option("--execution", default="auto", help="serial, processes, ray, or the address of a Ray cluster.")
@click.option("--asynchronous", is_flag=True, help="Train on while solves are under way; gp-surrogate only.")
@click.option("--max-solves", type=int, help="A budget: the most solves.")
@click.option("--max-cost-calls", type=int, help="A budget: the most cost calls.")
@click.option("--max-seconds", type=float, help="A budget: the most seconds inside the solver, over all workers.")
@click.option("--set", "settings", multiple=True, callback=_assignments, help="A setting, e.g. --set patience=20.")
@click.option("--data", multiple=True, callback=_assignments, help="A data option, e.g. --data penalty=5.")
def train(
    benchmark: str,
    method: str,
    dataset_seed: int,
    out: Path | None,
    ledger: Path | None,
    adopt: bool,
    predictor: str,
    seed: int,
    max_solves: int | None,
    max_cost_calls: int | None,
    max_seconds: float | None,
    settings: dict[str, Any],
    data: dict[str, Any],
    **solving: Any,
) -> None:
    """Train one method on one dataset; write OUT/history.csv and OUT/result.json."""
    from fewsolves.benchmarks.catalogue import load
    from fewsolves.benchmarks.run import run
    from fewsolves.oracle import Budget, SolveConfig
    from fewsolves.training.progress import Progress

    with Progress(f"{method} on {benchmark}") as progress:
        done = run(
            load(benchmark, dataset_seed, **data),
            method,
            predictor=predictor,
            settings=settings,
            seed=seed,
            solving=SolveConfig(**solving),
            budget=Budget(solves=max_solves, cost_calls=max_cost_calls, seconds=max_seconds),
            folder=out,
            ledger=ledger,
            adopt=adopt,
            callbacks=[progress],
        )
    out = out or Path("runs/train")
    done.write(out)
    result = done.result
    click.echo(f"{method} on {benchmark}, dataset {dataset_seed}: test regret {result['test_regret']:.4g}")
    click.echo(f"{result['solves_per_instance']:.2f} solves per training example; {clean(result['stopped'])}")
    for message in result["warnings"]:
        click.echo(f"note: {clean(message)}")
    click.echo(f"wrote {out / 'result.json'} and {out / 'history.csv'}")
    if done.fit.interrupted:
        raise KeyboardInterrupt


@main.command()
def methods() -> None:
    """List the methods."""
    from fewsolves.methods.registry import METHODS

    for method in METHODS.values():
        click.echo(f"{method.name:24s} {method.summary}")


@main.command()
def benchmarks() -> None:
    """List the benchmarks."""
    from fewsolves.benchmarks.catalogue import DESCRIPTIONS

    for name, description in DESCRIPTIONS.items():
        click.echo(f"{name:16s} {description}")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path), help="The file to write.  [default: FOLDER/report.html]")
def report(folder: Path, out: Path | None) -> None:
    """Write the HTML report of a run, or of all runs below FOLDER."""
    from fewsolves.report import read_runs, write_report

    click.echo(write_report(read_runs(folder), out or folder / "report.html", title=folder.name))


main.add_command(ledger)
main.add_command(paper)
main.add_command(quote)
