"""`fewsolves report`: the HTML report of runs."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Write the HTML report of a run, or of several.")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path), help="The file to write.  [default: FOLDER/report.html]")
def report(folder: Path, out: Path | None) -> None:
    """Write the HTML report of a run, or of all runs below FOLDER."""
    from fewsolves.reporting import read_runs, write_report

    click.echo(write_report(read_runs(folder), out or folder / "report.html", title=folder.name))
