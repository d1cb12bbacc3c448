"""How a whole fit grows with the table: CPU seconds and memory per row, at 1,000 to 100,000 rows and n_y 10, 50, 512.

    python -m fewsolves_studies.measure.growth [--cases staged gp-surrogate] [--rows 1000 10000 100000]
        [--n-y 10 50 512] [--source other/src] [--json results/lighter/growth-present.json]

The solver is simulated: a batch of products with the prediction, so that what is measured is everything else. Each fit
is a process of its own, on one thread; memory is the most that it held, less what it held with the table in memory. A
linear predictor; the default has one solve per row after the labels, `gp-surrogate` two epochs, so that nothing stops
earlier in one table than in another.
What the default does with known decisions depends on whether `solve` minimises the cost that it is judged by, and
whether that cost is linear, so it is measured with three such problems. A case with a budget labels a sample of the
rows.
`--source` measures the package of another version, in turns with this one. A fit that is in the file is not repeated;
those that failed are.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve()
ABOVE = 5.0  # a parameter that is predicted above this is chosen
STAGED = {"solves": 1.0}


class Case(NamedTuple):
    """A method, its settings, and what it solves."""

    method: str
    settings: dict[str, Any]
    pays_above: float | None = None  # from where on it pays to choose a parameter; None: demands, costs not linear
    budget: float | None = None  # solves per row of the table


CASES = {
    "staged": Case("staged", STAGED, ABOVE),
    "staged, another cost": Case("staged", STAGED, ABOVE + 3.0),
    "staged, not linear": Case("staged", STAGED),
    "staged, not linear, four solves per row": Case("staged", {}, budget=4.0),
    "staged, a fiftieth of a solve per row": Case("staged", {}, ABOVE, budget=0.02),
    "gp-surrogate": Case("gp-surrogate", {"max_epochs": 2, "points": 2}, ABOVE + 0.5),
}


def resident() -> int:
    """Bytes that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def problem_of(case: Case, n_y: int) -> Any:
    """The problem that a case solves; a unit that is missing costs three times as much as one that is left over."""
    import numpy as np

    import fewsolves as fs

    if case.pays_above is None:
        return fs.Problem(
            solve_batch=lambda y: np.ceil(2 * y) / 2,
            cost_batch=lambda y, z: (np.maximum(z - y, 0) + 3 * np.maximum(y - z, 0)).sum(axis=1) / n_y,
        )
    return fs.Problem(
        solve_batch=lambda y: (y > ABOVE).astype(np.int8),
        cost_batch=lambda y, z: ((y - case.pays_above) * (1 - 2 * np.asarray(z))).sum(axis=1) / n_y,
    )


def measure(name: str, n: int, n_y: int) -> dict[str, Any]:
    """One fit, in this process."""
    import numpy as np

    import fewsolves as fs

    case = CASES[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    Y = ABOVE + X @ rng.normal(size=(5, n_y)) + rng.normal(size=(n, n_y))
    problem = problem_of(case, n_y)
    options = {"predictor": "linear", "method": case.method, "settings": case.settings, "verbose": False}
    fs.DecisionRegressor(problem, **options).fit(X[:200], Y[:200])  # imports and machine code
    before, began = resident(), time.process_time()
    budget = None if case.budget is None else fs.Budget(solves=int(case.budget * n))
    model = fs.DecisionRegressor(problem, budget=budget, **options).fit(X, Y)
    seconds = time.process_time() - began
    most = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "case": name,
        "rows": n,
        "n_y": n_y,
        "us per row": round(1e6 * seconds / n, 1),
        "bytes per row": round((most - before) / n),
        "most GB": round(most / 2**30, 2),
        "solves per row": round(model.calls_.total() / n, 2),
        "cost calls per row": round(sum(model.calls_.counts["cost"].values()) / n, 1),
        "load": round(os.getloadavg()[0], 1),  # beside other work the same fit takes more CPU
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--rows", nargs="+", type=int, default=[1_000, 10_000, 100_000])
    parser.add_argument("--n-y", nargs="+", type=int, default=[10, 50, 512])
    parser.add_argument("--source", type=Path, help="the package of another version")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(given.one[0], *map(int, given.one[1:]))))
        return
    sources = {"here": HERE.parents[4] / "src"} | ({"before": given.source.resolve()} if given.source else {})
    figures = json.loads(given.json.read_text()) if given.json and given.json.exists() else []
    figures = [one for one in figures if "failed" not in one]
    measured = {(one["version"], one["case"], one["rows"], one["n_y"]) for one in figures}
    for case in given.cases:
        for n_y in given.n_y:
            for n in given.rows:
                for version, source in sources.items():
                    if (version, case, n, n_y) in measured:
                        continue
                    command = [sys.executable, str(HERE), "--one", case, str(n), str(n_y)]
                    variables = {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
                    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | variables)
                    found = json.loads(done.stdout) if not done.returncode else {"failed": done.stderr[-300:]}
                    figures.append({"version": version, **found})
                    print(figures[-1], flush=True)
                if given.json:
                    given.json.parent.mkdir(parents=True, exist_ok=True)
                    given.json.write_text("[\n" + ",\n".join(map(json.dumps, figures)) + "\n]\n")


if __name__ == "__main__":
    main()
