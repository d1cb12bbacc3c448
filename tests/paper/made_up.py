"""Result files of runs that never took place, with numbers that are easy to check."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fewsolves.paper.task import FLOOR, Task


def regret_of(task: Task) -> float:
    """PFL has 10 + dataset; everybody else three fifths of it."""
    return (10.0 + task.dataset) * (1.0 if task.method == "pfl" else 0.6)


def result(task: Task, regret: Callable[[Task], float] = regret_of) -> dict[str, Any]:
    if task.method == FLOOR:
        return {"absolute": 2.0, "relative": 0.1, "scale": 1.0}
    return {
        "benchmark": task.benchmark,
        "method": task.method,
        "dataset_seed": task.dataset,
        "config": {**task.configs, "data": {}, "seed": 0},
        "commit": "abc123",
        "predictor": task.predictor,
        "test_regret": regret(task),
        "test_relative_regret": regret(task) / 100,
        "fresh_regret": regret(task),
        "fresh_relative_regret": regret(task) / 100,
        "best_validation_regret": regret(task),
        "start_validation_regret": 10.0,
        "solves_per_instance": 3.0,
        "evaluations_per_instance": 4.0,
        "cost_calls_per_instance": 4.0,
        "total_solves_per_instance": 5.0,
        "calls": {"solve": {"validation": 7}, "cost": {}},
        "seconds": {"total": 20.0, "solver": 8.0},
        "stopped": "the time limit was reached" if task.method == "sfge" and task.limit else "no better for 40 epochs",
        "warnings": [],
    }


def write(tasks: Iterable[Task], folder: Path, regret: Callable[[Task], float] = regret_of) -> None:
    for task in tasks:
        file = task.file(folder)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(result(task, regret)))
