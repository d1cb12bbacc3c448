"""Runs the trials that a study lacks: conditions side by side in processes, the trials of each one after the other.

Trials under the same conditions share the prediction-focused start. A run that fails is reported and does not stop the
others; a run that ended is kept at once, so a command that was stopped goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fewsolves.errors import NotApplicableError
from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.paper.trial import FLOOR, Conditions, Trial

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


@dataclass
class StudyProgress:
    """Where a command stands."""

    total: int
    running: dict[Conditions, str] = field(default_factory=dict)
    ended: set[Trial] = field(default_factory=set)
    failed: dict[Trial, str] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def line(self) -> str:
        left = self.total - len(self.ended)
        pace = (time.monotonic() - self.began) / max(len(self.ended), 1)
        parts = [f"{len(self.ended)} of {self.total} ended", f"{left} left"]
        parts += [f"{len(self.failed)} failed"] if self.failed else []
        parts += [f"about {pace * left / 60:.0f} min"] if self.ended and left else []
        running = f"; running: {', '.join(sorted(self.running.values()))}" if self.running else ""
        return ", ".join(parts) + running


Show = Callable[[StudyProgress, str], None]


def run_trials(trials: Iterable[Trial], study: Study, *, jobs: int, show: Show) -> StudyProgress:
    """Run the trials that have no result in the study; `show` is called whenever one begins, ends or fails."""
    missing: dict[Conditions, list[Trial]] = {}
    every, there = dict.fromkeys(trials), study.read()
    for trial in every:
        if trial.result_in(there) is None:
            missing.setdefault(trial.conditions, []).append(trial)
    progress = StudyProgress(sum(map(len, missing.values())))
    show(progress, f"{len(every) - progress.total} of {len(every)} runs are there")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "fewsolves_studies.paper.shared_start"])  # once, for all processes
    news: Any = context.Queue()
    waiting, running = list(missing), dict[Conditions, Any]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                conditions = waiting.pop(0)
                arguments = (conditions, missing[conditions], study, news)
                running[conditions] = context.Process(target=_run_in_turn, args=arguments)
                with _environment(ONE_THREAD):  # the first starts the server, whose libraries read it
                    running[conditions].start()
            _listen(news, progress, show)
            for conditions in [one for one, process in running.items() if not process.is_alive()]:
                code = running.pop(conditions).exitcode
                _listen(news, progress, show)  # its last words
                for trial in missing[conditions]:
                    if trial not in progress.ended:
                        _hear((conditions, trial, "failed", f"its process ended with exit code {code}"), progress, show)
    finally:
        for process in running.values():
            process.terminate()
            process.join()
        study.fold()
    return progress


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """These variables for a while."""
    before = dict(os.environ)
    os.environ |= variables
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ |= before


def _listen(news: Any, progress: StudyProgress, show: Show) -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            _hear(news.get(timeout=0.3), progress, show)


def _hear(message: tuple[Conditions, Trial, str, str], progress: StudyProgress, show: Show) -> None:
    conditions, trial, event, text = message
    what = f"{trial.setting} {trial.name} {trial.dataset}"
    if event == "begun":
        progress.running[conditions] = what
    else:
        progress.running.pop(conditions, None)
        progress.ended.add(trial)
        if event == "failed":
            progress.failed[trial] = text
    show(progress, f"{what}: {event}{f', {text}' if text else ''}")


def _run_in_turn(conditions: Conditions, trials: list[Trial], study: Study, news: Any) -> None:
    """In a process of its own, with one thread; its memory goes back when the last trial is done."""
    os.environ |= ONE_THREAD
    import torch

    from fewsolves_studies.paper.shared_start import SharedStart

    torch.set_num_threads(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # HiGHS prints whatever its options say; a run reports through `news`
    threading.Thread(target=_end_with_parent, daemon=True).start()
    shared: SharedStart | None = None
    for trial in sorted(trials, key=lambda trial: trial.name != FLOOR):
        news.put((conditions, trial, "begun", ""))
        try:
            shared = shared or SharedStart(conditions)
            study.keep(trial.run, shared.result(trial))
        except NotApplicableError as error:
            news.put((conditions, trial, "failed", str(error)))
        except Exception as error:
            news.put((conditions, trial, "failed", f"{type(error).__name__}: {error}"))
        else:
            news.put((conditions, trial, "done", ""))


def _end_with_parent() -> None:
    """A command that is killed leaves nothing behind that computes on."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
