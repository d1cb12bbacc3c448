"""A linear problem with heavy tails: the shortest path over a 5 x 5 grid, costs of degree 8, no noise, 400 rows.

    python -m fewsolves_studies.measure.heavy_tails --jobs 2

The generator of the published comparisons (Elmachtoub and Grigas, 2022). Eight datasets; each method may pay four
solves per row in all, labels and evidence included (`Budget(solves=)`). The regret of a row is relative to its
best cost; the mean of these gives every row the same weight, while the ratio of sums follows the dearest rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

import fewsolves as fs
from fewsolves_studies.benchmarks import catalogue
from fewsolves_studies.benchmarks.study import Result
from fewsolves_studies.measure.resumable import Group, complete, parser_of, write

SIDE, FEATURES, DEGREE = 5, 5, 8
ROWS, FRESH, SEEDS, SOLVES = 400, 2000, 8, 4
METHODS = ("pfl", "staged", "spo+")
SETTINGS = {"spo+": {"warm_start": True, "learning_rate": 0.01}}  # as its page says for few solves
PANEL_NAME = "paths"


class Grid:
    """Shortest paths from one corner of a grid to the opposite one, right and down, by dynamic programming."""

    def __init__(self, side: int) -> None:
        self.side, self.n_y = side, 2 * side * (side - 1)

    def right(self, i: int, j: int) -> int:
        """Number of the edge from node (i, j) to (i, j + 1)."""
        return i * (2 * self.side - 1) + j

    def down(self, i: int, j: int) -> int:
        """Number of the edge from node (i, j) to (i + 1, j)."""
        return i * (2 * self.side - 1) + self.side - 1 + j

    def solve(self, Y_hat: np.ndarray) -> np.ndarray:
        """(n, n_y): 0 or 1, the edges of the best path of each row."""
        n, last = len(Y_hat), self.side - 1
        rest, path = {(last, last): np.zeros(n)}, {(last, last): np.zeros((n, self.n_y))}
        for i in range(last, -1, -1):
            for j in range(last, -1, -1):
                ways = [(self.right(i, j), (i, j + 1))] if j < last else []
                ways += [(self.down(i, j), (i + 1, j))] if i < last else []
                for k, (edge, end) in enumerate(ways):
                    cost, chosen = Y_hat[:, edge] + rest[end], path[end].copy()
                    chosen[:, edge] = 1.0
                    better = np.ones(n, dtype=bool) if k == 0 else cost < rest[i, j]
                    rest[i, j] = cost if k == 0 else np.where(better, cost, rest[i, j])
                    path[i, j] = chosen if k == 0 else np.where(better[:, None], chosen, path[i, j])
        return path[0, 0]

    def cost(self, Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """(n,)."""
        return np.asarray((Y * Z).sum(axis=1))


def data_of(dataset: int, n: int, n_fresh: int) -> tuple[fs.Problem, tuple[np.ndarray, ...]]:
    """The problem, X, Y, and fresh X, Y: those of the panel where it has them."""
    if PANEL_NAME in catalogue.NAMES:
        made = catalogue.load(PANEL_NAME, dataset, n=n)
        fresh = made.fresh(n_fresh)
        return made.problem, (made.X, made.Y, fresh.X, fresh.Y)
    grid, rng = Grid(SIDE), np.random.default_rng([dataset, 0])
    B = rng.binomial(1, 0.5, size=(grid.n_y, FEATURES))
    X = rng.standard_normal((n + n_fresh, FEATURES))
    Y = ((X @ B.T / np.sqrt(FEATURES) + 3) ** DEGREE + 1) / 3.5**DEGREE
    problem = fs.Problem(solve_batch=grid.solve, cost_batch=grid.cost, linear="min")
    return problem, (X[:n], Y[:n], X[n:], Y[n:])


def measure(group: Group) -> Iterator[Result]:
    """All methods on one dataset."""
    dataset, n, n_fresh, _ = next(iter(group.values()))
    problem, (X, Y, X_fresh, Y_fresh) = data_of(dataset, n, n_fresh)
    assert problem.solve_batch is not None and problem.cost_batch is not None
    best = problem.cost_batch(Y_fresh, problem.solve_batch(Y_fresh))
    for *_, method in group.values():
        began, budget = time.process_time(), fs.Budget(solves=SOLVES * n)
        with warnings.catch_warnings(action="ignore"):
            options = {"settings": SETTINGS.get(method), "random_state": dataset, "verbose": False}
            model = fs.DecisionRegressor(problem, method=method, predictor="linear", budget=budget, **options).fit(X, Y)
        seconds = time.process_time() - began
        regret = problem.cost_batch(Y_fresh, problem.solve_batch(model.predict(X_fresh))) - best
        yield {
            "relative": float(np.mean(regret / best)),
            "of_sums": float(regret.sum() / best.sum()),
            "solves_in_all": model.calls_.total("solve") / n,
            "kept_start": bool(model.kept_start_),
            "seconds": round(seconds, 2),
        }


def rows(runs: Mapping[str, Result], methods: Sequence[str]) -> list[dict[str, str]]:
    """One row per method."""
    facts = []
    for method in methods:
        found = [one for run, one in runs.items() if run.partition("/")[0] == method]
        if found:
            relative = np.array([one["relative"] for one in found])
            facts.append(
                {
                    "method": method,
                    "datasets": str(len(found)),
                    "mean relative regret": f"{relative.mean():.2%}",
                    "by dataset": " ".join(f"{100 * one:.1f}" for one in relative),
                    "ratio of sums": f"{np.mean([one['of_sums'] for one in found]):.2%}",
                    "solves in all, at most": f"{max(one['solves_in_all'] for one in found):.2f}",
                    "start kept": str(sum(one["kept_start"] for one in found)),
                    "CPU s": f"{np.mean([one['seconds'] for one in found]):.1f}",
                }
            )
    return facts


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__, "heavy_tails")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--first", type=int, default=0, help="dataset")
    given = parser.parse_args(arguments)
    methods, datasets, size = given.methods.split(","), range(given.first, given.first + given.seeds), (ROWS, FRESH)
    if given.quick:
        methods, datasets, size = ["pfl", "staged"], range(1), (60, 100)
    groups = [{f"{method}/{dataset}": (dataset, *size, method) for method in methods} for dataset in datasets]
    runs = complete(groups, measure, given)
    write(given, runs, [rows(runs, methods)])


if __name__ == "__main__":
    main()
