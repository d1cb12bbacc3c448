"""Readings of the paper's gate, screened without training: how many examples each doubts right after its first design.

    python -m fewsolves_studies.measure.readings_screen --datasets 5

Builds the surrogate of `gp-surrogate-paper` on the training rows and asks for its std at the predictions that training
starts from. A reading is one choice of each:

    points   "6 + 5 log2": the preset's number of points of the hypercube; "30 or 40": 10 ln n_y, at least 30
    fit      hyperparameters to the optimum, or by `adam_steps` steps of Adam from GPyTorch's starting values
    units    regret standardised over all examples, or for each example by itself (there to the optimum only)
    std      of the function, of an observation (noise included), or relative to the std before anything was known
    start    predictions of least squares, or of random weights

`doubted` is the share of examples whose std is not below beta. Two counts follow from it without training: an example
that learns from each sample at once pays for one at the least; one that learns after 40 of its own (`refit_each`) pays
for 40 before anything changes. The second is laid beside the printed counts, with the distance of `readings.py`.
Datasets are lines of OUT/runs.jsonl: what is there is not measured again. Writes screen.csv, a row per reading,
benchmark and beta, and screen.md.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fewsolves.data import split_rows
from fewsolves.methods.gp_surrogate.surrogate.design import draw, papers_number_of_points
from fewsolves.methods.gp_surrogate.surrogate.regret import RegretSurrogate
from fewsolves.oracle import Oracle
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.study import Result, Study
from fewsolves_studies.measure.frontier_tables import markdown
from fewsolves_studies.measure.readings import NEAR, SMALLEST_SPREAD, at_least_30
from fewsolves_studies.paper.experiment import FOUR
from fewsolves_studies.paper.reading.method import DEFAULTS, ReadingSurrogate
from fewsolves_studies.paper.tables import printed

BETAS = (1.0, 0.5, 0.1, 0.05, 0.01)
WAITS = 40  # samples of its own that an example waits for, the paper's t
POINTS = {"6 + 5 log2": papers_number_of_points, "30 or 40": lambda n_y: at_least_30(n_y)["points"]}
READING = ("points", "fit", "units", "std", "start")
FITS = {"optimum": 0, "100 steps": 100, "50 steps": 50, "20 steps": 20}
Row = dict[str, Any]


def stds(surrogate: RegretSurrogate, u: Array) -> dict[str, Array]:
    """By reading of the gate: the std (M,) of every example at u."""
    everyone = np.arange(len(u))
    std = surrogate.posterior(torch.as_tensor(u), everyone)[1].numpy()
    gps = surrogate.gps
    return {
        "function": std,
        "observation": np.sqrt(std**2 + gps.noise),
        "relative": std / np.sqrt(gps.outputscale),
    }


def standardise_each(surrogate: RegretSurrogate) -> None:
    """Targets of each example in its own units: the same samples, smoothed alike, and a fit of their own."""
    everyone = np.arange(len(surrogate.truth))
    of_each = []
    for i in everyone:
        targets = surrogate.gps.targets_of(i)
        design = targets[1:]  # the first is the truth, which is no sample of the hypercube
        of_each.append((targets - design.mean()) / (design.std() or 1.0))
    surrogate.gps.set_targets(everyone, of_each)
    surrogate.gps.fit()


def screened(benchmark: str, dataset: int) -> Iterator[tuple[tuple[str, ...], int, Array]]:
    """Every reading on one dataset: its choices, its number of points, and the stds of all examples."""
    data = load(benchmark, dataset)
    train = split_rows(len(data.X), rng=np.random.default_rng(dataset)).train
    X, Y, rng = data.X[train], data.Y[train], np.random.default_rng(dataset)
    X = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))])
    mean, scale = Y.mean(axis=0), np.where(Y.std(axis=0) > 0, Y.std(axis=0), 1.0)
    truth, n_x = Y / scale, X.shape[1] - 1
    weights = rng.uniform(-1, 1, (n_x, Y.shape[1])) / math.sqrt(n_x)  # as torch starts a linear layer
    starts = {
        "least squares": X @ np.linalg.lstsq(X, truth, rcond=None)[0],
        "random": X[:, :-1] @ weights + mean / scale,
    }
    oracle = Oracle(data.problem, Y)
    for name, number in POINTS.items():
        k = number(Y.shape[1])
        drawn = draw("box", truth, truth, k, 0.15, rng)
        regret = oracle.first_points(drawn.points * scale)[1]
        for fit, steps in FITS.items():
            surrogate = ReadingSurrogate(truth, drawn, regret, replace(DEFAULTS, adam_steps=steps))
            for units in ("all",) if steps else ("all", "each"):
                if units == "each":
                    standardise_each(surrogate)
                for start, u in starts.items():
                    for kind, std in stds(surrogate, u).items():
                        yield (name, fit, units, kind, start), k, std


def measure(benchmark: str, dataset: int) -> Result:
    """By reading: its number of points, and the share of examples that it doubts at each beta."""
    return {
        " | ".join(reading): {"k": k, "doubted": [float((~(std < beta)).mean()) for beta in BETAS]}
        for reading, k, std in screened(benchmark, dataset)
    }


def screen(study: Study, datasets: int) -> list[Row]:
    """The rows of all readings; what the study lacks is measured and kept."""
    rows = []
    for benchmark in FOUR:
        names, there = [f"screen/{benchmark}.{dataset}" for dataset in range(datasets)], study.read()
        for dataset, name in enumerate(names):
            if name not in there:
                study.keep(name, measure(benchmark, dataset))
        found = [study.read()[name] for name in names]
        for reading, one in found[0].items():
            for at, beta in enumerate(BETAS):
                doubted = [each[reading]["doubted"][at] for each in found]
                rows.append(row(benchmark, tuple(reading.split(" | ")), beta, one["k"], doubted))
    study.fold()
    return rows


def row(benchmark: str, reading: tuple[str, ...], beta: float, k: int, doubted: list[float]) -> Row:
    published = printed("sensitivity_solver_calls", f"beta={beta}", benchmark)
    assert published is not None
    share = float(np.mean(doubted))
    return {
        **dict(zip(READING, reading, strict=True)),
        "benchmark": benchmark,
        "beta": f"{beta:g}",
        "datasets": str(len(doubted)),
        "k": str(k),
        "doubted": f"{share:.3f}",
        "spread": f"{np.std(doubted):.3f}",
        "after one each": f"{k + share:.2f}",
        "after 40 each": f"{k + WAITS * share:.2f}",
        "printed": str(published),
    }


def distance(rows: list[Row], count: str) -> float:
    """As in `readings.py`."""
    weighed = []
    for one in rows:
        published = printed("sensitivity_solver_calls", f"beta={float(one['beta'])}", one["benchmark"])
        assert published is not None
        weight = 1.0 / (SMALLEST_SPREAD**2 + (published.std / published.mean) ** 2)
        weighed.append((weight, math.log(float(one[count]) / published.mean)))
    return math.sqrt(sum(w * off**2 for w, off in weighed) / sum(w for w, _ in weighed))


def near(rows: list[Row], count: str) -> str:
    published = [float(one["printed"].split()[0]) for one in rows]
    within = [abs(float(one[count]) / mean - 1.0) <= NEAR for one, mean in zip(rows, published, strict=True)]
    return f"{sum(within)} of {len(within)}"


def table(rows: list[Row]) -> str:
    """Readings, nearest first; below, the nearest one beside the printed counts."""
    of: dict[tuple[str, ...], list[Row]] = {}
    for one in rows:
        of.setdefault(tuple(one[head] for head in READING), []).append(one)
    order = sorted(of, key=lambda reading: distance(of[reading], "after 40 each"))
    ranked = [
        {
            **dict(zip(READING, reading, strict=True)),
            "distance, 40 each": f"{distance(of[reading], 'after 40 each'):.2f}",
            "within 15 %": near(of[reading], "after 40 each"),
            "distance, one each": f"{distance(of[reading], 'after one each'):.2f}",
        }
        for reading in order
    ]
    shown = ("benchmark", "beta", "doubted", "spread", "after 40 each", "printed")
    best = [{head: one[head] for head in shown} for one in of[order[0]]]
    title = "# The gate of each reading, right after the first design"
    return "\n".join([title, "", markdown(ranked), "", "## The nearest", "", markdown(best), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[4] / "results" / "readings")
    parser.add_argument("--datasets", type=int, default=5, help="how many, from 0 on")
    given = parser.parse_args()
    torch.set_num_threads(1)
    given.out.mkdir(parents=True, exist_ok=True)
    rows = screen(Study(given.out), given.datasets)
    with (given.out / "screen.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
    text = table(rows)
    (given.out / "screen.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
