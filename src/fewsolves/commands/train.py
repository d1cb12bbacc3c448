"""`fewsolves train`: one method on a problem of one's own, or on one dataset of a benchmark."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from fewsolves._internal.text import clean
from fewsolves.commands.given import Given, find_predictor, given_options
from fewsolves.commands.options import FOLDER, assignments, budget_options, on_one_thread, solving_options
from fewsolves.data import LAST_PERCENT

if TYPE_CHECKING:
    from fewsolves.data import Validation
    from fewsolves.fitting.result import Fit

RESULT_ONLY = Path("runs/train")  # where the result goes without a folder of the run


@click.command()
@given_options
@click.option("--method", help="Which method; see `fewsolves methods`.  [default: that of DecisionRegressor]")
@click.option(
    "--out",
    "folder",
    type=FOLDER,
    help="Folder of the run: every solve is on record there, and the same command goes on where it stopped.  "
    f"[default: {RESULT_ONLY}, for the result only]",
)
@click.option("--ledger", type=FOLDER, help="Folder of a ledger that several runs share.  [default: that of --out]")
@click.option("--adopt", is_flag=True, help="Take the ledger over although the problem has changed.")
@click.option(
    "--predictor",
    help="linear, network, auto: the better start of both, xgboost, lightgbm, or a regressor of yours to correct, as "
    "mymodule:name or file.py:name.  [default: auto; linear for a benchmark]",
)
@click.option("--seed", default=0, help="Seed of the training.")
@click.option(
    "--validation",
    help="Which rows choose the result: a share (0.2), 'last 20 %', or a column that is not 0 in them.  [default: 0.1]",
)
@click.option(
    "--time-order",
    metavar="COLUMN",
    help="Sort the rows by this column, oldest first, and validate on the last 20 % where --validation does not say "
    "otherwise.",
)
@solving_options
@budget_options
@click.option(
    "--set",
    "settings",
    multiple=True,
    callback=assignments,
    help="A setting of the method, e.g. --set patience=20; see `fewsolves methods NAME`.",
)
@click.option("--report/--no-report", default=True, help="Write report.html, where the extra for it is installed.")
@on_one_thread
def train(given: Given, validation: str | None, time_order: str | None, **options: Any) -> None:
    """Train one method; write OUT/history.csv and OUT/result.json.

    PROBLEM is your own, as mymodule:problem or file.py:problem, with its table: --data FILE --x COLUMNS --y COLUMNS.
    Then report.html and the model, for fs.load, are written, too.
    """
    from fewsolves.methods.registry import DEFAULT

    if options["method"] is None:
        options["method"] = DEFAULT
    if given.benchmark is None:
        interrupted = _train_own(*_in_order(given, validation, time_order), **options).interrupted
    elif validation or time_order:
        raise click.UsageError("--validation and --time-order are for your own problem; a benchmark has its split")
    else:
        del options["report"]
        interrupted = _train_benchmark(given, **options).fit.interrupted
    if interrupted:
        raise KeyboardInterrupt


def _in_order(given: Given, validation: str | None, time_order: str | None) -> tuple[Given, Validation]:
    """The rows as they are asked for, and those to validate on."""
    assert given.table is not None
    order = np.arange(len(given.X)) if time_order is None else given.table.order(time_order)
    if validation is None:
        validation = "0.1" if time_order is None else "last 20 %"
    chosen: Validation
    try:
        chosen = float(validation)
    except ValueError:
        chosen = validation if LAST_PERCENT.fullmatch(validation) else given.table.marked(validation)[order]
    return given.ordered(order), chosen


def _train_own(
    given: Given,
    validation: Validation,
    *,
    method: str,
    predictor: str | None,
    folder: Path | None,
    report: bool,
    **options: Any,
) -> Fit:
    from fewsolves.fitting.fit import fit
    from fewsolves.fitting.plan import Plan
    from fewsolves.fitting.result import result_of, write_result
    from fewsolves.model import model_of
    from fewsolves.reporting import report as write_report
    from fewsolves.training.progress import Progress

    plan = Plan(
        given.problem,
        given.X,
        given.Y,
        validation=validation,
        method=method,
        predictor=find_predictor(predictor or "auto"),
        folder=folder,
        **options,
    )
    with Progress(f"{method} on {given.name}") as progress:
        fitted = fit(plan, callbacks=[progress])
    out, written = folder or RESULT_ONLY, ["result.json", "history.csv"]
    if folder is None:
        write_result(out, result_of(fitted), fitted.history)
    model = model_of(fitted, columns=given.columns, targets=given.targets)
    written += [path.name for path in sorted(model.save(out).glob("model.*"))]
    if report and find_spec("matplotlib") and find_spec("jinja2"):
        written.append(write_report(fitted, out / "report.html").name)
    click.echo(clean(str(fitted.summary)))
    unsaved = []
    if fitted.forecaster is not None and fitted.forecaster.library is None:
        click.echo(clean(f"correction of {fitted.forecaster.name}, {fitted.correction(given.targets)}"))
        unsaved = ["the forecaster is not saved; fs.load(folder, problem, forecaster=...) wants it again, fitted"]
    _notes([*fitted.warnings, *unsaved])
    click.echo(f"wrote {', '.join(written)} in {out}")
    return fitted


def _train_benchmark(given: Given, *, method: str, predictor: str | None, folder: Path | None, **options: Any) -> Any:
    from fewsolves.demo.named import named_problems
    from fewsolves.training.progress import Progress

    assert given.benchmark is not None
    with Progress(f"{method} on {given.name}") as progress:  # the other options are those of a plan
        done = named_problems().run(
            given.benchmark,
            method,
            predictor=find_predictor(predictor or "linear"),
            folder=folder,
            callbacks=[progress],
            **options,
        )
    out, result = folder or RESULT_ONLY, done.result
    done.write(out)
    what = f"{result['method']} on {result['benchmark']}, dataset {result['dataset_seed']}"
    click.echo(f"{what}: test regret {result['test_regret']:.4g}")
    click.echo(f"{result['solves_per_instance']:.2f} solves per training example; {clean(result['stopped'])}")
    _notes(result["warnings"])
    click.echo(f"wrote {out / 'result.json'} and {out / 'history.csv'}")
    return done


def _notes(messages: list[str]) -> None:
    for message in messages:
        click.echo(f"note: {clean(message)}")
