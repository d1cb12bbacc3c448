"""Why the defaults of `gp-surrogate` are what they are: one setting changed at a time, on datasets kept for choosing.

    python -m fewsolves_studies.measure.choices --out results/choices --datasets 3 --jobs 2
    python -m fewsolves_studies.measure.choices --out runs/kernels --datasets 2 --only "default,kernel: Matérn 5/2"

Choices are made on datasets 100, 101, ... by validation regret; the reported results are of datasets 0 to 4. Columns
are means over datasets; ratios are to the prediction-focused start of the same run. The runs are in OUT/runs.jsonl, and
what is there is not run again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from fewsolves.training.start import EPOCHS
from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.measure.over_datasets import FOUR, complete, write
from fewsolves_studies.paper.trial import Trial, options

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
    "kernel: Matérn 5/2": {"kernel": "matern52"},
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
        "validation_regret": f"{mean('best_validation_regret'):.4g}",
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
    parser.add_argument("--only", default=",".join(VARIANTS), help="the variants to run, separated by commas")
    given = parser.parse_args()
    wanted = set(given.only.split(",")) - set(given.without.split(","))
    if not wanted <= VARIANTS.keys():
        parser.error(f"no such variants: {', '.join(wanted - VARIANTS.keys())}")
    variants = {name: changed for name, changed in VARIANTS.items() if name in wanted}
    benchmarks = given.benchmarks.split(",")
    planned = [
        Trial(
            benchmark=benchmark,
            method="gp-surrogate",
            dataset=dataset,
            label=variant,
            settings=options({"start_epochs": EPOCHS} | variants[variant]),
        )
        for variant in variants
        for benchmark in benchmarks
        for dataset in range(FIRST, FIRST + given.datasets)
    ]
    results, fine = complete(planned, Study(given.out), given.jobs)
    table = [
        row(variant, benchmark, list(found.values()))
        for variant in variants
        for benchmark in benchmarks
        if (found := results.of(variant, benchmark))
    ]
    write(given.out, table, "python -m fewsolves_studies.measure.choices " + " ".join(sys.argv[1:]))
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
