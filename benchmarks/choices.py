"""Why the defaults of `gp-surrogate` are what they are: one setting changed at a time, on datasets kept for choosing.

    python benchmarks/choices.py --out results/choices --datasets 3 --jobs 2

Choices are made on datasets 100, 101, ... by validation regret; the reported results are of datasets 0 to 4. Columns
are means over datasets; ratios are to the prediction-focused start of the same run. Resumable.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from over_datasets import FOUR, folder_of, run_missing, write

FIRST = 100
VARIANTS: dict[str, dict[str, object]] = {
    "default": {},
    "design: box hypercube": {"design": "box", "points": None},
    "design: common shifts": {"design": "shifts"},
    "design: between truth and start": {"design": "between"},
    "design: residuals of others": {"design": "residuals"},
    "design: near and shifts": {"design": "mixed"},
    "8 points": {"points": 8},
    "smoothing: samples (literal)": {"smoothing": "samples"},
    "smoothing: bandwidth": {"smoothing": "bandwidth"},
    "hyperparameters of each example": {"pooled": False},
    "beta 0.5": {"beta": 0.5},
    "not sober": {"sober": False},
    "pessimism 0": {"pessimism": 0.0},
    "fallback: sfge": {"fallback": "sfge"},
    "differentiation off": {"differentiate": False},
    "box and sharing": {"design": "box", "points": None, "sharing": True},
    "validated every epoch": {"validation_share": None, "validation_move": 0.0},
}


def row(variant: str, benchmark: str, results: list[dict]) -> dict[str, object]:
    def mean(*path: str) -> float:
        values = []
        for result in results:
            value = result
            for key in path:
                value = value[key]
            values.append(value)
        return float(np.mean(values))

    ratios = [r["best_validation_regret"] / r["start_validation_regret"] for r in results]
    return {
        "variant": variant,
        "benchmark": benchmark,
        "validation_ratio": f"{np.mean(ratios):.3f}",
        "solves_per_instance": f"{mean('solves_per_instance'):.1f}",
        "total_solves_per_instance": f"{mean('total_solves_per_instance'):.1f}",
        "covered_by_95": f"{np.mean([r['calibration']['covered'][-1] for r in results]):.2f}",
        "effective_sample_size": f"{mean('effective_sample_size'):.1f}",
        "seconds": f"{mean('seconds', 'total'):.1f}",
        "commit": ",".join(sorted({str(r["commit"]) for r in results})),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--benchmarks", default=FOUR)
    parser.add_argument("--datasets", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--without", default="", help="variants to leave out, separated by commas")
    given = parser.parse_args()
    table, fine = [], True
    for variant, settings in VARIANTS.items():
        if variant in given.without.split(","):
            continue
        out = given.out / variant.replace(":", "").replace(" ", "-")
        jobs = [
            (benchmark, "gp-surrogate", dataset, "linear")
            for benchmark in given.benchmarks.split(",")
            for dataset in range(FIRST, FIRST + given.datasets)
        ]
        out.mkdir(parents=True, exist_ok=True)
        fine &= run_missing(out, jobs, settings, given.jobs)
        for benchmark in given.benchmarks.split(","):
            paths = [folder_of(out, *job) / "result.json" for job in jobs if job[0] == benchmark]
            found = [json.loads(path.read_text()) for path in paths if path.exists()]
            if found:
                table.append(row(variant, benchmark, found))
    write(given.out, table, "python benchmarks/choices.py " + " ".join(sys.argv[1:]))
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
