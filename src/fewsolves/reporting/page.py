"""The report: one HTML file that opens from disk, asks nothing of the network and runs no script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from fewsolves.errors import InputError
from fewsolves.files import write_whole
from fewsolves.reporting import figures, tables
from fewsolves.reporting.figures.canvas import ThemedFigure
from fewsolves.reporting.groups import Group, groups
from fewsolves.reporting.notes import (
    CALIBRATION_CAPTION,
    TRUST_CAPTION,
    headline,
    notes,
    regret_caption,
    training_caption,
)
from fewsolves.reporting.runs import Run
from fewsolves.text import clean


@dataclass(frozen=True)
class Picture:
    svg: Markup
    caption: str
    themed: bool  # drawn in the page's tones; any other figure gets a white card


def write_report(
    runs: Sequence[Run], path: str | Path, *, title: str, extra_figures: Mapping[str, Figure] = MappingProxyType({})
) -> Path:
    """Write the page for `runs` to `path`; `extra_figures` are shown with their keys as captions."""
    if not runs:
        raise InputError("a report needs at least one run; read_runs(folder) finds those below a folder")
    found = groups(runs)
    looks = figures.styles(runs)
    benchmarks = list(dict.fromkeys(run.benchmark for run in runs))
    page = (
        _environment()
        .get_template("report.html.j2")
        .render(
            title=title,
            facts=_facts(runs, found),
            notes=notes(found),
            keys={label: Markup(figures.key(look)) for label, look in looks.items()},
            overview=tables.overview(found) if len(benchmarks) > 1 else None,
            sections=[_section(benchmark, runs, found, looks) for benchmark in benchmarks],
            extras=[_picture(figure, caption) for caption, figure in extra_figures.items()],
        )
    )
    path = Path(path)
    write_whole(path, page)
    return path


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("fewsolves.reporting", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """Every value that the template prints passes here: only our own SVG is Markup, all else is cleaned and escaped."""
    return value if isinstance(value, Markup) else clean(str(value))


def _facts(runs: Sequence[Run], found: Sequence[Group]) -> dict[str, str]:
    methods = list(dict.fromkeys(group.label for group in found))
    benchmarks = list(dict.fromkeys(run.benchmark for run in runs))
    commits = sorted({run.commit for run in runs if run.commit})
    return {
        "Benchmark" if len(benchmarks) == 1 else "Benchmarks": ", ".join(benchmarks),
        "Runs": f"{len(runs)} ({len(methods)} {'method' if len(methods) == 1 else 'methods'})",
        "Dataset seeds": tables.ranges([run.dataset_seed for run in runs]),
        "Predictor": ", ".join(dict.fromkeys(run.predictor or "not recorded" for run in runs)),
        "Commit": ", ".join(commits) or "not recorded",
    }


def _section(
    benchmark: str, runs: Sequence[Run], found: Sequence[Group], looks: Mapping[str, figures.Style]
) -> dict[str, Any]:
    here = [run for run in runs if run.benchmark == benchmark]
    mine = [group for group in found if group.benchmark == benchmark]
    pictures = []
    if len(mine) > 1:  # one method alone is a marker without anything to compare it with
        pictures.append(_picture(figures.regret_against_solves(here, styles=looks), regret_caption(mine)))
    if any(row.validation_regret is not None for run in here for row in run.history):
        pictures.append(_picture(figures.training_curves(here, styles=looks), training_caption(mine)))
    if any(run.has_trust for run in here):
        pictures.append(_picture(figures.trust(here, styles=looks), TRUST_CAPTION))
    if any(run.calibration for run in here):
        pictures.append(_picture(figures.calibration(here, styles=looks), CALIBRATION_CAPTION))
    return {
        "benchmark": benchmark,
        "headline": headline(mine),
        "summary": tables.summary(mine),
        "calls": tables.calls(mine),
        "pictures": pictures,
        "details": tables.details(mine),
    }


def _picture(figure: Figure, caption: str) -> Picture:
    return Picture(Markup(figures.svg(figure, label=caption)), caption, isinstance(figure, ThemedFigure))
