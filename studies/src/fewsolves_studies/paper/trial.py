"""A trial: the description of one run of an experiment, its name in a study, and what is there of many of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fewsolves.methods.base import Trainer
from fewsolves.methods.registry import find_method
from fewsolves_studies.benchmarks.study import Result, made_under

FLOOR = "floor"  # not a method: what knowing the distribution of y leaves
Options = tuple[tuple[str, Any], ...]


class Conditions(NamedTuple):
    """What trials have in common when they can share labels and the prediction-focused start."""

    benchmark: str
    data: Options
    dataset: int
    predictor: str
    start: Options  # settings of the start
    delay: float
    limit: float | None


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What to run; equal trials of two experiments are run once."""

    benchmark: str
    method: str  # a method's name, or FLOOR
    dataset: int
    label: str = ""  # distinguishes variants of a method
    settings: Options = ()
    data: Options = ()  # options of the benchmark
    predictor: str = "linear"
    delay: float = 0.0  # seconds that each solve takes at least
    limit: float | None = None  # seconds of training

    @property
    def name(self) -> str:
        return self.label or self.method

    @property
    def conditions(self) -> Conditions:
        start = tuple(pair for pair in self.settings if pair[0] == "start_epochs")
        return Conditions(self.benchmark, self.data, self.dataset, self.predictor, start, self.delay, self.limit)

    @property
    def setting(self) -> str:
        """The benchmark with what was changed about it."""
        parts = [self.benchmark, *(f"{name}={value}" for name, value in self.data)]
        parts += [f"delay={1000 * self.delay:g}ms"] if self.delay else []
        parts += [f"limit={self.limit:g}s"] if self.limit else []
        return ",".join(parts)

    @property
    def run(self) -> str:
        """The name of its run in a study."""
        return f"{self.setting}/{self.name}.{self.predictor}.{self.dataset}"

    @property
    def configs(self) -> dict[str, Any]:
        """The settings that a run of this trial has today, by the part of the config that records them."""
        if self.method == FLOOR:
            return {}
        return {"loss": self.trainer.settings, "train": self.trainer.recorded}

    @property
    def trainer(self) -> Trainer:
        """The method with the settings of the trial."""
        from fewsolves_studies.paper.reading.method import METHOD as READING  # it brings the Gaussian processes

        method = READING if self.method == READING.name else find_method(self.method)
        return method.with_settings(dict(self.settings))

    def result_in(self, runs: Mapping[str, Result]) -> Result | None:
        """Its result among those of a study; None where there is none, or one that was made under other settings."""
        result = runs.get(self.run)
        return result if result is not None and made_under(result, self.configs) else None


@dataclass
class Results:
    """What is there of some trials."""

    found: dict[Trial, Result] = field(default_factory=dict)

    @classmethod
    def among(cls, trials: Iterable[Trial], runs: Mapping[str, Result]) -> Results:
        """Of these trials, among the runs of a study."""
        results = {trial: trial.result_in(runs) for trial in dict.fromkeys(trials)}
        return cls({trial: result for trial, result in results.items() if result is not None})

    def of(self, name: str, setting: str, predictor: str = "linear") -> dict[int, Result]:
        """The results of a method in a setting, by dataset."""
        return {
            trial.dataset: result
            for trial, result in self.found.items()
            if (trial.name, trial.setting, trial.predictor) == (name, setting, predictor)
        }

    def names(self, setting: str, predictor: str = "linear") -> list[str]:
        """The methods that ran in a setting, in the order of the trials."""
        there = [trial.name for trial in self.found if (trial.setting, trial.predictor) == (setting, predictor)]
        return [name for name in dict.fromkeys(there) if name != FLOOR]

    def commits(self) -> list[str]:
        return sorted({str(result["commit"]) for result in self.found.values() if "commit" in result})


def datasets_of(runs: Iterable[str]) -> int:
    """Largest number of datasets of the runs, by name."""
    return max((int(run.rpartition(".")[2]) + 1 for run in runs), default=0)


def options(values: Mapping[str, Any]) -> Options:
    """Settings in a form that can be compared and hashed."""
    return tuple(sorted(values.items()))
