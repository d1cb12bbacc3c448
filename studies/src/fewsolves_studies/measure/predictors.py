"""Predictors x problems: trained for squared error, with a correction for decisions, and trained for decisions.

    python -m fewsolves_studies.measure.predictors --out results/predictors --datasets 3

The runs are in OUT/runs.jsonl, one line each; what is there already is not run again, so a stopped command goes on
where it stopped. Then OUT/table.md is written, from all runs that are there. Simulated problems have 300 rows and are
judged by 2,000 fresh ones; real ones by the test days, with a seed of training in place of a dataset. Every run that
is trained may pay 8 training solves per row; the default method spends them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor

from fewsolves.data import Scale, split_rows
from fewsolves.methods.base import TrainConfig
from fewsolves.oracle import Calls
from fewsolves.predictors.boosted.booster import TreeBooster
from fewsolves.predictors.families import family_of
from fewsolves.predictors.predictor import Predictor
from fewsolves.problem import Array
from fewsolves.training.history import History
from fewsolves.training.start import Rows, start
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.run import run

SOLVES = 8.0  # training solves per row
SIMULATED, REAL = ("inventory", "fleet", "wsmc-10-50"), ("market-clearing", "yaz-kitchen")
COLUMNS = ("squared error", "corrected", "trained for decisions")


class PredictionFocused(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A built-in predictor as a regressor: trained for squared error, stopped by a fifth of its rows."""

    def __init__(self, name: str = "linear", random_state: int | None = None) -> None:
        self.name = name
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> PredictionFocused:
        Y, seed = np.reshape(y, (len(y), -1)), self.random_state or 0
        split = split_rows(len(Y), rng=np.random.default_rng(seed), valid=0.2, test=0.0)
        net = family_of(self.name).net(self.name, self.name, X.shape[1:], Y.shape[1], seed)
        self.predictor_ = Predictor(net, Scale.of(X[split.train]), Scale.of(Y[split.train]))
        rows, valid = (Rows(X[part], Y[part]) for part in (split.train, split.valid))
        rng, history = np.random.default_rng(seed), History(Calls())
        start(self.name, self.predictor_, rows, valid, config=TrainConfig(), rng=rng, history=history)
        return self

    def predict(self, X: Array) -> Array:
        y_hat: Array = self.predictor_(np.asarray(X, dtype=float))
        return y_hat

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class Row(NamedTuple):
    """A predictor: as a regressor to correct, and by the name that trains it for decisions, where it can be."""

    name: str
    regressor: Callable[[], Any]
    trained: str | None = None


ROWS = (
    Row("linear", lambda: PredictionFocused("linear"), "linear"),
    Row("network", lambda: PredictionFocused("network"), "network"),
    Row("random forest", lambda: RandomForestRegressor(100, min_samples_leaf=3, n_jobs=1)),
    Row("xgboost", lambda: TreeBooster("xgboost"), "xgboost"),
    Row("lightgbm", lambda: TreeBooster("lightgbm"), "lightgbm"),
)


class Cell(NamedTuple):
    """One run."""

    problem: str
    dataset: int
    predictor: str
    column: str


def cells(datasets: int) -> Iterator[Cell]:
    for dataset in range(datasets):
        for problem in (*SIMULATED, *REAL):
            for row in ROWS:
                for column in COLUMNS:
                    if column != COLUMNS[2] or row.trained is not None:
                        yield Cell(problem, dataset, row.name, column)


def run_cell(cell: Cell) -> dict[str, Any]:
    began = time.process_time()
    real = cell.problem in REAL
    benchmark = load(cell.problem) if real else load(cell.problem, 200 + cell.dataset, n=300)
    row = next(row for row in ROWS if row.name == cell.predictor)
    method = "pfl" if cell.column == COLUMNS[0] else "staged"
    predictor = row.trained if cell.column == COLUMNS[2] else row.regressor()
    settings = {} if method == "pfl" else {"solves": SOLVES}
    done = run(benchmark, method, predictor=predictor, settings=settings, seed=cell.dataset).result
    kept = ("fresh_regret", "test_regret", "total_solves_per_instance", "solves_per_instance", "stopped", "kept_start")
    recorded = {name: done.get(name) for name in (*kept, "commit")}
    return {**cell._asdict(), **recorded, "processor_seconds": round(time.process_time() - began, 1)}


def regret(found: dict[str, Any]) -> float:
    return float(found["test_regret"] if found["fresh_regret"] is None else found["fresh_regret"])


def table(found: list[dict[str, Any]]) -> str:
    """Regret as a share of that of the linear predictor for squared error, mean over datasets; lowest in bold."""
    by = {Cell(*(one[name] for name in Cell._fields)): one for one in found}
    problems = [name for name in (*SIMULATED, *REAL) if any(cell.problem == name for cell in by)]
    lines = [
        "| problem | predictor | " + " | ".join(COLUMNS) + " | solves per row | datasets |",
        "|---|---|" + "---|" * 5,
    ]
    for problem in problems:
        shares: dict[tuple[str, str], tuple[float, int]] = {}
        for row in ROWS:
            for column in COLUMNS:
                here = [
                    cell for cell in by if (cell.problem, cell.predictor, cell.column) == (problem, row.name, column)
                ]
                pairs = [(by[cell], by.get(cell._replace(predictor="linear", column=COLUMNS[0]))) for cell in here]
                ratios = [regret(mine) / regret(base) for mine, base in pairs if base is not None]
                if ratios:
                    shares[row.name, column] = float(np.mean(ratios)), len(ratios)
        least = min(share for share, _ in shares.values())
        for row in ROWS:
            cells = [_share(shares.get((row.name, column)), least) for column in COLUMNS]
            trained = [
                [
                    by[cell]["total_solves_per_instance"]
                    for cell in by
                    if cell[0] == problem and cell[2:] == (row.name, c)
                ]
                for c in COLUMNS[1:]
            ]
            solves = ", ".join(f"{np.mean(of):.1f}" for of in trained if of)
            number = max((n for (name, _), (_, n) in shares.items() if name == row.name), default=0)
            lines.append(f"| {problem} | {row.name} | {' | '.join(cells)} | {solves} | {number} |")
    return "\n".join(lines) + "\n"


def _share(found: tuple[float, int] | None, least: float) -> str:
    if found is None:
        return "-"
    text = f"{found[0]:.2f}"
    return f"**{text}**" if found[0] == least else text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--datasets", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=15.0, help="No run begins later than that.")
    parser.add_argument("--problems", help="Only these, by comma.")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # that nothing was gained is in the numbers
    arguments.out.mkdir(parents=True, exist_ok=True)
    file, began = arguments.out / "runs.jsonl", time.monotonic()
    found = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    known = {Cell(*(one[name] for name in Cell._fields)) for one in found}
    wanted = None if arguments.problems is None else arguments.problems.split(",")
    for cell in cells(arguments.datasets):
        if cell in known or (wanted is not None and cell.problem not in wanted):
            continue
        if time.monotonic() - began > 60 * arguments.minutes:
            break
        done = run_cell(cell)
        found.append(done)
        with file.open("a") as out:
            out.write(json.dumps(done) + "\n")
        print(f"{cell} regret {regret(done):.4g}, {done['processor_seconds']} s", file=sys.stderr, flush=True)
    text = table(found)
    (arguments.out / "table.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
