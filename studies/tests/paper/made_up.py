"""Results of runs that never took place, with numbers that are easy to check."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.paper.trial import FLOOR, Trial


def regret_of(trial: Trial) -> float:
    """PFL has 10 + dataset; everybody else three fifths of it."""
    return (10.0 + trial.dataset) * (1.0 if trial.method == "pfl" else 0.6)


def result(trial: Trial, regret: Callable[[Trial], float] = regret_of) -> dict[str, Any]:
    if trial.method == FLOOR:
        return {"absolute": 2.0, "relative": 0.1, "scale": 1.0}
    reached_limit = trial.method == "sfge" and trial.limit
    return {
        "benchmark": trial.benchmark,
        "method": trial.method,
        "dataset_seed": trial.dataset,
        "config": {part: dataclasses.asdict(config) for part, config in trial.configs.items()}
        | {"data": {}, "seed": 0},
        "commit": "abc123",
        "predictor": trial.predictor,
        "test_regret": regret(trial),
        "test_relative_regret": regret(trial) / 100,
        "fresh_regret": regret(trial),
        "fresh_relative_regret": regret(trial) / 100,
        "best_validation_regret": regret(trial),
        "start_validation_regret": 10.0,
        "solves_per_instance": 3.0,
        "evaluations_per_instance": 4.0,
        "cost_calls_per_instance": 4.0,
        "total_solves_per_instance": 5.0,
        "calls": {"solve": {"validation": 7}, "cost": {}},
        "seconds": {"total": 20.0, "solver": 8.0},
        "stopped": "the time limit was reached" if reached_limit else "no better for 40 epochs",
        "warnings": [],
    }


def study_of(trials: Iterable[Trial], folder: Path, regret: Callable[[Trial], float] = regret_of) -> Study:
    study = Study(folder)
    for trial in trials:
        study.keep(trial.run, result(trial, regret))
    study.fold()
    return study
