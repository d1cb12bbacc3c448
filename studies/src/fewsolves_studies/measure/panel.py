"""What is to be gained on the panel: linear predictor, all rows of a dataset, 1,000 fresh rows, dataset seeds 0, 1, 2.

    python -m fewsolves_studies.measure.panel                              all of it, half an hour
    python -m fewsolves_studies.measure.panel --problems fleet,loading  these again, the others as they stand in
        gains.csv

PFL          least squares
true mean    E[y | x] as the prediction
shift        PFL + s std(y), one s for all outputs, by a line search over 3,000 other rows
shifts       PFL + one number per output, by pairs on 3,000 other rows
pairs@k      antithetic pairs from PFL, all weights, k training solves per row
pairs, 3000  the same from `shift` on 3,000 other rows, 128 solves per row: what a linear predictor gains with much data

Where a row takes milliseconds (SLOW), there are 300 fresh rows, 300 other ones, a coarser line, and no `pairs`.

Writes gains.csv, a row per dataset, and gains.md. In the former `se` is the standard error of PFL, `... se` that of the
mean difference to PFL, paired, and `negative` the share of PFL's regrets below 0.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fewsolves.demo.benchmark import Rows
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.catalogue import PANEL, load

SEEDS, MANY = (0, 1, 2), 3000
SIGMA, RATE, BATCH = 0.3, 0.02, 30  # noise in units of std(y); Adam's rate, falling to 0; rows, or n / 50
SHIFTS = np.linspace(-1.5, 1.5, 31)
SLOW, FEW = ("crews", "recourse"), 300
GAINS = ("true mean", "shift", "shifts", "pairs@64", "pairs@256", "pairs, 3000")
HEAD = """Regrets on fresh rows as ratios to PFL: mean over datasets (least to largest). PFL itself is an absolute
regret, +- its standard error, and the share of rows where it lies below 0. R2 is that of PFL on fresh rows;
`cost at y` is the mean cost of what the solver decides at the true parameters. Microseconds are
those of one row of a batch, on a busy machine. crews and recourse, which are slow, have 300 fresh rows and
300 others instead of 1,000 and 3,000, and no `pairs`."""


class Scored(NamedTuple):
    """Rows with the cost of the solver's decision at their true parameters."""

    rows: Rows
    best: Array

    def regret(self, Y_hat: Array) -> Array:
        return self.rows.cost(Y_hat) - self.best

    def part(self, at: Array) -> Scored:
        X, Y, problem = self.rows
        if problem.instances is not None:
            problem = problem.with_instances([problem.instances[i] for i in at])
        return Scored(Rows(X[at], Y[at], problem), self.best[at])


def scored(rows: Rows) -> Scored:
    return Scored(rows, rows.cost(rows.Y))


def design(X: Array) -> Array:
    return np.column_stack([X, np.ones(len(X))])


def pairs(
    on: Scored, W: Array, unit: Array, solves: int, rng: np.random.Generator, *, only_shift: bool = False
) -> Array:
    """Adam on antithetic pairs, W (p + 1, n_y) and `unit` = std(y); the mean of the last fifth of the path."""
    A, n = design(on.rows.X), len(on.rows.X)
    epochs, batch = solves // 2, max(BATCH, n // 50)
    steps = epochs * -(-n // batch)
    W, first, second, average = W.copy(), np.zeros_like(W), np.zeros_like(W), np.zeros_like(W)
    step = taken = 0
    for _ in range(epochs):
        order = rng.permutation(n)
        for start in range(0, n, batch):
            at = order[start : start + batch]
            rows = on.part(at)
            noise = rng.standard_normal((len(at), len(unit)))
            y_hat = A[at] @ W
            slope = rows.regret(y_hat + SIGMA * unit * noise) - rows.regret(y_hat - SIGMA * unit * noise)
            gradient = A[at].T @ (slope[:, None] * noise) / (2 * SIGMA * len(at))  # in units of std(y)
            if only_shift:
                gradient[:-1] = 0.0
            step += 1
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            move = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-12)
            W -= RATE * (1 - step / (steps + 1)) * unit * move
            if step > 0.8 * steps:
                average += W
                taken += 1
    return average / taken


def microseconds(rows: Rows) -> tuple[float, float]:
    """Of one solve and one cost within a batch, the least of seven readings."""
    problem = rows.problem
    known = () if problem.instances is None else (problem.instances,)
    solves, costs = [], []
    for _ in range(7):
        begun = time.perf_counter()
        Z = problem.solve_batch(rows.Y, *known)
        solved = time.perf_counter()
        problem.cost_batch(rows.Y, Z, *known)
        solves.append(solved - begun)
        costs.append(time.perf_counter() - solved)
    return 1e6 * min(solves) / len(rows.Y), 1e6 * min(costs) / len(rows.Y)


