"""The pictures of results/pictures.md: `python docs/site/before_after.py COMMIT` photographs that commit and this one.

Progress, `watch` of one run and of several, a report, objects in a notebook and the command line: each wide and as on a
phone, in light and dark. Both versions train on the same problem (orders.py), in the middle of which the solver waits.
`--only after` photographs this one alone.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

import nbformat
import numpy as np
from browser import Chromium
from orders import table
from terminal import Terminal, page

import notebooks
from pages import ROOT

PICTURES = ROOT / "results" / "pictures"
LOOKS = {"wide": (1100, 110), "phone": (390, 50)}  # pixels of a window, columns of a terminal
HEIGHTS = {"notebook-after": 2450, "notebook-before": 1500, "report-after": 1200, "report-before": 1200}
HEIGHTS |= {"command-line-after": 1500, "command-line-before": 1500}
HEIGHTS |= {"watch-after": 1280, "watch-before": 1280}  # pixels at most; others have 900
COLOURS, FEWER = 24, 12  # of a picture, and of one of a notebook, which is long
SETTLE = 4.0  # seconds after which lines and pages show the state in which the run waits
CELLS = """\
import warnings; warnings.simplefilter("ignore")
import fewsolves as fs
from orders import Solver, model as untrained, problem, table
X, Y = table()
fs.doctor(problem, X, Y)
---
fs.quote(problem, X, Y, methods=["staged", "pairs", "sfge"])
---
model = untrained(Solver(), "runs/notebook").fit(X, Y)
model
---
model.summary_
---
model.calls_
---
model.run_
---
model.history_
---
model.schedule_
"""
COMMANDS = (
    "--help",
    "doctor orders.py:problem --data days.csv --x x* --y y*",
    "quote orders.py:problem --data days.csv --x x* --y y*",
    "train orders.py:problem --data days.csv --x x* --y y* --method stagd",
)


def main() -> None:
    """Photograph both versions."""
    given = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    given.add_argument("commit", help="the commit to compare with")
    given.add_argument("--only", choices=("before", "after"))
    chosen = given.parse_args()
    for when in ("before", "after") if chosen.only is None else (chosen.only,):
        with tempfile.TemporaryDirectory() as empty:
            source = _source(chosen.commit, Path(empty) / "source") if when == "before" else ROOT / "src"
            chromium = Chromium()
            try:
                Photographer(chromium, when, source, Path(empty)).all()
            finally:
                chromium.close()
    files = sorted(PICTURES.glob("*.png"))
    print(f"{len(files)} pictures, {sum(file.stat().st_size for file in files) / 1e6:.2f} MB")


def _source(commit: str, folder: Path) -> Path:
    """The package as it was at a commit."""
    packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


class Photographer:
    """One version of the package, in an empty folder."""

    def __init__(self, chromium: Chromium, when: str, source: Path, folder: Path) -> None:
        self.chromium, self.when, self.folder = chromium, when, folder
        self.env = {**os.environ, "PYTHONPATH": str(source)}
        self.python, self.command = Path(sys.executable), Path(sys.executable).with_name("fewsolves")
        (folder / "orders.py").write_bytes((Path(__file__).parent / "orders.py").read_bytes())
        X, Y = table()
        names = ",".join([*(f"x{k}" for k in range(X.shape[1])), *(f"y{k}" for k in range(Y.shape[1]))])
        np.savetxt(folder / "days.csv", np.hstack([X, Y]), delimiter=",", header=names, comments="")

    def all(self) -> None:
        """Every picture."""
        piped = subprocess.run(
            [self.python, "orders.py", "sfge", "sfge"], cwd=self.folder, env=self.env, capture_output=True, text=True
        )
        if piped.returncode:
            sys.exit(piped.stderr)
        for look in ("phone", "wide"):  # the wide one waits while the pages are photographed
            self._train(look, escape(piped.stderr.strip()))
        self._photograph("report", (self.folder / "runs" / "wide" / "report.html").as_uri())
        self._notebook()
        self._command_line()

    def _train(self, look: str, piped: str) -> None:
        reached, go_on = self.folder / "reached", self.folder / "go-on"
        reached.unlink(missing_ok=True)
        go_on.unlink(missing_ok=True)
        columns = LOOKS[look][1]
        terminal = Terminal(
            [self.python, "orders.py", look, "staged", "wait"], columns, folder=self.folder, env=self.env
        )
        try:
            while not reached.exists():
                if terminal.process.poll() is not None:
                    sys.exit(f"the run has ended early: {terminal.html()}")
                time.sleep(0.1)
            time.sleep(SETTLE)
            during = terminal.html()
            if look == "wide":
                with self._watching("runs/wide") as address:
                    self._photograph("watch", address)
                with self._watching("runs") as address:
                    self._photograph("runs", address)
        finally:
            go_on.touch()
            terminal.wait()
        blocks = [
            ("python orders.py   # in the middle", during),
            ("python orders.py   # at the end", terminal.html()),
            ("python orders.py 2>&1 | cat", _wrapped(piped, columns)),
        ]
        self._photograph_page("progress", page(blocks), look)

    @contextmanager
    def _watching(self, folder: str) -> Iterator[str]:
        command = [self.command, "watch", folder, "--port", "0"]
        options = {"cwd": self.folder, "env": {**self.env, "PYTHONUNBUFFERED": "1"}, "text": True}
        with subprocess.Popen(command, stdout=subprocess.PIPE, **options) as watch:  # type: ignore[call-overload]
            found = re.search(r"http://\S+", watch.stdout.readline())
            assert found is not None
            try:
                yield found[0]
            finally:
                watch.terminate()

    def _notebook(self) -> None:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in CELLS.split("---\n")])
        done = notebooks.executed(notebook, self.folder, env=self.env, allow_errors=True)  # some objects are new
        for look in LOOKS:
            self._photograph_page("notebook", notebooks.page(done), look)

    def _command_line(self) -> None:
        for look, (_, columns) in LOOKS.items():
            blocks = []
            for one in COMMANDS:
                terminal = Terminal([self.command, *one.split()], columns, folder=self.folder, env=self.env)
                terminal.wait()
                blocks.append((f"fewsolves {one}" if len(one) < columns else _short(one), terminal.html()))
            self._photograph_page("command-line", page(blocks), look)

    def _photograph_page(self, name: str, html: str, look: str) -> None:
        file = self.folder / f"{name}.html"
        file.write_text(html, encoding="utf-8")
        self._photograph(name, file.as_uri(), [look])

    def _photograph(self, name: str, address: str, looks: Iterable[str] = tuple(LOOKS)) -> None:
        for look in looks:
            width, _ = LOOKS[look]
            for scheme in ("light", "dark"):
                self.chromium.look_as(width, scheme)
                self.chromium.open(address)
                file = PICTURES / f"{name}-{look}-{scheme}-{self.when}.png"
                self.chromium.picture(
                    file,
                    width,
                    HEIGHTS.get(f"{name}-{self.when}", 900),
                    colours=FEWER if name == "notebook" else COLOURS,
                    fitted=True,
                )
                print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1000:.0f} kB")


def _wrapped(text: str, columns: int) -> str:
    """Lines as a terminal of this width breaks them."""
    return re.sub(rf"(.{{{columns}}})(?=.)", r"\1\n", text)


def _short(command: str) -> str:
    return f"fewsolves {command.split()[0]} ..."


if __name__ == "__main__":
    main()
