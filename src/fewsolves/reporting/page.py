"""The report: one HTML file that opens from disk, asks nothing of the network and runs no script."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from fewsolves._internal.files import write_whole
from fewsolves._internal.renamed import renamed_argument
from fewsolves._internal.text import clean, duration, number
from fewsolves.errors import InputError
from fewsolves.reporting import figures, tables
from fewsolves.reporting.figures.canvas import ThemedFigure
from fewsolves.reporting.groups import BASELINE, Group, groups, relative_to, same_rows
from fewsolves.reporting.notes import (
    CALIBRATION_CAPTION,
    headline,
    notes,
    problem_in_words,
    regret_caption,
    training_captions,
    trust_caption,
)
from fewsolves.reporting.run_sources import RunSource, runs_of
from fewsolves.reporting.runs import Run
from fewsolves.reporting.tables import MISSING, Tile, fixed

FEW_METHODS, NARROW = 8, 4.8  # methods whose labels a figure has room for that a phone shows whole; inches


@dataclass(frozen=True)
class Picture:
    svg: Markup
    caption: str
    themed: bool  # drawn in the page's tones; any other figure gets a white card


def write_report(
    runs: Sequence[Run],
    path: str | Path,
    *,
    title: str,
    lead: Sequence[str] = (),
    extra_figures: Mapping[str, Figure] = MappingProxyType({}),
    tiles: Sequence[Tile] = (),
    about: str = "",
) -> Path:
    """Write the page for `runs` to `path`; `extra_figures` are shown with their keys as captions.

    With a `lead`, the page begins with these sentences, tiles and figures, in place of what it would find to say
    itself. `about` is the problem in words.
    """
    if not runs:
        raise InputError("a report needs at least one run; read_runs(folder) finds those below a folder")
    with contextlib.suppress(OSError):  # writing it says why
        if Path(path).is_dir():
            raise InputError(f"{path} is a folder; give the file to write, such as {Path(path) / 'report.html'}")
    found = groups(runs)
    looks = figures.styles(runs)
    benchmarks = list(dict.fromkeys(run.benchmark for run in runs))
    alone = runs[0] if len(runs) == 1 and runs[0].own and runs[0].message else None  # it describes itself
    if alone is not None:
        found_tiles, found_about, facts = run_tiles(alone), problem_in_words(alone), _own_facts(alone)
    else:
        found_tiles, found_about, facts = group_tiles(found), "", _facts(runs, found)
    page = (
        environment()
        .get_template("report.html.j2")
        .render(
            title=title,
            lead=lead,
            tiles=tiles or found_tiles,
            about=about or found_about,
            alone=alone,
            facts=facts,
            notes=notes(found),
            keys={label: Markup(figures.key(look)) for label, look in looks.items()},
            overview=tables.overview(found) if len(benchmarks) > 1 else None,
            sections=[_section(benchmark, runs, found, looks) for benchmark in benchmarks],
            extras=[picture(figure, caption) for caption, figure in extra_figures.items()],
        )
    )
    path = Path(path)
    try:
        write_whole(path, page)
    except OSError as error:
        raise InputError(f"{clean(str(path), 300)} cannot be written: {error.strerror}; give another file") from error
    return path


@renamed_argument("told", "source")
def report(
    source: RunSource | Sequence[RunSource], path: str | Path = "report.html", *, title: str | None = None
) -> Path:
    """Write an HTML page about a fitted model, or about several side by side, and return its path.

    The page is one file; it opens from disk, uses no network and runs no script.

    >>> import fewsolves as fs, numpy as np
    >>> problem = fs.Problem(solve=lambda u: u, cost=lambda y, z: float(abs(y - z).sum()))
    >>> X = np.arange(40.0).reshape(20, 2)
    >>> model = fs.DecisionRegressor(problem, "pfl", "linear", verbose=False).fit(X, X)
    >>> fs.report(model, "runs/doctest/report.html").name
    'report.html'

    Args:
        source: A fitted `DecisionRegressor`, a `Fit`, a folder of runs, or a list of these.
        path: The file to write.
        title: Heading of the page. None: the names of the problems.
    """
    runs = runs_of(source)
    return write_report(runs, path, title=title or ", ".join(dict.fromkeys(run.benchmark for run in runs)))


@functools.cache  # to compile the templates takes longer than to fill them
def environment() -> Environment:
    """Of the templates: all that they print is cleaned and escaped."""
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
    own = all(run.own for run in runs)
    what = "Problem" if own else "Benchmark"
    facts = {
        what if len(benchmarks) == 1 else f"{what}s": ", ".join(benchmarks),
        "Runs": f"{len(runs)} ({len(methods)} {'method' if len(methods) == 1 else 'methods'})",
        "Seeds" if own else "Dataset seeds": tables.ranges([run.dataset_seed for run in runs]),
        "Predictor": ", ".join(dict.fromkeys(run.predictor or "not recorded" for run in runs)),
    }
    if not own:
        facts["Commit"] = ", ".join(sorted({run.commit for run in runs if run.commit})) or "not recorded"
    return facts


def run_tiles(run: Run) -> list[Tile]:
    """What was gained and paid, of one run."""
    start, best = run.reached
    tiles = []
    if run.unjudged:
        tiles.append(Tile(MISSING, f"no regret is known: {run.unjudged}"))
    elif run.kept_start:
        tiles.append(Tile("0 %", "of the avoidable cost saved: nothing clearly beat the start"))
    elif start is not None and best is not None and start > 0 and run.result.get("gain"):
        tiles.append(Tile(_change(best / start), "avoidable cost (regret)"))
    if best is not None:
        before = "" if start is None else f"; {number(start)} at the start"
        tiles.append(Tile(number(best), f"mean regret{before}"))
    tiles.append(Tile(f"{run.solves:,}", f"solves, {fixed(run.solves_per_row, 1)} per row of the table"))
    return tiles


def group_tiles(found: Sequence[Group]) -> list[Tile]:
    """Of several runs: what the best method gained and paid; of several benchmarks, how much there is to read."""
    if len({group.benchmark for group in found}) > 1:
        return _counts(found)
    first = next((group for group in tables.ordered(found) if group.known_regret), None)
    if first is None:
        return [Tile(MISSING, headline(found).rstrip("."))]
    beside = relative_to(found)
    tiles = []
    if first.relative is not None and beside and first.method != BASELINE:
        what = f"avoidable cost (regret) with {first.label}, relative to {beside}"
        tiles.append(Tile(_change(first.relative.mean), what))
    solves, each = (first.spread(value) for value in (lambda run: run.solves, lambda run: run.solves_per_row))
    assert solves is not None
    assert each is not None
    tiles.append(Tile(fixed(solves.mean, 0), f"solves by {first.label}, {fixed(each.mean, 1)} per row of the table"))
    return [*tiles, *_next_method(first, found)]


def _counts(found: Sequence[Group]) -> list[Tile]:
    runs = [run for group in found for run in group.runs]
    benchmarks, methods = {group.benchmark for group in found}, {group.label for group in found}
    what = "problems" if all(run.own for run in runs) else "benchmarks"
    return [
        Tile(str(len(benchmarks)), what),
        Tile(str(len(methods)), "methods"),
        Tile(f"{sum(run.solves for run in runs):,}", "solves in all"),
    ]


def _next_method(first: Group, found: Sequence[Group]) -> list[Tile]:
    """How many solves the best of the other methods took, where regrets can be compared and it gains, too."""
    others = [group for group in tables.ordered(found) if group is not first and tables.gains(group)]
    if not others or not same_rows(found) or others[0].known_regret is None or others[0].method == BASELINE:
        return []
    own, other = (one.spread(lambda run: run.solves) for one in (first, others[0]))
    if own is None or other is None or not own.mean or other.mean < 1.5 * own.mean:
        return []
    return [Tile(f"{other.mean / own.mean:.1f} times", f"fewer solves than the next method, {others[0].label}")]


def _change(ratio: float) -> str:
    """Such as "−44 %"."""
    return f"{ratio - 1:+.0%}".replace("-", "−").replace("%", " %")


def _own_facts(run: Run) -> dict[str, str]:
    """Of one run on a problem of the user's own."""
    seconds = run.seconds("total")
    return {
        "Problem": run.benchmark,
        "Method": run.method,
        "Predictor": run.predictor or "not recorded",
        "Rows": run.rows_by_use,
        "Seed": str(run.dataset_seed),
        "Time": "not recorded" if seconds is None else duration(seconds),
    }


