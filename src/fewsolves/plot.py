"""Figures by one call: of a fitted model, a fit, a folder of runs, or several of these; each is a matplotlib `Figure`.

    fs.plot.training(model)              how the regret fell
    fs.plot.frontier([model, other])     regret against solves, one line for each
    fs.plot.calibration(model)           whether the surrogate's confidence was deserved
    fs.plot.compare(fs.compare(...))     paired differences of regrets, with intervals
    fs.plot.decisions(model)             how far training moved the predictions
    fs.plot.landscape(model, solves=41)  the regret of one row along a line

A notebook shows them; `figure.savefig` and `fewsolves.reporting.figures.save` write them to files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from fewsolves._internal.renamed import renamed_argument
from fewsolves.comparing import ModelComparison
from fewsolves.errors import InputError
from fewsolves.estimator import DecisionRegressor
from fewsolves.fitting.landscape import regret_along
from fewsolves.reporting import figures, runs_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fewsolves.reporting.run_sources import RunSource


@renamed_argument("told", "source")
def training(source: RunSource | Sequence[RunSource]) -> Figure:
    """Regret of the best model so far against solves, and of every reading against epochs or stages.

    Args:
        source: A fitted `DecisionRegressor`, a `Fit`, a folder of runs, or a list of these.
    """
    return figures.training_curves(runs_of(source))


@renamed_argument("told", "source")
def frontier(source: RunSource | Sequence[RunSource]) -> Figure:
    """Regret against solves, labels and validation included.

    Args:
        source: A fitted `DecisionRegressor`, a `Fit`, a folder of runs, or a list of these.
    """
    return figures.frontier(runs_of(source))


@renamed_argument("told", "source")
def calibration(source: RunSource | Sequence[RunSource]) -> Figure:
    """How often regrets that were held out fell within the surrogate's intervals.

    Args:
        source: A fitted `DecisionRegressor`, a `Fit`, a folder of runs, or a list of these.
    """
    return figures.calibration(runs_of(source))


def compare(compared: ModelComparison) -> Figure:
    """The difference of each model's mean regret to that of the first model, with its interval.

    Args:
        compared: From `fewsolves.compare`.
    """
    first, *others = compared.lines
    intervals = {
        one.model: (one.difference, *(one.interval or (one.difference, one.difference)))
        for one in others
        if one.difference is not None
    }
    return figures.differences(intervals, beside=first.model)


def decisions(model: DecisionRegressor, row: int | None = None) -> Figure:
    """What training did: how far it moved the predictions of each output, and one row before and after.

    Args:
        model: A fitted `DecisionRegressor`.
        row: A row of the table that was trained on. None: one that moved as far as half of the rows.
    """
    _check_model(model, "decisions")
    rows, before = model.training_rows_, model.start_predictions_
    if before is None:
        raise InputError(
            "fs.plot.decisions compares predictions of the start with those of the result. This result was read from "
            "its folder, where the run had ended before, and a folder keeps the result only. Fit again without "
            "folder=, or in a new folder, and draw the figure from that model"
        )
    after = model.predictor_(rows.X)
    names = model.target_names_ or tuple(f"y{k}" for k in range(after.shape[1]))
    at = None if row is None else rows.position(row)
    return figures.moved_predictions(before, after, rows.Y, names, row=at, method=model.run_.method)


def landscape(model: DecisionRegressor, row: int | None = None, *, solves: int = 0) -> Figure:
    """The regret of one training row, on the line from its truth (0) through its prediction (1).

    Args:
        model: A fitted `DecisionRegressor`.
        row: A row of the table that was fitted. None: the first that was trained on.
        solves: Solves to pay for along the line. With 0 there is the surrogate alone, where the method has one.
    """
    _check_model(model, "landscape")
    rows = model.training_rows_
    at = rows.position(row)
    if solves < 0 or (solves == 0 and model.surrogate_ is None):
        raise InputError(
            "this model has no surrogate to draw; landscape(model, solves=41) pays for the true regret at 41 points"
        )
    line = regret_along(rows, at, model.predictor_, model.surrogate_, solves=solves, solving=model.solving_)
    title = f"Regret of row {int(rows.rows[at]):,}"
    return figures.landscape(**line, places={"truth": 0.0, "prediction": 1.0}, title=title)


def _check_model(model: Any, figure: str) -> None:
    """Raise where it is no fitted model: a folder and a loaded model do not have the rows that were trained on."""
    if not isinstance(model, DecisionRegressor):
        given = f"the folder {str(model)!r:.80}" if isinstance(model, str | Path) else f"a {type(model).__name__}"
        raise InputError(
            f"fs.plot.{figure} takes a fitted DecisionRegressor, which has the rows that it was trained on, "
            f"got {given}; fit the model in this process"
        )
    check_is_fitted(model)
