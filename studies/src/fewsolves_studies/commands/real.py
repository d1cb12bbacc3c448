"""`fewsolves real NAME`: a study of real data, run and laid beside what was published."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fewsolves._internal.text import clean
from fewsolves.commands.options import on_one_thread

if TYPE_CHECKING:
    from fewsolves_studies.real.study import RealStudy

NAMES = ("market-clearing", "yaz-kitchen", "pjm-commitment", "all")


@click.command(short_help="Run a study of real data.")
@click.argument("name", type=click.Choice(NAMES))
@click.option("--quick", is_flag=True, help="Few days and methods: ends within a minute, says nothing about costs.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder in which each study has its own.  [default: results, with --quick runs/real-quick]",
)
@click.option("--only", multiple=True, help="Run these methods only, e.g. --only pfl; the table shows what is there.")
@on_one_thread
def real(name: str, quick: bool, out: Path | None, only: tuple[str, ...]) -> None:
    """Run a study of real data; what is there already is not run again.

    Writes table.md, table.csv, frontier and day (.png, .svg) into OUT/NAME. All runs are in runs.jsonl there, one line
    each; one whose settings have changed since is made again. After a stop the same command goes on where it stopped.
    """
    from fewsolves_studies.real.studies import STUDIES

    chosen = STUDIES.values() if name == "all" else [STUDIES[name]]
    folder = out or Path("runs/real-quick" if quick else "results")
    failed = sum(_run(study, quick, folder, only) for study in chosen)
    sys.exit(1 if failed else 0)


def _run(chosen: RealStudy, quick: bool, out: Path, only: tuple[str, ...]) -> int:
    """How many runs failed."""
    from fewsolves_studies.benchmarks.study import Study
    from fewsolves_studies.real.cell import done_among
    from fewsolves_studies.real.output import write
    from fewsolves_studies.real.run import run_missing

    name, folder = chosen.name, out / chosen.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.UsageError(f"--out {folder} cannot be written: {error.strerror}") from None
    study, cells = Study(folder), chosen.cells(quick)
    wanted = [cell for cell in cells if not only or cell.method in only]
    if not wanted:
        known = ", ".join(dict.fromkeys(cell.method for cell in cells))
        raise click.UsageError(f"{name} has no method {', '.join(only)}; there is {known}")
    work = Path("runs/real") / name if chosen.slow and not quick else None
    failed = run_missing(wanted, study, work=work, show=lambda news: click.echo(clean(news), err=True))
    done = done_among(cells, study.read())
    click.echo(write(chosen, done, folder, f"fewsolves real {name}{' --quick' if quick else ''}"))
    return failed
