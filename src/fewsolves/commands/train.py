"""`fewsolves train`: one method on a problem of one's own, or on one dataset of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from fewsolves._internal.text import clean, number
from fewsolves.commands.given import Given, find_predictor, given_options
from fewsolves.commands.options import (
    FOLDER,
    assignments,
    budget_options,
    echo_json,
    json_option,
    method_names,
    on_one_thread,
    solving_options,
    usage,
)
from fewsolves.data import LAST_PERCENT
from fewsolves.errors import InputError

if TYPE_CHECKING:
    from fewsolves.data import Validation
    from fewsolves.fitting.result import Fit
    from fewsolves.tables import Table

NOTHING_GAINED = 3  # the exit code with --fail-if-nothing-gained
RESULT_ONLY = Path("runs/train")  # where the result goes without a folder of the run


@click.command(short_help="Train one method on your problem and table.")
@given_options
@click.option(
    "--method",
    shell_complete=method_names,
    help="Which method; see `fewsolves methods`.  [default: that of DecisionRegressor]",
)
@click.option(
    "--folder",
    "--out",
    "folder",
    type=FOLDER,
    help="Folder of the run: every solve is on record there, and the same command resumes a stopped run.  "
    f"[default: {RESULT_ONLY}, for the result only]",
)
@click.option("--ledger", type=FOLDER, help="Folder of a ledger that several runs share.  [default: that of --folder]")
@click.option("--adopt", is_flag=True, help="Reuse the ledger although the problem has changed.")
@click.option(
    "--predictor",
    help="linear, network, auto (the better of these two), xgboost, lightgbm, or a module or regressor of yours, as "
    "mymodule:name or file.py:name.  [default: auto; linear for a benchmark]",
)
@click.option("--seed", default=0, help="Seed of the training.")
@click.option(
    "--validation",
    help="Which rows choose the result: a share (0.2), 'last 20 %', or a column that is not 0 in them.  [default: as "
    "in Python: none for the default method, else a fifth or fewer]",
)
@click.option(
    "--time-order",
    metavar="COLUMN",
    help="Sort the rows by this column, oldest first, and validate on the last 20 % unless --validation is given.",
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
@click.option(
    "--fail-if-nothing-gained",
    is_flag=True,
    help="Exit with code 3 unless the whole interval of the gain is above zero; for methods that compare their "
    "result with a start.",
)
@json_option
@on_one_thread
def train(
    given: Given, validation: str | None, time_order: str | None, fail_if_nothing_gained: bool, **options: Any
) -> None:
    """Train one method; write history.csv and result.json to the folder.

    PROBLEM is your own, as mymodule:problem or file.py:problem, with its table: --data FILE --x COLUMNS --y COLUMNS.
    It then also writes report.html, and the model for fs.load.
    """
    options["method"] = _known_method(options["method"], options["settings"], compares=fail_if_nothing_gained)
    if given.benchmark is None:
        fitted = _train_own(*_in_order(given, validation, time_order), **options)
    elif validation or time_order:
        raise click.UsageError("--validation and --time-order are for your own problem; a benchmark has its split")
    else:
        del options["report"]
        fitted = _train_benchmark(given, **options).fit
    if fitted.interrupted:
        raise KeyboardInterrupt
    if fail_if_nothing_gained and not fitted.summary.gained:
        raise click.exceptions.Exit(NOTHING_GAINED)


def _known_method(name: str | None, settings: Mapping[str, Any], *, compares: bool) -> str:
    """The name of a method that has these settings, the default where none is given.

    With `compares` it must be one that can tell whether it has gained something.
    """
    from fewsolves.methods.registry import DEFAULT, find_method

    with usage():
        method = find_method(DEFAULT if name is None else name).with_settings(settings)
    if compares and not (method.follows_start or method.cross_fits):
        raise click.UsageError(
            f"--fail-if-nothing-gained needs a method that compares its result with a prediction-focused start; "
            f"{method.name} with these settings does not"
        )
    return method.name


def _in_order(given: Given, validation: str | None, time_order: str | None) -> tuple[Given, Validation | None]:
    """The rows in the requested order, and those to validate on; None: as in Python, the method decides."""
    table = given.table
    assert table is not None
    if validation is None and time_order is None:
        return given, None
    with usage():
        column = None if time_order is None else table.name(time_order)
        chosen = _chosen_rows(table, "last 20 %" if validation is None else validation)
    order = np.arange(len(given.X)) if column is None else table.order(column)
    return given.ordered(order), table.marked(chosen.column)[order] if isinstance(chosen, _Marked) else chosen


class _Marked(NamedTuple):
    """The rows that a column marks."""

    column: str


def _chosen_rows(table: Table, validation: str) -> float | str | _Marked:
    """A share, "last 20 %", or a column; raises where it is none of them."""
    try:
        share = float(validation)
    except ValueError:
        return validation if LAST_PERCENT.fullmatch(validation) else _Marked(table.name(validation))
    if not 0 < share < 1:
        raise InputError(f"--validation is a share above 0 and below 1, 'last 20 %', or a column, got {validation}")
    return share


def _train_own(
    given: Given,
    validation: Validation | None,
    *,
    method: str,
    predictor: str | None,
    folder: Path | None,
    report: bool,
    as_json: bool,
    **options: Any,
) -> Fit:
    from fewsolves.fitting.fit import fit
    from fewsolves.fitting.plan import Plan
    from fewsolves.fitting.prepare import prepare
    from fewsolves.fitting.result import result_of, write_result
    from fewsolves.model import model_of
    from fewsolves.predictors.families import family_of
    from fewsolves.training.progress import Progress

    with usage():
        chosen = find_predictor(predictor or "auto")
        family_of(chosen)
    plan = Plan(
        given.problem,
        given.X,
        given.Y,
        validation=validation,
        method=method,
        predictor=chosen,
        folder=folder,
        **options,
    )
    prepared = prepare(plan)
    with Progress(f"{method} on {given.name}", expected=prepared.expected) as progress:
        fitted = fit(prepared, callbacks=[progress])
        progress.end(fitted.summary.short)
    out, written = folder or RESULT_ONLY, ["result.json", "history.csv"]
    if folder is None:
        write_result(out, result_of(fitted), fitted.history)
    model = model_of(fitted, columns=given.columns, targets=given.targets)
    written += [path.name for path in sorted(model.save(out).glob("model.*"))]
    if report and find_spec("matplotlib") and find_spec("jinja2"):
        from fewsolves.reporting import report as write_report

        written.append(write_report(fitted, out / "report.html").name)
    if as_json:
        echo_json({"folder": str(out), "written": written, **result_of(fitted)})
        return fitted
    click.echo(clean(str(fitted.summary)))
    unsaved = []
    if fitted.forecaster is not None and fitted.forecaster.library is None:
        click.echo(clean(f"correction of {fitted.forecaster.name}, {fitted.correction(given.targets)}"))
        unsaved = ["the forecaster is not saved; fs.load(folder, problem, forecaster=...) needs it again, fitted"]
    _notes([*fitted.warnings, *unsaved])
    click.echo(f"wrote {', '.join(written)} in {out}")
    return fitted


def _train_benchmark(
    given: Given, *, method: str, predictor: str | None, folder: Path | None, as_json: bool, **options: Any
) -> Any:
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
    if as_json:
        echo_json({"folder": str(out), **result})
        return done
    what = f"{result['method']} on {result['benchmark']}, dataset {result['dataset_seed']}"
    click.echo(f"{what}: test regret {number(result['test_regret'])}")
    click.echo(f"{result['solves_per_instance']:.2f} solves per training example; {clean(result['stopped'])}")
    _notes(result["warnings"])
    click.echo(f"wrote {out / 'result.json'} and {out / 'history.csv'}")
    return done


def _notes(messages: list[str]) -> None:
    for message in messages:
        click.echo(f"note: {clean(message)}")
