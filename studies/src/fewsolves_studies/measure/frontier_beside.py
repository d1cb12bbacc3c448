"""The default of two versions on the same datasets of the frontier: mean ratio to PFL, and the paired difference.

    python -m fewsolves_studies.measure.frontier_beside results/frontier-present results/frontier

The folders have the runs of `measure.frontier`; the first one's default is compared with that of the second. A
difference is bold where it is more than its standard error above 0: the first default is worse there.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from fewsolves_studies.benchmarks.study import Result, Study
from fewsolves_studies.measure.frontier_tables import DEFAULT, Entry, clearly_above, difference, entries, markdown

BUDGETS = ("1", "4", "16")


def beside(first: Mapping[str, Result], second: Mapping[str, Result]) -> list[dict[str, str]]:
    """One row per case; a cell has the mean ratio, that of the second version in brackets, and the difference."""
    ours, theirs = entries(first), entries(second)
    rows = []
    for case in ours:
        row, datasets = {"problem": case}, set[int]()
        for budget in BUDGETS:
            one, other = (_default_at(of.get(case, ()), budget) for of in (ours, theirs))
            if one is None or other is None or not (both := one.ratio.keys() & other.ratio.keys()):
                continue
            datasets |= both
            here, there = (sum(of.ratio[k] for k in both) / len(both) for of in (one, other))
            gap = difference(one, other)
            text = f"{gap.mean:+.3f} ± {gap.error:.3f}"
            row[f"@ {budget}"] = f"{here:.3f} ({there:.3f}) {f'**{text}**' if clearly_above(gap) else text}"
        if datasets:
            rows.append(row | {"datasets": ", ".join(map(str, sorted(datasets)))})
    return rows


def _default_at(of_case: Sequence[Entry], budget: str) -> Entry | None:
    return next((one for one in of_case if one.method == DEFAULT and one.budget == budget), None)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    given = parser.parse_args(arguments)
    print(markdown(beside(*(Study(folder).read() for folder in (given.first, given.second)))))


if __name__ == "__main__":
    main()