def _section(
    benchmark: str, runs: Sequence[Run], found: Sequence[Group], looks: Mapping[str, figures.Style]
) -> dict[str, Any]:
    here = [run for run in runs if run.benchmark == benchmark]
    mine = [group for group in found if group.benchmark == benchmark]
    return {
        "benchmark": benchmark,
        "headline": headline(mine),
        "stages": tables.stages(here[0]) if len(here) == 1 and here[0].stages else None,
        "summary": tables.summary(mine),
        "calls": tables.calls(mine),
        "pictures": _pictures(here, mine, looks),
        "details": tables.details(mine),
    }


def _pictures(here: Sequence[Run], mine: Sequence[Group], looks: Mapping[str, figures.Style]) -> list[Picture]:
    """The figures of one benchmark: those that its runs have something to show in."""
    pictures = []
    if len(mine) > 1:  # one method alone is a marker without anything to compare it with
        width = NARROW if len(mine) <= FEW_METHODS else figures.FIGURE_WIDTH
        pictures.append(picture(figures.regret_against_solves(here, styles=looks, width=width), regret_caption(mine)))
    if any(row.validation_regret is not None for run in here for row in run.history):
        drawn = figures.training_figures(here, styles=looks)
        pictures += [picture(figure, text) for figure, text in zip(drawn, training_captions(mine), strict=True)]
    if any(run.has_trust for run in here):
        pictures.append(picture(figures.trust(here, styles=looks), trust_caption(mine)))
    if any(run.calibration for run in here):
        pictures.append(picture(figures.calibration(here, styles=looks), CALIBRATION_CAPTION))
    return pictures


def picture(figure: Figure, caption: str, values: Mapping[str, str] = MappingProxyType({})) -> Picture:
    """A figure as a page shows it; `values` are shown where the pointer rests."""
    drawn = Markup(figures.svg(figure, label=caption, values=values))
    return Picture(drawn, caption, isinstance(figure, ThemedFigure))
