"""One HTML page with every table and figure, each with the command that made it; no script, nothing from outside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup

from fewsolves.paper.experiment import Experiment, Outcome
from fewsolves.paper.output import cell
from fewsolves.report import figures


class Section(NamedTuple):
    experiment: Experiment
    outcome: Outcome
    command: str
    commits: list[str]
    done: int
    planned: int

    @property
    def pictures(self) -> list[tuple[Markup, str]]:
        return [
            (Markup(figures.svg(figure, label=caption)), caption) for figure, caption in self.outcome.figures.values()
        ]


def write_page(sections: Sequence[Section], path: Path) -> Path:
    loader = PrefixLoader(
        {
            "report": PackageLoader("fewsolves.report", "templates"),
            "paper": PackageLoader("fewsolves.paper", "templates"),
        }
    )
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["cell"] = cell
    draft = path.with_suffix(".part")
    draft.write_text(environment.get_template("paper/index.html.j2").render(sections=sections), encoding="utf-8")
    draft.replace(path)
    return path
