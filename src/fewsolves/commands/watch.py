"""`fewsolves watch`: a page that follows a run."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Follow a run, or all runs of a folder, in a browser.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--port", default=8765, type=click.IntRange(0, 65535), help="0: any that is free.")
@click.option(
    "--address",
    default="127.0.0.1",
    help="Where it listens. The default is this machine alone; with another address everybody who reaches it sees the "
    "page: there is no password.",
)
def watch(folder: Path, port: int, address: str) -> None:
    """Follow the run in FOLDER, or all runs below it, on a page in your browser, for as long as this command runs.

    It only reads, so it may begin before the run, outlast it, and never disturbs it. A button of the page stops a run
    as `fewsolves stop` does.
    """
    from fewsolves.reporting.server import WatchServer

    serving = WatchServer(folder, address, port)
    where = f"[{address}]" if ":" in address else address
    click.echo(f"http://{where}:{serving.server_port}/ follows {folder}; Ctrl-C ends the page, not the run")
    try:
        serving.serve_forever()
    except KeyboardInterrupt:
        click.echo("the page has ended")
    finally:
        serving.server_close()
