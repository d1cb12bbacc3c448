"""Runs that belong together: one method on one benchmark, over its dataset seeds, beside PFL."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fewsolves._internal.text import clean
from fewsolves.reporting.runs import Run

BASELINE = "pfl"


class Spread(NamedTuple):
    """Mean and sample standard deviation over dataset seeds; one seed has no deviation."""

    mean: float
    deviation: float | None
    seeds: int


@dataclass(frozen=True)
class Group:
    """The runs of one row of a table, of one marker or line of a figure."""

    benchmark: str
    method: str
    label: str
    runs: tuple[Run, ...]
    ratios: tuple[float | None, ...]  # regret relative to PFL on the same dataset, per run

    def spread(self, value: Callable[[Run], float | None]) -> Spread | None:
        return spread(value(run) for run in self.runs)

    @property
    def relative(self) -> Spread | None:
        return spread(self.ratios)

    @property
    def regret(self) -> Spread:
        return self.known_regret or Spread(math.nan, None, 0)

    @property
    def known_regret(self) -> Spread | None:
        """Of the runs that were judged; None where none was."""
        return self.spread(lambda run: None if run.unjudged else run.regret)

    @property
    def judged_on(self) -> str:
        """The rows that its regret is of: those of a test, which only benchmarks have, or those of validation."""
        return "validation" if all(run.own for run in self.runs) else "test"

    @property
    def seeds(self) -> list[int]:
        return sorted({run.dataset_seed for run in self.runs})


def same_rows(groups: Sequence[Group]) -> bool:
    """Whether the regrets of these groups are of the same rows, so that they can be compared with each other."""
    return _alike(run for group in groups for run in group.runs if run.own)  # a benchmark has test rows


def same_rows_in_training(groups: Sequence[Group]) -> bool:
    """The same of the regrets during training, which are those of test rows nowhere."""
    return _alike(run for group in groups for run in group.runs)


def _alike(runs: Iterable[Run]) -> bool:
    by_seed: dict[tuple[str, int], set[str]] = {}
    for run in runs:
        if not run.unjudged:
            by_seed.setdefault((run.benchmark, run.dataset_seed), set()).add(run.judged_rows.digest)
    return all(len(digests) == 1 for digests in by_seed.values())


def relative_to(groups: Sequence[Group]) -> str:
    """What ratios of regrets are relative to; empty where a group that was judged has none."""
    if not any(group.relative for group in groups) or any(g.known_regret and not g.relative for g in groups):
        return ""
    return "PFL" if same_rows(groups) else "its own start"


def spread(values: Iterable[float | None]) -> Spread | None:
    given = np.array([value for value in values if value is not None], dtype=np.float64)
    if not given.size:
        return None
    with np.errstate(invalid="ignore"):  # a run that diverged: infinite or not a number, and shown so
        return Spread(float(given.mean()), float(given.std(ddof=1)) if given.size > 1 else None, given.size)


def groups(runs: Sequence[Run]) -> list[Group]:
    """All groups, benchmark by benchmark in the order given; labels depend on the runs of that benchmark only."""
    found: list[Group] = []
    for benchmark in dict.fromkeys(run.benchmark for run in runs):
        found += _groups_of(benchmark, [run for run in runs if run.benchmark == benchmark])
    return found


def _groups_of(benchmark: str, runs: Sequence[Run]) -> list[Group]:
    several = len({run.predictor for run in runs}) > 1
    parts: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        parts.setdefault((run.method, run.predictor), []).append(run)
    found = []
    for (method, predictor), members in sorted(parts.items()):
        for variant, same in sorted(_variants(members).items()):
            notes = [note for note in (predictor if several else "", variant) if note]
            label = f"{method} ({', '.join(notes)})" if notes else method
            same = sorted(same, key=lambda run: run.dataset_seed)
            ratios = tuple(_ratio(run, runs) for run in same)
            found.append(Group(benchmark, method, clean(label, 60), tuple(same), ratios))
    return found


def _variants(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Runs on one dataset that differ in their settings are different methods: a mean over them would mislead."""
    by_seed: dict[int, list[dict[str, str]]] = {}
    for run in runs:
        by_seed.setdefault(run.dataset_seed, []).append(run.settings)
    differ = {
        key
        for same_data in by_seed.values()
        for key in {key for settings in same_data for key in settings}
        if len({settings.get(key) for settings in same_data}) > 1 and not key.endswith("seed")
    }
    names: dict[tuple[str, ...], str] = {}
    found: dict[str, list[Run]] = {}
    for run in runs:
        values = tuple(run.settings.get(key, "unset") for key in sorted(differ))
        if len(differ) > 2:  # too many to name in a label: numbered here, listed under the settings of the run
            name = names.setdefault(values, f"settings {len(names) + 1}")
        else:
            name = ", ".join(
                f"{key.rpartition('.')[2]} {value}" for key, value in zip(sorted(differ), values, strict=True)
            )
        found.setdefault(name, []).append(run)
    return found


def _ratio(run: Run, runs: Sequence[Run]) -> float | None:
    """Paired: PFL with the same predictor on the same dataset, so that hard datasets do not drown the others.

    A run on a problem of the user's own was compared with its own prediction-focused start, and is never compared with
    a regret of other rows.
    """
    if run.unjudged:
        return None
    started = run.reached.start
    if run.own and started is not None and (run.result.get("gain") or run.method == BASELINE):
        return run.regret / started if started > 0 else None
    same = [
        other.regret
        for other in runs
        if (other.method, other.dataset_seed, other.predictor) == (BASELINE, run.dataset_seed, run.predictor)
        and not (run.own and run.judged_rows.digest != other.judged_rows.digest)
    ]
    reference = float(np.mean(same)) if same else 0.0
    return run.regret / reference if np.isfinite(reference) and reference > 0 else None
