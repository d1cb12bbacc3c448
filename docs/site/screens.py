"""Pictures of docs/progress.md and docs/results.md: `python docs/site/screens.py` photographs `watch` and a report.

A run waits in the middle of its training while its page is photographed, then ends, and its report follows. Each is
photographed wide in light and as on a phone in dark, by Chromium.
"""

from __future__ import annotations

import tempfile
import threading
import warnings
from contextlib import chdir
from pathlib import Path

import orders
from browser import Chromium

import fewsolves as fs
from fewsolves.reporting.server import WatchServer
from pages import ROOT

PICTURES = ROOT / "docs" / "pictures"
SIZES = {
    "": (1180, 920, "light"),
    "-phone": (390, 920, "dark"),
}  # width, most of its height, scheme, by end of the name


def main() -> None:
    """Photograph the page of a run under way, then its report."""
    solver, chromium = orders.Solver(wait=True), Chromium()
    with tempfile.TemporaryDirectory() as empty, chdir(empty), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report has them
        run = Path("runs/orders")
        model = orders.model(solver, run, verbose=False)
        training = threading.Thread(target=model.fit, args=orders.table())
        training.start()
        server = WatchServer(run)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            solver.reached.wait()
            _photograph(chromium, f"http://127.0.0.1:{server.server_port}/", "watch")
            solver.go_on.set()
            training.join()
            _photograph(chromium, fs.report(model, run / "report.html").resolve().as_uri(), "report")
        finally:
            solver.go_on.set()
            server.shutdown()
            server.server_close()
            chromium.close()


def _photograph(chromium: Chromium, address: str, name: str) -> None:
    for end, (width, height, scheme) in SIZES.items():
        chromium.look_as(width, scheme)
        chromium.open(address)
        file = PICTURES / f"{name}{end}.png"
        chromium.picture(file, width, height, colours=64)
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
