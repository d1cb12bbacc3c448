"""All experiments, by name."""

from __future__ import annotations

from fewsolves.paper import ablation, classical, q1, q2, q3, q4, regret_calls, sensitivity, smoothing
from fewsolves.paper.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (q1, q2, q3, q4, ablation, sensitivity, smoothing, regret_calls, classical)
}
