"""The figures of a report, each a plain matplotlib `Figure`; nothing here touches pyplot or its global state."""

from __future__ import annotations

from fewsolves.report.figures.confidence import calibration, trust
from fewsolves.report.figures.key import key
from fewsolves.report.figures.landscapes import landscape, smoothing
from fewsolves.report.figures.output import save, svg
from fewsolves.report.figures.regret import regret_against_solves
from fewsolves.report.figures.style import Style, styles
from fewsolves.report.figures.training import training_curves

__all__ = [
    "Style",
    "calibration",
    "key",
    "landscape",
    "regret_against_solves",
    "save",
    "smoothing",
    "styles",
    "svg",
    "training_curves",
    "trust",
]
