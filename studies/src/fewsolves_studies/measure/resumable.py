"""What the commands of a study share: runs that are there are not made again, and every command tells how far it is.

A command makes groups of runs, by name, and has a function that yields results of a group in the order of its runs.
Each result is kept as it comes (`benchmarks.study`), so a stopped command goes on where it stopped.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from fewsolves_studies.benchmarks.study import Result, Study
from fewsolves_studies.commit import code_commit
from fewsolves_studies.measure.frontier_tables import markdown

Group = Mapping[str, Any]  # tasks by the name of their run
Work = Callable[[Group], Iterator[Result]]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def parser_of(doc: str | None, name: str) -> argparse.ArgumentParser:
    """With what all commands take."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help=f"results/{name}, with --quick runs/quick/{name}")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--show", action="store_true", help="run nothing; the table of what is there")
    parser.add_argument("--quick", action="store_true", help="the smallest study that runs at all")
    parser.set_defaults(name=name)
    return parser


def out_of(given: argparse.Namespace) -> Path:
    """Where the study is kept."""
    return given.out or Path("runs/quick" if given.quick else "results") / given.name


def complete(groups: Sequence[Group], work: Work, given: argparse.Namespace) -> dict[str, Result]:
    """Make the runs that are missing; all that are planned and there, by name."""
    study, planned = Study(out_of(given)), [name for group in groups for name in group]
    there = study.read()
    missing = [rest for group in groups if (rest := {name: group[name] for name in group if name not in there})]
    if not given.show:
        number = sum(map(len, missing))
        show(f"{len(planned) - number} of {len(planned)} runs are there, {number} are missing")
        failed = _run(missing, work, study, given.jobs)
        study.fold()
        if failed:
            show(f"{failed} groups of runs failed; the table is of the others")
    there = study.read()
    return {name: there[name] for name in planned if name in there}


def _run(missing: Sequence[Group], work: Work, study: Study, jobs: int) -> int:
    """How many groups failed."""
    os.environ |= dict.fromkeys(THREADS, "1")
    began, failed = time.monotonic(), 0

    def ended(k: int, group: Group, outcome: Callable[[], float]) -> int:
        try:
            facts = f"{next(iter(group))} and {len(group) - 1} more: {outcome():.0f} s"
            bad = 0
        except Exception as error:
            facts, bad = f"{next(iter(group))} failed, {type(error).__name__}: {error}", 1
        left = (time.monotonic() - began) / k * (len(missing) - k) / 60
        show(f"{facts}   [{k} of {len(missing)}, about {left:.0f} min left]")
        return bad

    if jobs == 1:
        for k, group in enumerate(missing, 1):
            failed += ended(k, group, lambda group=group: _keep(group, work, study))
        return failed
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(_keep, group, work, study): group for group in missing}
        for k, future in enumerate(as_completed(running), 1):
            failed += ended(k, running[future], future.result)
    return failed


def _keep(group: Group, work: Work, study: Study) -> float:
    """In whichever process: the runs of a group, each kept as it ends; seconds that it took."""
    import torch

    torch.set_num_threads(1)
    began, commit = time.monotonic(), code_commit()
    for name, result in zip(group, work(group), strict=True):
        study.keep(name, {"commit": commit} | result)
    return time.monotonic() - began


def write(given: argparse.Namespace, runs: Mapping[str, Result], parts: Sequence[str | Sequence[Mapping[str, str]]]):
    """Sentences and tables as Markdown, in OUT/table.md and on the screen."""
    commits = sorted({str(result.get("commit")) for result in runs.values()})
    head = f"Made by `python -m fewsolves_studies.measure.{given.name}` at {', '.join(commits)}: {len(runs)} runs."
    text = "\n\n".join([head, *(part if isinstance(part, str) else markdown(part) for part in parts if part)]) + "\n"
    out_of(given).mkdir(parents=True, exist_ok=True)
    (out_of(given) / "table.md").write_text(text)
    print(text)


def show(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
