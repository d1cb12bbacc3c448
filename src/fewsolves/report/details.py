"""Run by run: what each one reached, and the settings it ran with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fewsolves.report.digits import MISSING, decimals, fixed
from fewsolves.report.groups import Group
from fewsolves.report.runs import Run
from fewsolves.report.tables import Cell, Row, Table, ordered

_COLUMNS = {
    "Test regret": "test_regret",
    "Relative regret": "test_relative_regret",
    "Validation regret": "best_validation_regret",
    "Fresh data": "fresh_regret",
    "Solves per instance": "solves_per_instance",
    "Cost calls per instance": "cost_calls_per_instance",
}


@dataclass(frozen=True)
class Detail:
    label: str
    runs: Table
    settings: tuple[tuple[str, str], ...]  # (name, value); values that differ between runs name their seed
    failures: tuple[str, ...]  # solves and cost calls that gave nothing


def details(groups: Sequence[Group]) -> list[Detail]:
    return [
        Detail(group.label, _runs(group), _settings(group.runs), _failures(group.runs)) for group in ordered(groups)
    ]


def _runs(group: Group) -> Table:
    shown = {title: name for title, name in _COLUMNS.items() if any(run.number(name) is not None for run in group.runs)}
    places = {
        name: decimals(value for run in group.runs if (value := run.number(name)) is not None)
        for name in shown.values()
    }
    rows = tuple(
        Row(
            f"seed {run.dataset_seed}",
            (
                *(Cell(fixed(run.number(name), places[name])) for name in shown.values()),
                Cell(fixed(run.seconds("total"), 1)),
            ),
            run.stopped or MISSING,
        )
        for run in group.runs
    )
    return Table((*shown, "Seconds"), rows)


def _failures(runs: Sequence[Run]) -> tuple[str, ...]:
    return tuple(f"seed {run.dataset_seed}: {line}" for run in runs for line in run.failures)


def _settings(runs: Sequence[Run]) -> tuple[tuple[str, str], ...]:
    settings = [run.settings for run in runs]
    found = []
    for name in dict.fromkeys(name for one in settings for name in one):
        values = [one.get(name, MISSING) for one in settings]
        if len(set(values)) == 1:
            found.append((name, values[0]))
        else:
            each = (f"{value} (seed {run.dataset_seed})" for run, value in zip(runs, values, strict=True))
            found.append((name, ", ".join(each)))
    return tuple(found)