def measure(name: str, seed: int) -> dict[str, float | str]:
    dataset, slow = load(name, seed), name in SLOW
    test, many = (scored(dataset.fresh(FEW if slow else n, k)) for k, n in enumerate((1000, MANY)))
    rng, unit = np.random.default_rng(seed), dataset.Y.std(axis=0)
    W = np.linalg.lstsq(design(dataset.X), dataset.Y, rcond=None)[0]

    def on_test(weights: Array) -> Array:
        return test.regret(design(test.rows.X) @ weights)

    def shifted(s: float) -> Array:
        moved = W.copy()
        moved[-1] += s * unit
        return moved

    start = on_test(W)
    tried = SHIFTS[::3] if slow else SHIFTS
    line = [many.regret(design(many.rows.X) @ shifted(s)).mean() for s in tried]
    s = float(tried[int(np.argmin(line))])
    policies = {
        "shift": shifted(s),
        "shifts": pairs(many, shifted(s), unit, 16 if slow else 64, rng, only_shift=True),
    }
    if not slow:
        train = scored(dataset.rows)
        policies |= {
            "pairs@64": pairs(train, W, unit, 64, rng),
            "pairs@256": pairs(train, W, unit, 256, rng),
            "pairs, 3000": pairs(many, shifted(s), unit, 128, rng),
        }
    solve_time, cost_time = microseconds(test.rows)
    variance = ((test.rows.Y - test.rows.Y.mean(axis=0)) ** 2).sum()
    found: dict[str, float | str] = {
        "problem": name,
        "dataset": seed,
        "n_y": len(unit),
        "n_x": test.rows.X.shape[1],
        "instances": "" if test.rows.problem.instances is None else "yes",
        "us solve": solve_time,
        "us cost": cost_time,
        "R2": 1 - ((test.rows.Y - design(test.rows.X) @ W) ** 2).sum() / variance,
        "cost at y": test.best.mean(),
        "PFL": start.mean(),
        "se": start.std() / np.sqrt(len(start)),
        "negative": (start < -1e-9).mean(),
        "true mean": test.regret(dataset.conditional_mean(test.rows.X)).mean(),
        "s": s,
    }
    for key in GAINS[1:]:
        found[key] = found[f"{key} se"] = ""
        if key in policies:
            regret = on_test(policies[key])
            found[key] = regret.mean()
            found[f"{key} se"] = (regret - start).std() / np.sqrt(len(start))
    return {key: value if isinstance(value, str) else f"{value:.6g}" for key, value in found.items()}


def table(rows: list[dict[str, str]]) -> str:
    lines = [
        "| | n_y | n_x | instances | us solve / cost | R2 | cost at y | PFL | below 0 | " + " | ".join(GAINS) + " |",
        "|---" * (9 + len(GAINS)) + "|",
    ]
    for name in PANEL:
        runs = [row for row in rows if row["problem"] == name]
        if not runs:
            continue
        n_y, n_x, instances = (runs[0][key] for key in ("n_y", "n_x", "instances"))
        mean = {
            key: np.mean([float(run[key]) for run in runs])
            for key in ("us solve", "us cost", "R2", "cost at y", "PFL", "se", "negative")
        }
        cells = [
            name, n_y, n_x, instances, f"{mean['us solve']:.1f} / {mean['us cost']:.1f}", f"{mean['R2']:.2f}",
            f"{mean['cost at y']:.4g}", f"{mean['PFL']:.4g} +- {mean['se']:.2g}", f"{mean['negative']:.3f}",
        ]  # fmt: skip
        for key in GAINS:
            ratios = [float(run[key]) / float(run["PFL"]) for run in runs if run[key]]
            cells.append(f"{np.mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default=",".join(PANEL))
    parser.add_argument("--out", type=Path, default=Path("results/panel"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "gains.csv"
    kept = list(csv.DictReader(file.open(newline=""))) if file.exists() else []
    for name in given.problems.split(","):
        kept = [row for row in kept if row["problem"] != name] + [measure(name, seed) for seed in SEEDS]
        kept.sort(key=lambda row: (PANEL.index(row["problem"]), int(row["dataset"])))
        with file.open("w", newline="") as out:
            writer = csv.DictWriter(out, list(kept[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept)
        print(table([row for row in kept if row["problem"] == name]).splitlines()[-1], flush=True)
    (given.out / "gains.md").write_text(
        f"Made by `python -m fewsolves_studies.measure.panel`.\n\n{HEAD}\n\n{table(kept)}\n"
    )


if __name__ == "__main__":
    main()
