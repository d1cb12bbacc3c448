"""Pictures of docs/progress.md and docs/results.md: `python docs/site/screens.py` photographs `watch` and a report.

A run waits in the middle of its training while its page is photographed, then ends, and its report follows. Each is
photographed wide in light and as on a phone in dark, by Chromium.
"""

from __future__ import annotations

import tempfile
import threading
import time
import warnings
from contextlib import chdir
from pathlib import Path

import numpy as np
from browser import Chromium
from PIL import Image

import fewsolves as fs
from fewsolves.reporting.server import WatchServer
from pages import ROOT

PICTURES = ROOT / "docs" / "pictures"
SIZES = {
    "": (1180, 920, "light"),
    "-phone": (390, 920, "dark"),
}  # width, most of its height, scheme, by end of the name
SECONDS = 0.01  # of a solve
LABELS = 150  # solves in which no failure would do: a row without its label is left out
HALT = 780  # solves after which the run waits: its first stage has been judged


class Solver:
    """Orders round up; the licence server is down now and then, and the solver waits in the middle of the run."""

    def __init__(self) -> None:
        self.solves, self.reached, self.go_on = 0, threading.Event(), threading.Event()

    def __call__(self, y_hat: np.ndarray) -> np.ndarray:
        """Return the order."""
        self.solves += 1
        time.sleep(SECONDS)
        if self.solves > LABELS and self.solves % 97 == 0:
            raise RuntimeError("licence server down")
        if self.solves == HALT:
            self.reached.set()
            self.go_on.wait()
        return np.ceil(y_hat)


def cost(y: np.ndarray, z: np.ndarray) -> float:
    """Each unit costs 1, and each that is missing 9 more."""
    return float(np.sum(z + 9.0 * np.maximum(y - z, 0.0)))


def main() -> None:
    """Photograph the page of a run under way, then its report."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    Y = rng.poisson(20 + 5 * X[:, :2] ** 2)
    solver, chromium = Solver(), Chromium()
    with tempfile.TemporaryDirectory() as empty, chdir(empty), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report has them
        run = Path("runs/orders")
        model = fs.DecisionRegressor(
            fs.Problem(solver, cost, name="orders", lower=0.0),
            budget=fs.Budget(solves=1500),
            on_failure="skip",
            folder=run,
            verbose=False,
        )
        training = threading.Thread(target=model.fit, args=(X, Y))
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
        chromium.picture(file, width, height)
        with Image.open(file) as shot:
            small = shot.convert("RGB").quantize(64, dither=Image.Dither.NONE)
        small.save(file, optimize=True)
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
