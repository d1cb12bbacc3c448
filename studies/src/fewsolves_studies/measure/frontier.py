"""Regret against solves: every black-box method at every budget, on the paper's problems and the panel.

    python -m fewsolves_studies.measure.frontier --jobs 2  what is missing, then tables and pictures
    python -m fewsolves_studies.measure.frontier --cases fleet --budgets 1,4       some of it
    python -m fewsolves_studies.measure.frontier --show                            tables and pictures of what is there

A budget is the number of solves per training row that a method may pay to train. Runs are lines of OUT/runs.jsonl:
what is there is not run again. All methods of a dataset have the same rows and are measured on the same 2,000 fresh
ones. They begin at the same prediction-focused start, by Adam as in the paper (in closed form it is as good:
`studies/src/fewsolves_studies/measure/start.py`), which is fitted on the training rows. A method that cross-fits, as
the default does, splits rows by itself: it has training and validation rows as one table, and makes its own start.

Solves are counted three times: those of training alone, as the paper does; all but the labels; and all. What the
default pays for evidence is part of its budget, so for it the first two are the same. `shift` chooses its constants by
solves of validation rows: those are what it pays. Cost calls are bounded by their number, and counted. `rounds_of_8` is
how many solves eight workers would wait for, one after the other, if all solves took equally long: a request of nine
is two.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fewsolves.execution.base import Answers
from fewsolves.execution.registry import register
from fewsolves.execution.serial import Serial
from fewsolves.training.start import EPOCHS
from fewsolves_studies.benchmarks.catalogue import PANEL, load, split_without_test
from fewsolves_studies.benchmarks.study import Result, Study
from fewsolves_studies.measure.frontier_tables import BUDGETS, DEFAULT, FOUR, OWN, write

FIRST = ("pfl", "shift", "pairs", DEFAULT)  # everywhere, before the others begin
THEN = ("sfge", "gp-surrogate")
LEAST = {"pairs": 2, "sfge": 1, "gp-surrogate": 4}  # the fewest solves per row that a method can train with
LARGE = ("inventory", "lot-sizing", "dispatching")  # also with 1,000 rows
FRESH, BLOCKS = 2000, 10
Run = tuple[str, int | str]  # a method and its budget


@dataclass(frozen=True)
class Case:
    """A problem, a predictor, a number of rows."""

    problem: str
    predictor: str = "linear"
    n: int | None = None
    frozen: bool = False  # staffing: the same day for the same decision

    def __str__(self) -> str:
        parts = (self.problem, "frozen" if self.frozen else "", str(self.n or ""), self.predictor)
        return "-".join(part for part in parts if part and part != "linear")

    @property
    def options(self) -> dict[str, Any]:
        return ({} if self.n is None else {"n": self.n}) | ({"frozen": True} if self.frozen else {})


CASES = {
    str(case): case
    for case in (
        *(Case(problem) for problem in FOUR),
        *(Case(problem) for problem in PANEL),
        *(Case(problem, n=1000) for problem in LARGE),
        Case("staffing", frozen=True),
        *(Case(problem, "network") for problem in FOUR),
    )
}


def planned(methods: Sequence[str], budgets: Sequence[str]) -> list[Run]:
    """Methods with their budgets, in the order in which they run."""
    plan: list[Run] = []
    for method in methods:
        if method in ("pfl", "shift"):
            plan.append((method, OWN))
        else:
            numbers = sorted(int(budget) for budget in budgets if budget != OWN)
            plan += [(method, number) for number in numbers if number >= LEAST.get(method, 0)]
            plan += [(method, OWN)] if method == DEFAULT and OWN in budgets else []
    return plan


def name_of(case: Case, dataset: int, method: str, budget: int | str) -> str:
    """Of a run in the study."""
    return f"{case}/{method}@{budget}.{dataset}"


def split_of(case: Case, data: Any, dataset: int) -> Any:
    """The rows of a dataset by their use."""
    from fewsolves.data import split_rows

    if case.problem in PANEL:
        return split_without_test(data)
    return split_rows(len(data.X), rng=np.random.default_rng(dataset))


def rows_of(case: Case) -> int:
    """Training rows of a case, by which solves are counted."""
    return len(split_of(case, load(case.problem, 0, **case.options), 0).train)


class Counted(Serial):
    """Counts the rounds in which eight workers would answer what is requested."""

    rounds: ClassVar[int] = 0

    def solve(self, rows: np.ndarray, y_hat: np.ndarray, hints: Sequence[Any] | None = None) -> Iterator[Answers]:
        Counted.rounds += -(-len(rows) // 8)
        return super().solve(rows, y_hat, hints)


register("counted", lambda problem, resources: Counted(problem))


class Measured:
    """One dataset with its start, where all methods begin, and fresh rows to measure them on."""

    def __init__(self, case: Case, dataset: int, starts: Path, fresh: int = FRESH) -> None:
        """`starts`: a folder where starts are kept for what is run later; `fresh`: rows to measure on."""
        from safetensors.numpy import load_file, save_file

        from fewsolves.oracle import Oracle, SolveConfig

        self.solving = SolveConfig(execution="counted")
        self.case, self.data = case, load(case.problem, dataset, **case.options)
        self.split = split_of(case, self.data, dataset)
        frozen = {"frozen": True} if case.problem == "staffing" else {}  # measured under the same days
        rows = load(case.problem, dataset, **case.options | frozen).fresh(fresh)
        self.fresh, self.X = Oracle(rows.problem, rows.Y), rows.X
        kept = starts / f"{case}.{dataset}.safetensors"
        if kept.exists():
            self.start = self._fit("pfl", case.predictor, {"start_epochs": 0}).predictor
            self.start.load_state_dict(load_file(kept))
        else:
            self.start = self._fit("pfl", case.predictor, {"start_epochs": EPOCHS}).predictor
            starts.mkdir(parents=True, exist_ok=True)
            save_file(self.start.state_dict(), kept)

    def run(self, method: str, budget: int | str) -> Result:
        """What the study keeps of one run."""
        from fewsolves.methods.registry import METHODS

        began, n = time.process_time(), len(self.split.train)
        Counted.rounds = 0
        if METHODS[method].cross_fits:
            fitted = self._cross_fit(method, budget)
        else:
            limit, until = {}, []
            if budget != OWN and "solves" in METHODS[method].settings.__dataclass_fields__:
                limit = {"solves": budget}
            elif budget != OWN:
                until = [_until(float(budget) * n)]
            fitted = self._fit(method, self.start, {"start_epochs": 0} | limit, until)
        seconds, rounds = time.process_time() - began, Counted.rounds
        regret, calls = self.regret(fitted.predictor), fitted.oracle.calls
        solves = calls.counts["solve"]
        after_labels = calls.total("solve") - solves["labels"] - solves["probe"]
        training = calls.training("solve")
        if method == "shift":
            training = solves["validation"]
        elif METHODS[method].cross_fits:
            training = after_labels
        return {
            "regret": _short(np.mean(regret)),
            "blocks": [_short(block.mean()) for block in np.split(regret, BLOCKS)],
            "solves": _short(training / n),
            "solves_after_labels": _short(after_labels / n),
            "solves_in_all": _short(calls.total("solve") / n),
            "cost_calls": _short(calls.total("cost") / n),
            "seconds": round(seconds, 2),
            "rounds_of_8": rounds,
            "stopped": fitted.stopped,
            "kept_start": fitted.kept_start,
            **{key: fitted.report[key] for key in ("stand_in",) if key in fitted.report},
        }

    def _fit(self, method: str, predictor: Any, settings: dict[str, Any], callbacks: Any = ()) -> Any:
        from fewsolves.fitting.fit import fit
        from fewsolves.fitting.plan import Plan

        table = self.data.X, self.data.Y, self.split
        options: dict[str, Any] = {"method": method, "predictor": predictor, "settings": settings}
        return fit(Plan(self.data.problem, *table, solving=self.solving, **options), callbacks=callbacks)

    def _cross_fit(self, method: str, budget: int | str) -> Any:
        """A run over training and validation rows as one table, from its own start; solves are per training row."""
        from fewsolves.fitting.fit import fit
        from fewsolves.fitting.plan import Plan

        rows, n = np.sort(np.concatenate([self.split.train, self.split.valid])), len(self.data.X)
        problem, split = self.data.problem, self.data.split  # given where rows have an order
        if len(rows) < n and problem.instances is not None:
            problem = problem.with_instances([problem.instances[row] for row in rows])
        X, Y = (values[rows] if len(rows) < n else values for values in (self.data.X, self.data.Y))
        settings = {} if budget == OWN else {"solves": float(budget) * len(self.split.train) / len(rows)}
        chosen: dict[str, Any] = {"method": method, "predictor": self.case.predictor, "settings": settings}
        return fit(Plan(problem, X, Y, split if len(rows) == n else None, solving=self.solving, **chosen))

    def regret(self, predictor: Any) -> np.ndarray:
        """Of each fresh row."""
        y_hat = predictor(self.X)
        return self.fresh.regret(np.arange(len(self.X)), y_hat, phase="test")


ENOUGH = "the budget of this run"


def _until(limit: float) -> Any:
    """Ends training after the first epoch that has paid the given number of training solves."""
    from fewsolves.execution.base import TRAINING
    from fewsolves.training.history import Stop

    def callback(record: Any) -> Any:
        paid = sum(record.solves[phase] for phase in TRAINING)
        return Stop(ENOUGH) if record.stage == "train" and paid >= limit - 0.5 else None

    return callback


def _short(value: float) -> float:
    return float(f"{value:.7g}")


def run_in_turn(case: Case, dataset: int, plan: Sequence[Run], study: Study, fresh: int = FRESH) -> float:
    """In another process: the runs of one dataset, each kept as it ends; seconds of the processor."""
    import torch

    torch.set_num_threads(1)
    began, commit = time.process_time(), _commit()
    measured, ended = Measured(case, dataset, study.unfolded / "starts", fresh), dict[str, Result]()
    for method, budget in plan:
        # what ended by itself is not changed by a larger budget
        result = ended.get(method) or measured.run(method, budget) | {"commit": commit}
        if method in THEN and not result["stopped"].startswith(ENOUGH):
            ended[method] = result | {"seconds": 0.0}
        study.keep(name_of(case, dataset, method, budget), result)
    return time.process_time() - began


def _commit() -> str:
    found = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip()


def complete(tasks: Sequence[tuple[Case, int, Sequence[Run]]], study: Study, jobs: int) -> bool:
    """Run what the study lacks, one (case, dataset) per process at a time; whether nothing failed."""
    there = study.read()
    missing = [
        (case, dataset, rest)
        for case, dataset, plan in tasks
        if (rest := [one for one in plan if name_of(case, dataset, *one) not in there])
    ]
    log(f"{len(there)} runs are there, {sum(len(rest) for *_, rest in missing)} are missing")
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    began, fine, paid = time.monotonic(), True, 0.0
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(run_in_turn, *task, study): task for task in missing}
        for k, future in enumerate(as_completed(running), 1):
            case, dataset, rest = running[future]
            line = f"{case}, dataset {dataset}, {', '.join(dict.fromkeys(method for method, _ in rest))}"
            try:
                paid += (seconds := future.result())
                line += f": {seconds:.0f} s"
            except Exception as error:
                fine, line = False, f"{line} failed, {type(error).__name__}: {error}"
            left = (time.monotonic() - began) / k * (len(missing) - k) / 60
            log(f"{line}   [{k} of {len(missing)}, {paid / 60:.1f} min of the processor, about {left:.0f} min left]")
    study.fold()
    return fine


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/frontier"))
    parser.add_argument("--cases", default=",".join(CASES), help="of " + ", ".join(CASES))
    parser.add_argument("--methods", default=",".join((*FIRST, *THEN)))
    parser.add_argument("--datasets", type=int, default=5)
    parser.add_argument("--budgets", default=",".join(map(str, (*BUDGETS, OWN))))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="run nothing")
    given = parser.parse_args()
    study, fine = Study(given.out), True
    if not given.show:
        chosen = given.methods.split(",")
        passes = [[m for m in chosen if m not in THEN], [m for m in chosen if m in THEN]]
        tasks = [
            (CASES[name], dataset, planned(methods, given.budgets.split(",")))
            for methods in passes
            for dataset in range(given.datasets)
            for name in given.cases.split(",")
            if methods
        ]
        fine = complete(tasks, study, given.jobs)
    write(given.out, study.read())
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
