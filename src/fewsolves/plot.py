"""Figures by one call: of a fitted model, a fit, a folder of runs, or several of these; each is a matplotlib `Figure`.

    fs.plot.training(model)                  how validation regret fell
    fs.plot.frontier([model, other])         regret against solves, one line for each
    fs.plot.calibration(model)               whether the surrogate's confidence was deserved
    fs.plot.landscape(model, solves=41)      the regret of one row along a line, and what the surrogate believes

A notebook shows them; `figure.savefig` and `fewsolves.reporting.figures.save` write them to files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

from fewsolves._internal.renamed import renamed_argument
from fewsolves.errors import InputError
from fewsolves.estimator import DecisionRegressor
from fewsolves.fitting.landscape import regret_along
from fewsolves.reporting import figures, runs_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fewsolves.reporting.runs import RunSource


@renamed_argument("told", "source")
def training(source: RunSource | Sequence[RunSource]) -> Figure:
    """Validation regret of the best model so far against solves, and of every model against epochs.

    Args:
        source: A fitted `DecisionRegressor`, a `Fit`, a folder of runs, or a list of these.
    """
    return figures.training_curves(runs_of(source))


@renamed_argument("told", "source")
def frontier(source: RunSource | Sequence[RunSource]) -> Figure:
    """What validation regret was reached with how many solves, labels and validation included.

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


def landscape(model: DecisionRegressor, row: int | None = None, *, solves: int = 0) -> Figure:
    """The regret of one training row, on the line from its truth (0) through its prediction (1).

    Args:
        model: A fitted `DecisionRegressor`.
        row: A row of the table that was fitted. None: the first that was trained on.
        solves: Solves to pay for along the line. With 0 there is the surrogate alone, where the method has one.
    """
    check_is_fitted(model)
    rows = model.training_rows_
    at = rows.position(row)
    if solves < 0 or (solves == 0 and model.surrogate_ is None):
        raise InputError(
            "this model has no surrogate to draw; landscape(model, solves=41) pays for the true regret at 41 points"
        )
    line = regret_along(rows, at, model.predictor_, model.surrogate_, solves=solves, solving=model.solving_)
    return figures.landscape(**line)
