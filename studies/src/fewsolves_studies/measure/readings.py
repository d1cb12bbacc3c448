"""Readings of the paper's text, compared by the numbers of evaluations that the paper prints.

    python -m fewsolves_studies.measure.readings  the table of what is there, no run
    python -m fewsolves_studies.measure.readings --run --benchmarks kp-capacity --datasets 1  and what it lacks of
        these, first

A reading is the preset `gp-surrogate-paper` with settings changed (`paper.reading`): points of the hypercube; whether
they lie over the range of all truths, or around what the start predicts for each example; hyperparameters to the
optimum, or by a number of steps of Adam at each fit; a fit after 40 new samples of all examples together, or of each.
It is run in the printed settings (`CELLS`): the four of Q2, the ablation, and the sensitivity to beta. Runs are lines
of OUT/runs.jsonl: what is there is not run again. The reading "as it stands" is that of `results/paper`, and its runs
are taken from there.

A count depends on gate, units and refits far more than on luck, so readings are ranked by the distance of all counts,

    distance = sqrt( sum w ln(ours / printed)^2 / sum w ),    w = 1 / (0.05^2 + (printed std / printed mean)^2)

over the cells that a reading has been run in: 0.05 keeps a cell with a spread of a thousandth from deciding alone. What
is counted with sharing is the result of `counted`.
Regrets stand beside the counts, as ratios to PFL on the same datasets: on the 100 test rows, and on 2,000 fresh ones.
One lies within the spread if it is no further from the printed regret than the printed standard deviation.
Writes counts.csv and table.md.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fewsolves.data import split_rows
from fewsolves.training.start import EPOCHS
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.study import Result, Study
from fewsolves_studies.measure.frontier_tables import markdown
from fewsolves_studies.paper.experiment import FOUR
from fewsolves_studies.paper.run_trials import StudyProgress, run_trials
from fewsolves_studies.paper.tables import Printed, printed
from fewsolves_studies.paper.trial import Trial, options

Settings = dict[str, Any]
METHOD, READING = "gp-surrogate-paper", "gp-surrogate-reading"
DATASETS, SMALLEST_SPREAD, NEAR = 5, 0.05, 0.15
START = {"start_epochs": EPOCHS}  # as the paper starts, and the runs of `results/paper`
PAPER = Path(__file__).parents[4] / "results" / "paper"


class Cell(NamedTuple):
    """A row of a printed table: its settings, and the label that `results/paper` knows its runs by."""

    published_as: str
    table: str
    settings: Settings
    label: str


SHARED, Q1 = {"sharing": True}, "sharing off, beta 1"
CELLS = {
    Q1: Cell("beta=1.0", "sensitivity", {}, METHOD),
    **{
        f"beta {beta:g}": Cell(f"beta={beta}", "sensitivity", {"beta": beta}, f"{METHOD}, beta={beta}")
        for beta in (0.5, 0.1, 0.05, 0.01)
    },
    "pre-training off": Cell("pretrain off", "ablation", {"points": 1} | SHARED, "pretrain off"),
    "full model": Cell("full model", "ablation", SHARED, "full model"),
    "smoothing off": Cell("smoothing off", "ablation", SHARED | {"smoothing": "off"}, "smoothing off"),
    "differentiation off": Cell(
        "differentiation off", "ablation", SHARED | {"differentiate": False}, "differentiation off"
    ),
}


def at_least_30(n_y: int) -> Settings:
    """10 ln n_y points of the hypercube, at least 30: 30, 30 and 40 for 1, 10 and 50 parameters."""
    return {"points": max(30, math.ceil(10 * math.log(n_y)))}


OBSERVED, EACH = {"gate_std": "observation"}, {"refit_each": True}
AROUND = {"design": "near", "spread": 0.3}  # as wide as a hypercube of one standard deviation of each parameter
READINGS: dict[str, Callable[[int], Settings]] = {
    "as it stands": lambda n_y: {},
    "30 or 40 points": at_least_30,
    "3 steps, 40 of all": lambda n_y: at_least_30(n_y) | OBSERVED | {"adam_steps": 3},
    "3 steps, 40 of each": lambda n_y: at_least_30(n_y) | OBSERVED | EACH | {"adam_steps": 3},
    "10 steps, 40 of each": lambda n_y: at_least_30(n_y) | OBSERVED | EACH | {"adam_steps": 10},
    "100 steps, 40 of each": lambda n_y: at_least_30(n_y) | OBSERVED | EACH | {"adam_steps": 100},
    "optimum, 40 of each": lambda n_y: at_least_30(n_y) | OBSERVED | EACH,
    "100 steps, 40 of each, around the start": lambda n_y: READINGS["100 steps, 40 of each"](n_y) | AROUND,
    "optimum, 40 of each, around the start": lambda n_y: READINGS["optimum, 40 of each"](n_y) | AROUND,
    "optimum, 40 of each, patience 10": lambda n_y: at_least_30(n_y) | OBSERVED | EACH | {"patience": 10},
    "optimum, 40 of each, patience 60": lambda n_y: at_least_30(n_y) | OBSERVED | EACH | {"patience": 60},
    "optimum, 40 of each, random start": lambda n_y: at_least_30(n_y) | OBSERVED | EACH | {"warm_start": False},
}
N_Y = {"kp-weights": 50, "kp-values": 50, "kp-capacity": 1, "wsmc-10-50": 10}


COMPARED = 6  # points that landscapes are compared by


def trial(reading: str, cell: str, benchmark: str, dataset: int) -> Trial:
    """What is run for a cell. A reading that changes anything shares nothing but what `counted` says."""
    settings = READINGS[reading](N_Y[benchmark])
    if not settings:
        unchanged = not CELLS[cell].settings
        return Trial(
            benchmark=benchmark,
            method=METHOD,
            dataset=dataset,
            label="" if unchanged else CELLS[cell].label,
            settings=options(START | CELLS[cell].settings),
        )
    if cell == "full model":
        return trial(reading, Q1, benchmark, dataset)
    settings |= START | {name: value for name, value in CELLS[cell].settings.items() if name != "sharing"}
    if cell == "pre-training off":
        settings |= {"points": 0} if settings.get("refit_each") else {"points": 1}
    label = f"{reading}; {cell}"
    return Trial(benchmark=benchmark, method=READING, dataset=dataset, label=label, settings=options(settings))


@cache
def distinct(benchmark: str, dataset: int) -> float:
    """The share of training rows whose truth no earlier one has."""
    data = load(benchmark, dataset)
    truth = data.Y[split_rows(len(data.X), rng=np.random.default_rng(dataset)).train]
    return len(np.unique(truth, axis=0)) / len(truth)


def counted(run: Result, reading: str, cell: str, benchmark: str, dataset: int) -> float:
    """Evaluations per instance as the reading counts them.

    With sharing, examples of one truth have one landscape: beyond the points that landscapes are compared by, their
    hypercube is paid for once. It is paid for with pre-training off too, for the comparison, and not learned from.
    """
    paid, points = float(run["evaluations_per_instance"]), READINGS[reading](N_Y[benchmark]).get("points")
    if points is None or "sharing" not in CELLS[cell].settings:
        return paid
    hypercube = COMPARED + (points - COMPARED) * distinct(benchmark, dataset)
    taught = dict(trial(reading, cell, benchmark, dataset).settings)["points"]
    return paid - taught + hypercube


class Found(NamedTuple):
    """What is there of a reading in a cell, on some datasets of a benchmark."""

    reading: str
    cell: str
    benchmark: str
    runs: dict[int, Result]  # by dataset
    pfl: list[Result]  # of the same datasets

    @property
    def published(self) -> Any:
        return printed(f"{CELLS[self.cell].table}_solver_calls", CELLS[self.cell].published_as, self.benchmark)

    @property
    def count(self) -> float:
        where = self.reading, self.cell, self.benchmark
        return float(np.mean([counted(run, *where, dataset) for dataset, run in self.runs.items()]))

    @property
    def off(self) -> float:
        """ln(ours / printed)."""
        return math.log(self.count / self.published.mean)

    @property
    def weight(self) -> float:
        return 1.0 / (SMALLEST_SPREAD**2 + (self.published.std / self.published.mean) ** 2)

    @property
    def published_ratio(self) -> Printed:
        """The printed regret, to the printed one of PFL."""
        cell, pfl = CELLS[self.cell], printed("q1_regret", "pfl", self.benchmark)
        published = printed(f"{cell.table}_regret", cell.published_as, self.benchmark)
        assert published is not None and pfl is not None
        return Printed(published.mean / pfl.mean, published.std / pfl.mean)

    def regret_is_near(self, rows: str) -> bool:
        """Whether the regret lies within the printed spread."""
        return abs(self.ratio(rows) - self.published_ratio.mean) <= self.published_ratio.std

    def ratio(self, rows: str) -> float:
        """To PFL, on the `test` or `fresh` rows."""
        mine, pfl = (np.mean([run[f"{rows}_regret"] for run in runs]) for runs in (self.runs.values(), self.pfl))
        return float(mine / pfl)

    def row(self) -> dict[str, Any]:
        return {
            "reading": self.reading,
            "benchmark": self.benchmark,
            "cell": self.cell,
            "datasets": str(len(self.runs)),
            "printed": str(self.published),
            "ours": f"{self.count:.2f}",
            "off": f"{100 * math.expm1(self.off):+.0f} %",
            "printed to PFL": "{:.2f} ± {:.2f}".format(*self.published_ratio),
            "to PFL, 100 rows": f"{self.ratio('test'):.2f}",
            "to PFL, fresh rows": f"{self.ratio('fresh'):.2f}",
        }


def found(runs: Mapping[str, Result]) -> list[Found]:
    """Everything that is there, in the order of readings, benchmarks and cells."""
    every = []
    for reading in READINGS:
        for benchmark in FOUR:
            for cell in CELLS:
                mine = {
                    dataset: trial(reading, cell, benchmark, dataset).result_in(runs) for dataset in range(DATASETS)
                }
                there = {dataset: run for dataset, run in mine.items() if run is not None}
                pfl = [runs[Trial(benchmark=benchmark, method="pfl", dataset=n).run] for n in there]
                if there:
                    every.append(Found(reading, cell, benchmark, there, pfl))
    return every


def distance(cells: Iterable[Found]) -> float:
    weighed = [(one.weight, one.off) for one in cells]
    return math.sqrt(sum(w * off**2 for w, off in weighed) / sum(w for w, _ in weighed))


def within(cells: Iterable[Found], rows: str) -> str:
    """How many regrets lie within the printed spread; of Q1's four, and of all."""
    by_cell = [(one.cell == Q1, one.regret_is_near(rows)) for one in cells]
    first = [near for q1, near in by_cell if q1]
    return f"{sum(first)} of {len(first)}; all {sum(near for _, near in by_cell)} of {len(by_cell)}"


