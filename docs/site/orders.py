"""The problem of the pictures: `python orders.py NAME METHOD [wait]` trains on it in runs/NAME.

Orders round up, and a unit that is missing costs nine times as much as one that is ordered. The licence server is down
now and then. With "wait" the solver stops in the middle of the run until the file go-on is there, so that what is shown
then can be photographed. The program also runs with earlier versions of fewsolves.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

import fewsolves as fs

SECONDS = 0.01  # of a solve
LABELS = 150  # solves in which no failure would do: a row without its label is left out
HALT = 780  # solves after which the run waits: its first stage has been judged
BUDGET = 1500


class Solver:
    """Orders round up; the licence server is down now and then, and the solver may wait in the middle of the run."""

    def __init__(self, wait: bool = False) -> None:
        self.solves, self.wait, self.reached, self.go_on = 0, wait, threading.Event(), threading.Event()

    def __call__(self, y_hat: np.ndarray) -> np.ndarray:
        """Return the order."""
        self.solves += 1
        time.sleep(SECONDS)
        if self.solves > LABELS and self.solves % 97 == 0:
            raise RuntimeError("licence server down")
        if self.wait and self.solves == HALT:
            self.reached.set()
            self.go_on.wait()
        return np.ceil(y_hat)


def cost(y: np.ndarray, z: np.ndarray) -> float:
    """Each unit costs 1, and each that is missing 9 more."""
    return float(np.sum(z + 9.0 * np.maximum(y - z, 0.0)))


def table() -> tuple[np.ndarray, np.ndarray]:
    """Weather and demand of 150 days."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    return X, rng.poisson(20 + 5 * X[:, :2] ** 2)


def model(solver: Solver, folder: Path, method: str = "staged", *, verbose: bool = True) -> fs.DecisionRegressor:
    """Not yet fitted."""
    return fs.DecisionRegressor(
        fs.Problem(solve=solver, cost=cost, name="orders", lower=0.0),
        method,
        budget=fs.Budget(solves=BUDGET),
        on_failure="skip",
        folder=folder,
        verbose=verbose,
    )


problem = fs.Problem(solve=np.ceil, cost=cost, name="orders", lower=0.0)  # for the command line


def main() -> None:
    """Train, and write the report."""
    name, method, *more = sys.argv[1:]
    solver, folder = Solver(wait="wait" in more), Path("runs") / name

    def pass_on() -> None:
        solver.reached.wait()
        Path("reached").touch()
        while not Path("go-on").exists():
            time.sleep(0.1)
        solver.go_on.set()

    threading.Thread(target=pass_on, daemon=True).start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report has them
        fs.report(model(solver, folder, method).fit(*table()), folder / "report.html")


if __name__ == "__main__":
    main()
