"""Gallery of the site: each program of examples/ with what it prints and draws, run when the site is built.

What was printed and drawn is kept by a digest of the program and of the package: a second build runs only what has
changed.
"""

from __future__ import annotations

import ast
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

from pages import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
NAMES = {
    "ray": "Ray",
    "lightgbm": "LightGBM",
    "highs": "HiGHS",
    "pyomo": "Pyomo",
    "cvxpy": "CVXPY",
    "cp sat": "CP-SAT",
    "pyepo": "PyEPO",
    "scipy": "SciPy",
}  # in titles
COLUMNS = 88  # of what is printed
LIMIT = 7200  # seconds, after which an example that has not ended is a fault; busy machines take long
CHATTER = re.compile(r"^Highs\w+::.*\n", re.MULTILINE)  # HiGHS prints this even where its output is switched off


def pages(folder: Path, *, jobs: int, kept: bool = False) -> dict[str, str]:
    """The pages, by name on the site; with `kept`, what was printed before is shown though the code is new."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        runs = pool.map(lambda path: _run(path, folder, kept=kept), EXAMPLES)
        return {f"examples/{path.stem}.md": _page(path, run) for path, run in zip(EXAMPLES, runs, strict=True)}


def figures(folder: Path) -> dict[str, Path]:
    """The figures that examples drew, by name on the site."""
    return {f"examples/{file.name}": file for file in sorted(folder.glob("*.png"))}


def _page(path: Path, run: dict[str, str]) -> str:
    source = path.read_text()
    about = ast.get_docstring(ast.parse(source)) or ""
    text = re.sub(r"\n?Run: (.+)", "", about).strip()
    code = source.partition('"""\n\n')[2]
    title, took = path.stem[3:].replace("_", " ").capitalize(), float(run["seconds"])
    printed = CHATTER.sub("", run["printed"])
    for plain, name in NAMES.items():
        title = re.sub(rf" {plain}$", f" with {name}", title)
        title = re.sub(rf"\b{plain}\b", name, title, flags=re.IGNORECASE)
    drawn = f"![differences of mean regrets, with their intervals]({path.stem}.png)\n\n" if run.get("drawn") else ""
    return (
        f"# {title}\n\n{text}\n\n## What it prints\n\n```text\n{_wrapped(printed)}\n```\n\n{drawn}"
        f"`python examples/{path.name}` took {took:.0f} s on {run['machine']}, when this page was built.\n\n"
        f"## The program\n\n```python\n{code.rstrip()}\n```\n"
    )


def _wrapped(printed: str) -> str:
    """Long sentences in lines that fit; tables stay as they are."""
    lines = printed.rstrip().splitlines()
    return "\n".join(
        line if "  " in line.strip() else textwrap.fill(line, COLUMNS, subsequent_indent="  ") for line in lines
    )


def _run(path: Path, folder: Path, *, kept: bool) -> dict[str, str]:
    """What an example printed, with its seconds and machine; its figure is a file beside the record."""
    record, digest = folder / f"{path.stem}.json", _digest(path)
    if record.exists():
        before: dict[str, str] = json.loads(record.read_text())
        if before["digest"] == digest or kept:
            return before
    print(f"running examples/{path.name}", flush=True)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as empty:
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src"), "COLUMNS": str(COLUMNS)}
        command = [sys.executable, str(path)]
        ended = subprocess.run(command, cwd=empty, env=environment, capture_output=True, text=True, timeout=LIMIT)
        if ended.returncode:
            raise SystemExit(f"examples/{path.name} failed:\n{ended.stderr}")
        drawn = sorted(Path(empty).glob("*.png"))
        for figure in drawn[:1]:
            shutil.copy(figure, folder / f"{path.stem}.png")
    machine = f"one core ({platform.machine()}), Python {platform.python_version()}"
    run = {"digest": digest, "printed": ended.stdout, "seconds": str(time.perf_counter() - began), "machine": machine}
    run |= {"drawn": "yes"} if drawn else {}
    record.write_text(json.dumps(run, indent=1))
    return run


def _digest(path: Path) -> str:
    files = [path, *sorted((ROOT / "src").rglob("*.py"))]
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
