"""The tables of a page as plain text cells; the template only sets them.

One row per method (`summary`), calls by phase (`calls`), benchmarks side by side (`overview`), and run by run with the
settings (`details`). A column has one number of decimals, so that digits stand under each other.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fewsolves.oracle import KINDS, PHASES
from fewsolves.reporting.groups import BASELINE, Group, Spread, relative_to, same_rows
from fewsolves.reporting.runs import Run

MISSING = "–"


@dataclass(frozen=True)
class Cell:
    text: str
    deviation: str = ""
    best: bool = False


class Tile(NamedTuple):
    """A figure that is read first, and what it is."""

    value: str
    label: str


@dataclass(frozen=True)
class Row:
    label: str
    cells: tuple[Cell, ...]
    reasons: str = ""  # why its runs stopped


@dataclass(frozen=True)
class ReportTable:
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    has_deviations: bool = False
    groups: tuple[tuple[str, int], ...] = ()  # headings above the columns, with the number of columns below each


@dataclass(frozen=True)
class Detail:
    label: str
    runs: ReportTable
    settings: tuple[tuple[str, str], ...]  # (name, value); values that differ between runs name their seed
    failures: tuple[str, ...]  # solves and cost calls that gave nothing


@dataclass(frozen=True)
class _Column:
    title: str
    value: Callable[[Group], Spread | None]
    best: str = ""  # "low", "high", or "price": lowest among the methods that gain on PFL
    places: int | None = None
    deviates: bool = True  # False leaves out the standard deviation, for a narrow column


def _of(value: Callable[[Run], float | None]) -> Callable[[Group], Spread | None]:
    return lambda group: group.spread(value)


_RELATIVE = _Column("Relative to PFL", lambda group: group.relative, "low", 2)
_OWN_START = _Column("Relative to its own start", lambda group: group.relative, "", 2)
ROWS_JUDGED = "Judged on rows"
_SUMMARY = (
    _Column("Gap closed", _of(lambda run: run.number("gap_closed")), "high", 2),
    _Column("Regret, fresh data", _of(lambda run: run.number("fresh_regret")), "low"),
    _Column("Solves", _of(lambda run: run.solves), "price", 0, False),
    _Column("Solves per row of the table", _of(lambda run: run.solves_per_row), "price", 1),
    _Column("Solver seconds", _of(lambda run: run.seconds("solver")), "price", 1, False),
    _Column("Seconds", _of(lambda run: run.seconds("total")), "price", 1, False),
)
_RUN_COLUMNS = {
    "Test regret": "test_regret",
    "Relative regret": "test_relative_regret",
    "Validation regret": "best_validation_regret",
    "Fresh data": "fresh_regret",
    "Solves": "solves",
    "Solves per row of the table": "solves_per_row",
}


def ordered(groups: Sequence[Group]) -> list[Group]:
    """Best first, by the ratio to its own start where regrets are of different rows; those without one come last."""
    same = same_rows(groups)

    def level(group: Group) -> float:
        if same:
            return group.regret.mean
        return math.nan if group.relative is None else group.relative.mean

    return sorted(groups, key=lambda group: (math.isnan(level(group)), level(group), group.label))


def summary(groups: Sequence[Group]) -> ReportTable:
    """One row per method, best regret first; columns that no run fills are left out."""
    groups = ordered(groups)
    same, regret = same_rows(groups), _regret(groups)
    if not same:  # nothing is best where rows differ
        regret = dataclasses.replace(regret, best="", title="Regret")
    offered = (regret, _RELATIVE if same else _OWN_START, *_SUMMARY)
    columns = [column for column in offered if any(column.value(group) is not None for group in groups)]
    titles, cells = [column.title for column in columns], [_cells(column, groups) for column in columns]
    if not same:
        titles.insert(1, ROWS_JUDGED)
        cells.insert(1, [Cell(_judged(group)) for group in groups])
    rows = tuple(
        Row(group.label, tuple(column[i] for column in cells), _reasons(group)) for i, group in enumerate(groups)
    )
    return ReportTable(tuple(titles), rows, any(len(group.runs) > 1 for group in groups))


def _judged(group: Group) -> str:
    return ", ".join(dict.fromkeys(str(run.judged_rows) for run in group.runs if not run.unjudged)) or MISSING


def regret_name(groups: Sequence[Group]) -> str:
    """By the rows that these regrets are of; the default has none that only validate."""
    if any(group.judged_on == "test" for group in groups):
        return "test regret"
    rows = {run.judged_rows.what for group in groups for run in group.runs}
    return "validation regret" if rows == {"validation"} else "mean regret"


def _regret(groups: Sequence[Group]) -> _Column:
    return _Column(regret_name(groups).capitalize(), lambda group: group.known_regret, "low")


def gains(group: Group) -> bool:
    """Better than PFL on average; without PFL every method counts."""
    return group.relative is None or (group.method != BASELINE and group.relative.mean < 1)


def _cells(column: _Column, groups: Sequence[Group]) -> list[Cell]:
    found = [column.value(group) for group in groups]
    places = column.places if column.places is not None else decimals(one.mean for one in found if one)
    texts = [fixed(one.mean if one else None, places) for one in found]
    competes = [column.best != "price" or gains(group) for group in groups]
    best = _best(column, [(one, text) for one, text, may in zip(found, texts, competes, strict=True) if one and may])
    return [
        Cell(text, _deviation(column, one, places), may_win and text == best)
        for text, one, may_win in zip(texts, found, competes, strict=True)
    ]


def _best(column: _Column, rivals: Sequence[tuple[Spread, str]]) -> str | None:
    """The text of the best of at least two rivals; None where nothing is best."""
    sign = -1.0 if column.best == "high" else 1.0
    ranked = sorted((sign * one.mean, text) for one, text in rivals if math.isfinite(one.mean))
    return ranked[0][1] if column.best and len(ranked) > 1 else None


def _deviation(column: _Column, one: Spread | None, places: int) -> str:
    if not column.deviates or one is None or one.deviation is None:
        return ""
    text = fixed(one.deviation, places)
    return text if text.strip("0.") else ""  # nothing to see at this precision


def _reasons(group: Group) -> str:
    counts: dict[str, int] = {}
    for run in group.runs:
        counts[run.stopped or "not recorded"] = counts.get(run.stopped or "not recorded", 0) + 1
    if len(counts) == 1:
        return next(iter(counts))
    return "; ".join(f"{reason} ({count}×)" for reason, count in sorted(counts.items(), key=lambda pair: -pair[1]))


def calls(groups: Sequence[Group]) -> ReportTable:
    """Mean number of calls per run, by phase; phases without any call are left out."""
    groups = ordered(groups)
    shown = [
        (kind, phase)
        for kind in KINDS
        for phase in PHASES
        if any(run.calls(kind, phase) for group in groups for run in group.runs)
    ]
    rows = []
    for group in groups:
        cells = []
        for kind in KINDS:
            counts = [_mean(group, kind, phase) for phase in PHASES if (kind, phase) in shown]
            cells += [Cell(fixed(count, 0) if count else MISSING) for count in counts] + [Cell(fixed(sum(counts), 0))]
        rows.append(Row(group.label, tuple(cells)))
    by_kind = {kind: [phase for name, phase in shown if name == kind] for kind in KINDS}
    heads = (("Solves", len(by_kind["solve"]) + 1), ("Cost calls", len(by_kind["cost"]) + 1))
    return ReportTable((*by_kind["solve"], "all", *by_kind["cost"], "all"), tuple(rows), groups=heads)


def _mean(group: Group, kind: str, phase: str) -> float:
    return sum(run.calls(kind, phase) for run in group.runs) / len(group.runs)


def overview(groups: Sequence[Group]) -> ReportTable:
    """Several benchmarks at a glance: regret relative to PFL (else regret), and solves per row beside it."""
    benchmarks = list(dict.fromkeys(group.benchmark for group in groups))
    found = {(group.label, group.benchmark): group for group in groups}
    columns = []
    for benchmark in benchmarks:
        here = [group for group in groups if group.benchmark == benchmark]
        regret = _regret(here)
        column = {"PFL": _RELATIVE, "": regret}.get(relative_to(here), _OWN_START)
        columns.append(dict(zip((group.label for group in here), _cells(column, here), strict=True)))
    rows = []
    for label in sorted({group.label for group in groups}, key=lambda label: _rank(label, groups)):
        line = []
        for benchmark, cells in zip(benchmarks, columns, strict=True):
            group = found.get((label, benchmark))
            paid = group.spread(lambda run: run.solves_per_row) if group else None
            cell = cells.get(label, Cell(MISSING))
            line.append(Cell(cell.text, f"@ {fixed(paid.mean, 0)}" if paid else "", cell.best))
        rows.append(Row(label, tuple(line)))
    return ReportTable(tuple(benchmarks), tuple(rows), True)


def _rank(label: str, groups: Sequence[Group]) -> tuple[float, str]:
    """By the mean ratio to PFL over benchmarks; a method that has none comes last."""
    ratios = [group.relative.mean for group in groups if group.label == label and group.relative is not None]
    mean = sum(ratios) / len(ratios) if ratios else math.inf
    return (math.inf if math.isnan(mean) else mean, label)


def details(groups: Sequence[Group]) -> list[Detail]:
    return [
        Detail(group.label, _runs(group), _settings(group.runs), _failures(group.runs)) for group in ordered(groups)
    ]


def stages(run: Run) -> ReportTable:
    """Of a method in stages: what each changed, in units of cost, and whether it was accepted."""
    found = run.stages
    places = decimals(float(stage["change"]) for stage in found if stage.get("change") is not None)
    rows = tuple(
        Row(
            str(stage.get("stage", MISSING)),
            (
                Cell(fixed(_float(stage, "solves_per_row"), 2)),
                Cell(fixed(_float(stage, "change"), places)),
                Cell(fixed(_float(stage, "error"), places)),
                Cell(_accepted(stage.get("accepted"))),
            ),
        )
        for stage in found
    )
    return ReportTable(("Solves per row after the labels", "Change of regret", "Standard error", "Accepted"), rows)


def _accepted(share: Any) -> str:
    """A stage is taken, not taken, or taken in part."""
    return {0.0: "no", 1.0: "yes"}.get(float(share or 0.0), f"{float(share or 0.0):.0%}")


def _float(record: Mapping[str, Any], name: str) -> float | None:
    value = record.get(name)
    return None if value is None else float(value)


def _runs(group: Group) -> ReportTable:
    shown = {
        title: name for title, name in _RUN_COLUMNS.items() if any(run.number(name) is not None for run in group.runs)
    }
    places = {
        name: 0
        if name == "solves"
        else decimals(value for run in group.runs if (value := run.number(name)) is not None)
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
    return ReportTable((*shown, "Seconds"), rows)


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


def decimals(values: Iterable[float]) -> int:
    """About three significant digits for the typical value of a column."""
    sizes = sorted(abs(value) for value in values if math.isfinite(value) and value != 0)
    if not sizes:
        return 0
    magnitude = math.floor(math.log10(sizes[len(sizes) // 2]))
    return 0 if magnitude >= 3 else 1 if magnitude >= 1 else min(2 - magnitude, 6)


def fixed(value: float | None, places: int) -> str:
    """A number with thousands separators and a true minus sign, and never −0.

    >>> fixed(-1234.5678, 1), fixed(-0.04, 1)
    ('−1,234.6', '0.0')
    """
    if value is None:
        return MISSING
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "∞" if value > 0 else "−∞"
    return f"{round(value, places) + 0.0:,.{places}f}".replace("-", "−")


def ranges(numbers: Sequence[int]) -> str:
    """Sorted whole numbers, with runs of three or more drawn together.

    >>> ranges([0, 1, 2, 3, 7, 9])
    '0–3, 7, 9'
    """
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    texts = [f"{part[0]}–{part[-1]}" if len(part) > 2 else ", ".join(map(str, part)) for part in parts]
    return ", ".join(texts)