def ranking(every: list[Found]) -> list[dict[str, Any]]:
    """Readings, nearest first, and last those that lack a cell of Q1; `as it stands` on the same cells beside each."""
    of = {name: {(one.benchmark, one.cell): one for one in every if one.reading == name} for name in READINGS}
    now = of["as it stands"]
    rows = []

    def rank(name: str) -> tuple[bool, float]:
        return any((benchmark, Q1) not in of[name] for benchmark in FOUR), distance(of[name].values())

    for name in sorted((name for name in READINGS if of[name]), key=rank):
        mine = of[name]
        near = sum(abs(math.expm1(one.off)) <= NEAR for one in mine.values())
        same = [now[key] for key in mine if key in now]
        rows.append(
            {
                "reading": name,
                "cells": str(len(mine)),
                "runs": str(sum(len(one.runs) for one in mine.values())),
                "distance": f"{distance(mine.values()):.2f}",
                "within 15 %": f"{near} of {len(mine)}",
                "as it stands, same cells": f"{distance(same):.2f}" if same else "",
                **{
                    f"regrets within the spread, {rows} rows": within(mine.values(), rows) for rows in ("test", "fresh")
                },
            }
        )
    return rows


def write(folder: Path, every: list[Found]) -> str:
    rows = [one.row() for one in every]
    with (folder / "counts.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
    parts = [
        "# Readings of the paper by its counts",
        "Nearest first; last those not run on all four benchmarks. `python -m fewsolves_studies.measure.readings`",
        "",
    ]
    best = ranking(every)
    parts += [markdown(best), ""]
    for name in [row["reading"] for row in best[:5]]:
        mine = [{k: v for k, v in row.items() if k != "reading"} for row in rows if row["reading"] == name]
        parts += [f"## {name}", "", markdown(mine), ""]
    text = "\n".join(parts)
    (folder / "table.md").write_text(text)
    return text


def show(progress: StudyProgress, news: str) -> None:
    print(f"{news}  [{progress.line()}]", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=PAPER.parent / "readings")
    parser.add_argument("--run", action="store_true", help="run what is missing")
    parser.add_argument("--readings", default=";".join(READINGS), help="their names, separated by semicolons")
    parser.add_argument("--cells", default=";".join(CELLS), help="the same for cells")
    parser.add_argument("--benchmarks", default=",".join(FOUR))
    parser.add_argument("--datasets", type=int, default=DATASETS, help="how many, from 0 on")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    study = Study(given.out)
    if given.run:
        os.environ["OMP_NUM_THREADS"] = "1"
        readings = [name for name in given.readings.split(";") if name != "as it stands"]
        wanted = [
            trial(reading, cell, benchmark, dataset)
            for dataset in range(given.datasets)
            for benchmark in given.benchmarks.split(",")
            for cell in given.cells.split(";")
            for reading in readings
        ]
        run_trials(wanted, study, jobs=given.jobs, show=show)
    print(write(given.out, found(Study(PAPER).read() | study.read())))


if __name__ == "__main__":
    main()
