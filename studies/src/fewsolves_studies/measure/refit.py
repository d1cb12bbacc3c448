"""What a refit pays: `python -m fewsolves_studies.measure.refit [METHOD ...]`, 500 rows and then 20 more, against a run
over all 520.

Solves are counted in the solver itself. The regret is that of 1,000 rows that neither has seen. Exit code 1 where a
refit pays more than a tenth of the fresh run.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

import fewsolves as fs
from fewsolves.problem import Array

ROWS, NEW, FRESH, MOST = 500, 20, 1000, 0.1


class Orders:
    """Whole units of four goods; shortages are expensive."""

    def __init__(self) -> None:
        self.solves = 0
        self.problem = fs.Problem(solve=self.solve, cost=self.cost)

    def solve(self, y_hat: Array) -> Array:
        self.solves += 1
        return np.round(y_hat)

    def cost(self, y: Array, z: Array) -> float:
        return float(np.sum(z + 9.0 * np.maximum(y - z, 0.0)))

    def paid(self) -> int:
        """Solves since this was last asked."""
        number, self.solves = self.solves, 0
        return number


def main(methods: list[str]) -> int:
    warnings.simplefilter("ignore")  # that nothing was gained is in the numbers
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS + NEW + FRESH, 5))
    Y = 10 + X @ rng.normal(size=(5, 4)) + rng.gamma(1.0, 2.0, size=(len(X), 4))
    old, all_rows, unseen = slice(0, ROWS), slice(0, ROWS + NEW), slice(ROWS + NEW, None)
    orders, worst = Orders(), 0.0
    print(
        f"{'method':14s} {'fresh':>8s} {'refit':>8s} {'share':>7s}   regret: {'before':>8s} {'refit':>8s} {'fresh':>8s}"
    )
    for method in methods:
        model = fs.DecisionRegressor(orders.problem, method, verbose=False)
        fresh = -model.fit(X[all_rows], Y[all_rows]).score(X[unseen], Y[unseen])
        whole = orders.paid() - 2 * FRESH
        before = -model.fit(X[old], Y[old]).score(X[unseen], Y[unseen])
        orders.paid()
        model.refit(X[all_rows], Y[all_rows])
        again = orders.paid()
        after = -model.score(X[unseen], Y[unseen])
        orders.paid()
        worst = max(worst, again / whole)
        print(f"{method:14s} {whole:8,} {again:8,} {again / whole:7.1%} {before:17.4g} {after:8.4g} {fresh:8.4g}")
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["gp-surrogate", "staged", "sfge"]))
