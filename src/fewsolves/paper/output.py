"""Tables as CSV and Markdown, figures as SVG and PNG, and one page with all of them."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fewsolves.paper.experiment import Experiment, Outcome, Size, Table
from fewsolves.paper.printed import Printed
from fewsolves.paper.statistics import Summary
from fewsolves.paper.task import Results, datasets_in


def write(experiments: Sequence[Experiment], chosen: Sequence[Experiment], size: Size, folder: Path) -> Iterator[str]:
    """Tables and figures of the chosen experiments, given as Markdown too, and a page with everything in `folder`."""
    from fewsolves.paper.page import Section, write_page
    from fewsolves.report import figures

    folder.mkdir(parents=True, exist_ok=True)
    for experiment in chosen:
        results = Results.read(experiment.tasks(size), folder)
        outcome = experiment.show(results, size)
        for name, (figure, _) in outcome.figures.items():
            figures.save(figure, folder / f"{name}.svg")
            figures.save(figure, folder / f"{name}.png")
        for name, table in outcome.tables.items():
            _csv(table, folder / f"{name}.csv")
        text = markdown(experiment, outcome, command_of(experiment, size), results)
        (folder / f"{experiment.name}.md").write_text(text)
        yield text
    whole = dataclasses.replace(size, datasets=max(size.datasets, datasets_in(folder)))
    sections = []
    for experiment in experiments:
        tasks = experiment.tasks(whole)
        results = Results.read(tasks, folder)
        if results.found or not tasks:
            there = len(results.found), len(set(tasks))
            command = command_of(experiment, whole)
            sections.append(Section(experiment, experiment.show(results, whole), command, results.commits(), *there))
    yield f"wrote {write_page(sections, folder / 'index.html')}"


def command_of(experiment: Experiment, size: Size) -> str:
    quick = " --quick" if size.quick else ""
    datasets = f" --datasets {size.datasets}" if size.datasets != (1 if size.quick else 5) else ""
    return f"fewsolves paper {experiment.name}{quick}{datasets}"


def markdown(experiment: Experiment, outcome: Outcome, command: str, results: Results) -> str:
    """The tables of an experiment, with the command and the commits that they come from."""
    made = f"Made by `{command}`"
    commits = results.commits()
    lines = [
        f"# {experiment.title}",
        "",
        experiment.about,
        "",
        made + (f" at {', '.join(commits)}." if commits else "."),
    ]
    for table in outcome.tables.values():
        heads = table.heads
        lines += ["", f"## {table.title}", ""] + ([table.note, ""] if table.note else [])
        lines += [_line(heads), _line(["---"] * len(heads))]
        lines += [_line([cell(row.get(head)) for head in heads]) for row in table.rows]
    return "\n".join(lines) + "\n"


def cell(value: Any) -> str:
    return "" if value is None else str(value)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _csv(table: Table, path: Path) -> None:
    """For programs: a mean and its standard deviation stand in columns of their own."""
    rows = [dict(part for head in table.heads for part in _numbers(head, row.get(head))) for row in table.rows]
    heads = dict.fromkeys(part for head in table.heads for row in rows for part in (head, f"{head} std") if part in row)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(heads))
        writer.writeheader()
        writer.writerows(rows)


def _numbers(head: str, value: Any) -> list[tuple[str, str]]:
    if not isinstance(value, Summary | Printed):
        return [(head, cell(value))]
    return [(head, f"{value.mean:.6g}"), (f"{head} std", "" if value.std is None else f"{value.std:.6g}")]
