"""All experiments, by name, in the order of the page: one file per table or figure, ending in `EXPERIMENT = ...`."""

from __future__ import annotations

from fewsolves_studies.paper.experiment import Experiment
from fewsolves_studies.paper.experiments import (
    ablation,
    classical,
    q1,
    q2,
    q3,
    q4,
    regret_calls,
    sensitivity,
    smoothing,
)

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (q1, q2, q3, q4, ablation, sensitivity, smoothing, regret_calls, classical)
}
