"""One fit of a user's table, and its regret on fresh rows beside that of prediction alone: what the studies share.

    python -m fewsolves_studies.measure.fresh_ratio '{"problem": "fleet", "dataset": 100, "n": 300, "seeds": [0, 1]}'

prints a line of JSON per seed. The denominator is least squares on all rows, by NumPy, so that it is the same whatever
the library does; `pfl` is the same of the library's own prediction-focused learning. The script imports nothing else of
the studies, and also runs with checkouts whose benchmarks were still part of the package (`luck --against`).
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

import fewsolves as fs

try:
    from fewsolves.benchmarks.catalogue import load
except ImportError:
    from fewsolves_studies.benchmarks.catalogue import load

FRESH, BLOCKS = 2000, 10


class Table:
    """One dataset as a user has it, and fresh rows to measure on."""

    def __init__(self, problem: str, dataset: int, n: int | None = None, n_fresh: int = FRESH) -> None:
        size = {} if n is None else {"n": n}
        data = load(problem, dataset, **size)
        self.X, self.Y, self.instances = data.X, data.Y, data.problem.instances
        self.problem = data.problem if self.instances is None else data.problem.with_instances(None)
        self.validation = None if data.split is None else "last 20 %"  # rows in the order of time
        frozen = {"frozen": True} if problem == "staffing" else {}  # measured under the same days
        self.fresh = load(problem, dataset, **size | frozen).fresh(n_fresh)
        self.best_cost = self.fresh.cost(self.fresh.Y)

    def fit(self, method: Any = "staged", *, seed: int = 0, predictor: Any = "linear", **options: Any) -> Any:
        """A fitted `DecisionRegressor`; options are its own."""
        options.setdefault("validation", self.validation)
        model = fs.DecisionRegressor(
            self.problem, method=method, predictor=predictor, random_state=seed, verbose=False, **options
        )
        known = {} if self.instances is None else {"instances": self.instances}
        with warnings.catch_warnings(action="ignore"):  # that nothing was gained, that the budget is spent
            return model.fit(self.X, self.Y, **known)

    def regrets(self, y_hat: np.ndarray) -> np.ndarray:
        """(n_fresh,): at predictions of the fresh rows."""
        return np.asarray(self.fresh.cost(np.asarray(y_hat, dtype=float)) - self.best_cost)

    def of(self, model: Any) -> np.ndarray:
        """(n_fresh,): regrets of a fitted model."""
        return self.regrets(np.reshape(model.predict(self.fresh.X), self.fresh.Y.shape))

    @cached_property
    def least_squares(self) -> float:
        """Mean regret of least squares on all rows."""
        A, fresh = (np.c_[X, np.ones(len(X))] for X in (self.X, self.fresh.X))
        return float(self.regrets(fresh @ np.linalg.lstsq(A, self.Y, rcond=None)[0]).mean())

    @cached_property
    def pfl(self) -> float:
        """Mean regret of the library's prediction-focused learning."""
        return float(self.of(self.fit("pfl")).mean())

    def measure(self, method: Any = "staged", **options: Any) -> dict[str, Any]:
        """What a study keeps of one fit."""
        began = time.process_time()
        model = self.fit(method, **options)
        seconds, regret, n = time.process_time() - began, self.of(model), len(self.Y)
        calls = model.calls_
        labels = calls.counts["solve"]["labels"] + calls.counts["solve"]["probe"]
        return {
            "ratio": _short(regret.mean() / self.least_squares),
            "blocks": [_short(block.mean() / self.least_squares) for block in np.array_split(regret, BLOCKS)],
            "least_squares": _short(self.least_squares),
            "pfl": _short(self.pfl / self.least_squares),
            "kept_start": bool(model.kept_start_),
            "solves_in_all": _short(calls.total("solve") / n),
            "solves_after_labels": _short((calls.total("solve") - labels) / n),
            "cost_calls": _short(calls.total("cost") / n),
            "seconds_per_row": _short(seconds / n),
            "stopped": model.stopped_,
        }


def _short(value: float) -> float:
    return float(f"{value:.7g}")


@lru_cache(maxsize=2)
def table(problem: str, dataset: int, n: int | None = None, n_fresh: int = FRESH) -> Table:
    """The same table for the fits that follow each other."""
    return Table(problem, dataset, n, n_fresh)


def of_seeds(
    problem: str, dataset: int, n: int | None, seeds: list[int], solves: float = 4, n_fresh: int = FRESH
) -> Iterator[dict[str, Any]]:
    """One fit of the default per seed."""
    for seed in seeds:
        yield table(problem, dataset, n, n_fresh).measure(seed=seed, settings={"solves": solves})


def main() -> None:
    import torch

    torch.set_num_threads(1)
    for result in of_seeds(**json.loads(sys.argv[1])):
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
