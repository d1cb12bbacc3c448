"""One run of an experiment: a method on one dataset of a benchmark, and the file that holds what came of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from fewsolves.errors import InputError

FLOOR = "floor"  # not a method: what knowing the distribution of y leaves
Options = tuple[tuple[str, Any], ...]


class Place(NamedTuple):
    """What runs have in common when they can share labels and the prediction-focused start."""

    benchmark: str
    data: Options
    dataset: int
    predictor: str
    start: Options  # settings of the start
    delay: float
    limit: float | None


@dataclass(frozen=True, kw_only=True)
class Task:
    """What to run; equal tasks of two experiments are run once."""

    benchmark: str
    method: str  # a method's name, or FLOOR
    dataset: int
    label: str = ""  # tells variants of a method apart
    settings: Options = ()
    data: Options = ()  # options of the benchmark
    predictor: str = "linear"
    delay: float = 0.0  # seconds that each solve takes at least
    limit: float | None = None  # seconds of training

    @property
    def name(self) -> str:
        return self.label or self.method

    @property
    def place(self) -> Place:
        start = tuple(pair for pair in self.settings if pair[0] == "start_epochs")
        return Place(self.benchmark, self.data, self.dataset, self.predictor, start, self.delay, self.limit)

    @property
    def setting(self) -> str:
        """The benchmark with what was changed about it, as a folder's name."""
        parts = [self.benchmark, *(f"{name}={value}" for name, value in self.data)]
        parts += [f"delay={1000 * self.delay:g}ms"] if self.delay else []
        parts += [f"limit={self.limit:g}s"] if self.limit else []
        return ",".join(parts)

    @property
    def configs(self) -> dict[str, Any]:
        """The settings that a run of this task has today, as its file would tell them."""
        from fewsolves.methods.registry import find_method

        method = find_method(self.method).with_settings(dict(self.settings))
        made = {"loss": dataclasses.asdict(method.config), "train": dataclasses.asdict(method.train)}
        told: dict[str, Any] = json.loads(json.dumps(made))
        return told

    def result(self, folder: Path) -> dict[str, Any] | None:
        """What its file holds; None where there is none, or one that was made under other settings."""
        file = self.file(folder)
        if not file.exists():
            return None
        try:
            result: dict[str, Any] = json.loads(file.read_text())
        except ValueError as error:
            raise InputError(f"{file} is no result of a run ({error}); remove it, and the run is made again") from None
        same = self.method == FLOOR or self.configs.items() <= result["config"].items()
        return result if same else None

    def file(self, folder: Path) -> Path:
        return folder / "runs" / self.setting / f"{self.name}.{self.predictor}.{self.dataset}.json"


@dataclass
class Results:
    """What is there of some tasks."""

    found: dict[Task, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, tasks: Iterable[Task], folder: Path) -> Results:
        results = {task: task.result(folder) for task in dict.fromkeys(tasks)}
        return cls({task: result for task, result in results.items() if result is not None})

    def of(self, name: str, setting: str, predictor: str = "linear") -> dict[int, dict[str, Any]]:
        """The results of a method in a setting, by dataset."""
        return {
            task.dataset: result
            for task, result in self.found.items()
            if (task.name, task.setting, task.predictor) == (name, setting, predictor)
        }

    def names(self, setting: str, predictor: str = "linear") -> list[str]:
        """The methods that ran in a setting, in the order of the tasks."""
        there = [task.name for task in self.found if (task.setting, task.predictor) == (setting, predictor)]
        return [name for name in dict.fromkeys(there) if name != FLOOR]

    def commits(self) -> list[str]:
        return sorted({str(result["commit"]) for result in self.found.values() if "commit" in result})


def datasets_in(folder: Path) -> int:
    """How many datasets the runs in a folder have, at the most."""
    return max((int(file.stem.rpartition(".")[2]) + 1 for file in folder.glob("runs/*/*.json")), default=0)


def options(values: Mapping[str, Any]) -> Options:
    """Settings in a form that can be compared and hashed."""
    return tuple(sorted(values.items()))
