"""The same data, the same budget, another `random_state`: how far does the result of the default depend on luck?

    python -m fewsolves_studies.measure.luck --jobs 2
    python -m fewsolves_studies.measure.luck --jobs 2 --against CHECKOUT    another version beside it, on the same data

Twenty-eight tables and eight seeds each, `settings={"solves": 4}`, a linear predictor. Ratios are those of the mean
regret on 2,000 fresh rows to that of least squares on all rows, by NumPy; `pfl` is the library's own prediction-focused
learning by the same measure. Solves, cost calls and CPU (the median over seeds) are per row. The first sixteen tables
are those whose mean is compared with earlier versions; most of the others have data that is known by row, few rows or
both, and the last two are in time order. Versions whose benchmarks lack a problem have no rows for it.

`--against` takes a checkout of the repository; its package runs in a process of its own, and may still contain the
benchmarks itself. Versions are runs of the same study, by the commit of the checkout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from fewsolves_studies.benchmarks.study import Result
from fewsolves_studies.measure import fresh_ratio
from fewsolves_studies.measure.resumable import Group, complete, parser_of, write

OWN = "this"  # version
SOLVES, SEEDS = 4, 8
TABLES = (
    ("inventory", 300),
    ("scheduling", 300),
    ("dispatching", 300),
    ("tour", 300),
    ("fleet", 300),
    ("wsmc-10-50", 200),
    ("inventory", 120),
    ("fleet", 120),
    ("lot-sizing-stock", 300),
    ("loading", 300),
    ("blending", 100),
    ("charging", 100),
    ("loading", 100),
    ("drift", 300),
)
COMPARED = 16  # cases, the first ones
DATASETS = (100, 101)
GAIN = 0.05  # a start that is kept where the other seeds gain more than this is bad luck
Row = dict[str, str]
Case = tuple[str, int, int]  # problem, rows, dataset
CASES: tuple[Case, ...] = tuple((problem, n, dataset) for problem, n in TABLES for dataset in DATASETS)


def name_of(version: str, case: Case, seed: int) -> str:
    """Of a run in the study."""
    problem, n, dataset = case
    return f"{version}/{problem}-{n}.{dataset}/seed-{seed}"


def measure(group: Group) -> Iterator[Result]:
    """The seeds of one case and version."""
    tasks = [*group.values()]
    source, case, _, n_fresh = tasks[0]
    problem, n, dataset = case
    requested = {"problem": problem, "dataset": dataset, "n": n, "seeds": [seed for _, _, seed, _ in tasks]}
    requested |= {"solves": SOLVES, "n_fresh": n_fresh}
    return fresh_ratio.of_seeds(**requested) if source is None else of_checkout(Path(source), requested)


def of_checkout(source: Path, requested: Mapping[str, object]) -> Iterator[Result]:
    """The same by the package of a checkout, in a process of its own."""
    folders = [str(one) for one in (source / "src", source / "studies" / "src", source) if one.is_dir()]
    command = [sys.executable, "-P", fresh_ratio.__file__, json.dumps(requested)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(folders)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line) | {"commit": commit_of(source)}
    if process.returncode:
        raise RuntimeError(f"the package of {source} ended with {process.returncode}")


def commit_of(source: Path) -> str:
    """Of a checkout, short; the name of its folder where it is none."""
    command = ["git", "-C", str(source), "rev-parse", "--short=7", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or source.name


def rows(runs: Mapping[str, Result], versions: Sequence[str], cases: Sequence[Case], seeds: int) -> list[Row]:
    """One row per case and version."""
    facts = []
    for case in cases:
        for version in versions:
            found = [runs[name] for seed in range(seeds) if (name := name_of(version, case, seed)) in runs]
            if not found:
                continue
            ratio = np.array([one["ratio"] for one in found])
            facts.append(
                {
                    "rows": str(case[1]),
                    "dataset": f"{case[0]} {case[2]}",
                    **({"version": version} if len(versions) > 1 else {}),
                    "sorted ratios": " ".join(f"{value:.3f}" for value in np.sort(ratio)),
                    "mean": f"{ratio.mean():.3f}",
                    "sd": f"{_spread(ratio):.3f}",
                    "start kept": str(sum(one["kept_start"] for one in found)),
                    "pfl": f"{np.mean([one['pfl'] for one in found]):.3f}",
                    "solves after labels": f"{np.mean([one['solves_after_labels'] for one in found]):.2f}",
                    "solves in all": f"{np.mean([one['solves_in_all'] for one in found]):.2f}",
                    "cost calls": f"{np.mean([one['cost_calls'] for one in found]):.0f}",
                    "CPU ms": f"{1e3 * np.median([one['seconds_per_row'] for one in found]):.2f}",
                }
            )
    return facts


def _spread(ratio: np.ndarray) -> float:
    return float(ratio.std(ddof=1)) if len(ratio) > 1 else 0.0


def over_cases(runs: Mapping[str, Result], versions: Sequence[str], cases: Sequence[Case], seeds: int) -> list[Row]:
    """The means of ratios, of their spread, and how often the start was kept where the other seeds gain."""
    facts = []
    for version in versions:
        for name, some in ((f"first {COMPARED}", cases[:COMPARED]), ("all", cases)):
            by_case = [
                [runs[run] for seed in range(seeds) if (run := name_of(version, case, seed)) in runs] for case in some
            ]
            by_case = [found for found in by_case if found]
            if not by_case:
                continue
            ratios = [np.array([one["ratio"] for one in found]) for found in by_case]
            kept = [np.array([one["kept_start"] for one in found]) for found in by_case]
            pairs = [*zip(ratios, by_case, strict=True)]
            unlucky = sum(
                int(k.sum())
                for r, k in zip(ratios, kept, strict=True)
                if k.any() and not k.all() and r[~k].mean() < (1 - GAIN) * r[k].mean()
            )
            facts.append(
                {
                    "cases": name,
                    "version": version,
                    "number": str(len(by_case)),
                    "mean ratio": f"{np.mean([r.mean() for r in ratios]):.3f}",
                    "to the library's pfl": f"{np.mean([r.mean() / f[0]['pfl'] for r, f in pairs]):.3f}",
                    "mean sd": f"{np.mean([_spread(r) for r in ratios]):.4f}",
                    "largest sd": f"{max(_spread(r) for r in ratios):.3f}",
                    "largest ratio": f"{max(r.max() for r in ratios):.3f}",
                    "start kept": f"{sum(int(k.sum()) for k in kept)} of {sum(map(len, kept))}",
                    f"kept where others gain {GAIN:.0%}": str(unlucky),
                }
            )
    return facts


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__, "luck")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="a checkout of another commit")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--cases", help="problems, separated by commas; all by default")
    given = parser.parse_args(arguments)
    seeds, n_fresh = (2, 100) if given.quick else (given.seeds, fresh_ratio.FRESH)
    cases: Sequence[Case] = [("fleet", 60, 100), ("loading", 60, 100)] if given.quick else CASES
    if given.cases:
        cases = [case for case in cases if case[0] in given.cases.split(",")]
    sources = {OWN: None} | ({} if given.against is None else {commit_of(given.against): str(given.against.resolve())})
    groups = [
        {name_of(version, case, seed): (source, case, seed, n_fresh) for seed in range(seeds)}
        for case in cases
        for version, source in sources.items()
    ]
    runs, versions = complete(groups, measure, given), [*sources]
    write(given, runs, [rows(runs, versions, cases, seeds), over_cases(runs, versions, cases, seeds)])


if __name__ == "__main__":
    main()
