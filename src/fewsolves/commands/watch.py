"""`fewsolves watch`: a page that follows a run."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Follow a run, or all runs of a folder, in a browser.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--port", default=8765, type=click.IntRange(0, 65535), help="Port of the page; 0: any free one.")
@click.option(
    "--address",
    default="127.0.0.1",
    help="Address to listen on. By default only this machine can reach the page; with another address, everybody who "
    "reaches it sees the page, because there is no password.",
)
def watch(folder: Path, port: int, address: str) -> None:
    """Follow the run in FOLDER, or all runs below it, on a page in your browser, for as long as this command runs.

    The page only reads: it may be opened before the run begins and after it has ended, and never disturbs it. A button
    on the page stops a run as `fewsolves stop` does.
    """
    from fewsolves.reporting.server import WatchServer

    serving = WatchServer(folder, address, port)
    where = f"[{address}]" if ":" in address else address
    click.echo(f"http://{where}:{serving.server_port}/ follows {folder}; Ctrl-C ends the page, not the run")
    try:
        serving.serve_forever()
    except KeyboardInterrupt:
        click.echo("The page has ended.")
    finally:
        serving.server_close()
