"""`fewsolves stop`: end a run that goes on, and keep everything."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="End a run early; it keeps everything it paid for.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def stop(folder: Path) -> None:
    """Stop the run in FOLDER, which keeps everything it paid for.

    It ends when the solves under way are on record, with the best predictor so far. The same call resumes it.
    """
    from fewsolves.errors import InputError
    from fewsolves.fitting.progress_file import read_progress
    from fewsolves.training.interrupt import request_stop

    progress = read_progress(folder)
    if progress is None or progress.ended or progress.process_is_gone:
        raise InputError(f"no run is under way in {folder}; `fewsolves watch {folder}` shows its state")
    request_stop(folder)
    click.echo(f"the run in {folder} was asked to stop; it ends when the solves under way are on record")
