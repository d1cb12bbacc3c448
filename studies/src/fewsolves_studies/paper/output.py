"""Tables as CSV and Markdown, figures as SVG and PNG, and one HTML page with all of them.

On the page each experiment stands with the command that made it; no script, nothing from outside.
"""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fewsolves._internal.files import write_whole
from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.paper.experiment import Exhibits, Experiment, Size
from fewsolves_studies.paper.tables import PaperTable, Printed, Summary
from fewsolves_studies.paper.trial import Results, datasets_of


class Section(NamedTuple):
    """One experiment on the page."""

    experiment: Experiment
    exhibits: Exhibits
    command: str
    commits: list[str]
    done: int
    planned: int


def write(experiments: Sequence[Experiment], chosen: Sequence[Experiment], size: Size, study: Study) -> Iterator[str]:
    """Tables and figures of the chosen experiments, given as Markdown too, and a page with all that the study has."""
    from fewsolves.reporting import figures

    folder, runs = study.folder, study.read()
    folder.mkdir(parents=True, exist_ok=True)
    for experiment in chosen:
        results = Results.among(experiment.trials(size), runs)
        exhibits = experiment.show(results, size)
        for name, (figure, _) in exhibits.figures.items():
            figures.save(figure, folder / f"{name}.svg")
            figures.save(figure, folder / f"{name}.png")
        for name, table in exhibits.tables.items():
            _csv(table, folder / f"{name}.csv")
        text = markdown(experiment, exhibits, command_of(experiment, size), results)
        (folder / f"{experiment.name}.md").write_text(text)
        yield text
    whole = dataclasses.replace(size, datasets=max(size.datasets, datasets_of(runs)))
    sections = []
    for experiment in experiments:
        trials = experiment.trials(whole)
        results = Results.among(trials, runs)
        if results.found or not trials:
            there = len(results.found), len(set(trials))
            command = command_of(experiment, whole)
            sections.append(Section(experiment, experiment.show(results, whole), command, results.commits(), *there))
    yield f"wrote {write_page(sections, folder / 'index.html')}"


def command_of(experiment: Experiment, size: Size) -> str:
    quick = " --quick" if size.quick else ""
    datasets = f" --datasets {size.datasets}" if size.datasets != (1 if size.quick else 5) else ""
    return f"fewsolves paper {experiment.name}{quick}{datasets}"


def markdown(experiment: Experiment, exhibits: Exhibits, command: str, results: Results) -> str:
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
    for table in exhibits.tables.values():
        heads = table.heads
        lines += ["", f"## {table.title}", ""] + ([table.note, ""] if table.note else [])
        lines += [_line(heads), _line(["---"] * len(heads))]
        lines += [_line([cell(row.get(head)) for head in heads]) for row in table.rows]
    return "\n".join(lines) + "\n"


def cell(value: Any) -> str:
    return "" if value is None else str(value)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _csv(table: PaperTable, path: Path) -> None:
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


def write_page(sections: Sequence[Section], path: Path) -> Path:
    from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined
    from markupsafe import Markup

    from fewsolves.reporting import figures

    packages = {"reporting": "fewsolves.reporting", "paper": "fewsolves_studies.paper"}
    environment = Environment(
        loader=PrefixLoader({name: PackageLoader(package, "templates") for name, package in packages.items()}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["cell"] = cell
    environment.filters["svg"] = lambda figure, caption: Markup(figures.svg(figure, label=caption))
    write_whole(path, environment.get_template("paper/index.html.j2").render(sections=sections))
    return path
