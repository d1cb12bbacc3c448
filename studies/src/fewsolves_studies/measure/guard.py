"""How sure is what `staged` hands back: its decisions on 200 simulated datasets beside the truth on fresh rows.

    python -m fewsolves_studies.measure.guard --jobs 2

Five problems of the panel, 40 datasets each that nothing was chosen on (from 200 on), 300 rows of which 60 validate,
a linear predictor that starts at least squares. Each stage of a run proposes a candidate, and the validation rows
decide whether it is taken, in part, or not. Here the candidate and what stood before it are also measured on 2,000
fresh rows. Changes of less than 1 % of the start's regret are left out. Datasets are lines of OUT/runs.jsonl: what is
there is not run again.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from fewsolves_studies.benchmarks.study import Result, Study
from fewsolves_studies.measure.frontier_tables import markdown

PROBLEMS = ("fleet", "inventory", "lot-sizing", "loading", "portfolio")
BUDGETS = (2, 8)
FIRST = 200
SMALL = 0.01  # of the start's regret


def measure(problem: str, dataset: int) -> Result:
    """By budget: the true regret of the start and of what is handed back, and every decision on the way."""
    import torch

    from fewsolves.data import Scale, split_rows
    from fewsolves.fitting.fit import fit
    from fewsolves.fitting.plan import Plan
    from fewsolves.methods.base import Context, Outcome
    from fewsolves.methods.staged import pool
    from fewsolves.methods.staged.method import Staged, Stages
    from fewsolves.oracle import Oracle
    from fewsolves.predictors.predictor import BUILT_IN, Predictor
    from fewsolves_studies.benchmarks.catalogue import load

    torch.set_num_threads(1)
    pool.FREE = math.inf  # cost calls are much cheaper than solves, whatever the clock says of these quick problems
    data = load(problem, dataset)
    split = split_rows(len(data.X), rng=np.random.default_rng(dataset), valid=0.2, test=0.0)
    rows = data.fresh(2000)
    fresh, X_fresh = Oracle(rows.problem, rows.Y), torch.as_tensor(rows.X)
    start = Predictor(
        BUILT_IN["linear"](data.X.shape[1], data.Y.shape[1], seed=0),
        Scale.of(data.X[split.train]),
        Scale.of(data.Y[split.train]),
        None,
    )
    fit_least_squares(start, data.X[split.train], data.Y[split.train])

    def truth(predictor: Any) -> float:
        with torch.no_grad():
            regret = fresh.regret(np.arange(len(rows.Y)), predictor(X_fresh).numpy(), phase="test")
        return float(f"{regret.mean():.7g}")

    class Watched(Stages):
        """Measures candidates, and what stands before and after each decision."""

        def _accept(self, stage: str, **how: Any) -> Any:
            before, candidate = self._true(self.kept), truth(self.predictor)
            n = len(self.report["stages"])
            evidence = super()._accept(stage, **how)
            if len(self.report["stages"]) > n:
                self.report["stages"][-1] |= {"before": before, "candidate": candidate, "after": self._true(self.kept)}
            return evidence

        def _true(self, weights: Any) -> float:
            now = self._weights()
            self.predictor.load_state_dict(weights)
            found = truth(self.predictor)
            self.predictor.load_state_dict(now)
            return found

    class WatchedMethod(Staged):
        name = "staged, watched"

        def train(self, context: Context) -> Outcome:
            return Watched(context).run()

    result: Result = {"start": truth(start)}
    for budget in BUDGETS:
        settings = {"start_epochs": 0, "solves": budget}
        plan = Plan(data.problem, data.X, data.Y, split, method=WatchedMethod(), predictor=start, settings=settings)
        fitted = fit(plan)
        keys = ("stage", "change", "error", "accepted", "before", "candidate", "after")
        stages = [{key: stage[key] for key in keys} for stage in fitted.report["stages"]]
        result[str(budget)] = {"handed_back": truth(fitted.predictor), "stages": stages}
    return result


def fit_least_squares(predictor: Any, X: np.ndarray, Y: np.ndarray) -> None:
    """Set the weights of a linear predictor, whose net maps standardised X to standardised Y."""
    import torch

    from fewsolves.data import Scale

    x, y = ((v - Scale.of(v).mean) / Scale.of(v).std for v in (X, Y))
    W = np.linalg.lstsq(np.c_[x, np.ones(len(x))], y, rcond=None)[0]
    with torch.no_grad():
        predictor.net.weight.copy_(torch.as_tensor(W[:-1].T))
        predictor.net.bias.copy_(torch.as_tensor(W[-1]))


def handed_back(results: Mapping[str, Result], budget: int) -> list[dict[str, str]]:
    """One row per problem, and one of all: how often the result is worse or better than the start, and by how much."""
    rows = []
    for problem in (*PROBLEMS, "all"):
        some = [r for run, r in results.items() if problem in ("all", run.partition("/")[0])]
        if not some:
            continue
        change = np.array([r[str(budget)]["handed_back"] / r["start"] - 1 for r in some])
        proposed = np.array([_proposed(r[str(budget)]["stages"], r["start"]) for r in some])
        worse, better = change > SMALL, change < -SMALL
        rows.append(
            {
                "problem": problem,
                "solves per row": str(budget),
                "datasets": str(len(some)),
                "worse than the start": f"{worse.mean():.0%}",
                "by, on average": f"{change[worse].mean():+.1%}" if worse.any() else "",
                "at the most": f"{change[worse].max():+.1%}" if worse.any() else "",
                "better": f"{better.mean():.0%}",
                "mean change": f"{change.mean():+.1%}",
                "of the last candidates": f"{proposed.mean():+.1%}",
            }
        )
    return rows


def _proposed(stages: Sequence[Mapping[str, float]], start: float) -> float:
    """What the last candidate would have changed."""
    return stages[-1]["candidate"] / start - 1 if stages else 0.0


def decisions(results: Mapping[str, Result], budget: int) -> list[dict[str, str]]:
    """What became of candidates that are truly better, and of those that are truly worse."""
    found = [(stage, r["start"]) for r in results.values() for stage in r[str(budget)]["stages"]]
    rows = []
    for name, sign in (("better", -1), ("worse", 1)):
        some = [s["accepted"] for s, start in found if sign * (s["candidate"] - s["before"]) > SMALL * start]
        if some:
            part = [share for share in some if 0.0 < share < 1.0]
            shares = [np.mean(np.array(some) >= 1.0), len(part) / len(some), np.mean(np.array(some) == 0.0)]
            rows.append(
                {
                    "solves per row": str(budget),
                    "candidates that are": name,
                    "number": str(len(some)),
                    **dict(zip(("taken", "taken in part", "rejected"), (f"{s:.0%}" for s in shares), strict=True)),
                    "the part, on average": f"{np.mean(part):.2f}" if part else "",
                }
            )
    return rows


def keep(problem: str, dataset: int, study: Study) -> str:
    study.keep(f"{problem}/{dataset}", measure(problem, dataset))
    return f"{problem} {dataset}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/guard"))
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--datasets", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    study = Study(given.out)
    there = study.read()
    missing = [
        (problem, dataset)
        for dataset in range(FIRST, FIRST + given.datasets)
        for problem in given.problems.split(",")
        if f"{problem}/{dataset}" not in there
    ]
    with ProcessPoolExecutor(given.jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(keep, *one, study) for one in missing]
        for k, future in enumerate(futures, 1):
            print(f"{future.result()}  [{k} of {len(missing)}]", flush=True)
    study.fold()
    write(given.out, study.read())


def write(out: Path, results: Mapping[str, Result]) -> None:
    """Both tables as Markdown, and as CSV each."""
    tables = {
        "handed-back": [row for budget in BUDGETS for row in handed_back(results, budget)],
        "decisions": [row for budget in BUDGETS for row in decisions(results, budget)],
    }
    text = ["Made by `python -m fewsolves_studies.measure.guard`."]
    for name, rows in tables.items():
        text.append(markdown(rows))
        with (out / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    (out / "tables.md").write_text("\n\n".join(text) + "\n")


if __name__ == "__main__":
    main()
