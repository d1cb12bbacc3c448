"""The figures of a report, each a plain matplotlib `Figure`: one file per kind of figure.

Begin with `regret.py`; every figure is drawn on a `canvas` (house style, one look per method), named by `labels`, and
becomes SVG or PNG in `output`. Nothing here touches pyplot or its global state.
May be imported by the report's page, by the demo, by the experiments of the paper, and by users.
"""

from __future__ import annotations

from fewsolves.reporting.figures.canvas import FIGURE_WIDTH, key, styles
from fewsolves.reporting.figures.confidence import calibration, trust
from fewsolves.reporting.figures.decisions import moved_predictions
from fewsolves.reporting.figures.differences import differences
from fewsolves.reporting.figures.following import Curve, best_so_far, pace, regret_so_far
from fewsolves.reporting.figures.frontier import frontier
from fewsolves.reporting.figures.landscapes import landscape, smoothing
from fewsolves.reporting.figures.output import save, svg
from fewsolves.reporting.figures.regret import regret_against_solves
from fewsolves.reporting.figures.solves_needed import solves_needed
from fewsolves.reporting.figures.training import training_curves, training_figures
from fewsolves.reporting.looks import Style

__all__ = [
    "FIGURE_WIDTH",
    "Curve",
    "Style",
    "best_so_far",
    "calibration",
    "differences",
    "frontier",
    "key",
    "landscape",
    "moved_predictions",
    "pace",
    "regret_against_solves",
    "regret_so_far",
    "save",
    "smoothing",
    "solves_needed",
    "styles",
    "svg",
    "training_curves",
    "training_figures",
    "trust",
]
