"""What one sees in each figure; the same words are read to those who cannot see it."""

from __future__ import annotations

from collections.abc import Sequence

from fewsolves.report.groups import Group

TRUST = (
    "How the surrogate earned trust. Left: share of training examples for which it was confident enough to replace "
    "the solver. Right: solver calls that the other examples cost in that epoch. Means over the dataset seeds that "
    "were still training."
)
CALIBRATION = (
    "Whether that trust is deserved: share of later regrets that fell within the surrogate's intervals, against the "
    "probability it stated. On the dashed line confidence is earned, below it the surrogate is overconfident. "
    "Bars: one standard error."
)


def regret(groups: Sequence[Group]) -> str:
    relative = all(group.relative is not None for group in groups)
    what = "Test regret relative to PFL on the same dataset" if relative else "Test regret"
    return (
        f"{what}, against solver calls per training instance (those of training only; the axis is "
        f"logarithmic from 1 on). Lower and further left is better.{_spread(groups)}"
    )


def training(groups: Sequence[Group]) -> str:
    several = any(len(group.runs) > 1 for group in groups)
    means = " Means over dataset seeds; a run that has stopped counts with its last value." if several else ""
    rows = [row for group in groups for run in group.runs for row in run.history]
    thin = any(row.stage == "start" and row.validation_regret is not None for row in rows)
    start = " (thin lines)" if thin else ""
    return (
        "Validation regret while training. Left: of the best model so far, against everything paid until then, labels "
        "and validation included. Right: as measured, epoch by epoch, so that overfitting shows. "
        f"The prediction-focused warm start{start} ends at epoch 0.{means}"
    )


def _spread(groups: Sequence[Group]) -> str:
    most = max(len(group.runs) for group in groups)
    return f" Markers: means over dataset seeds; bars: one standard deviation over them (up to {most} runs)." * (
        most > 1
    )
