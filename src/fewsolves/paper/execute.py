"""Runs what is missing: places side by side in processes, the methods of a place one after the other.

The methods of a place share its prediction-focused start. A run that fails is reported and does not stop the others;
a run that ended has its file, so a command that was stopped goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fewsolves.errors import NotApplicableError
from fewsolves.paper.task import FLOOR, Place, Task


@dataclass
class Progress:
    """Where a command stands."""

    total: int
    running: dict[Place, str] = field(default_factory=dict)
    ended: set[Task] = field(default_factory=set)
    failed: dict[Task, str] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def line(self) -> str:
        left = self.total - len(self.ended)
        pace = (time.monotonic() - self.began) / max(len(self.ended), 1)
        parts = [f"{len(self.ended)} of {self.total} ended", f"{left} left"]
        parts += [f"{len(self.failed)} failed"] if self.failed else []
        parts += [f"about {pace * left / 60:.0f} min"] if self.ended and left else []
        running = f"; running: {', '.join(sorted(self.running.values()))}" if self.running else ""
        return ", ".join(parts) + running


Show = Callable[[Progress, str], None]


def execute(tasks: Iterable[Task], folder: Path, *, jobs: int, show: Show) -> Progress:
    """Run the tasks that have no result in `folder`; `show` is called whenever one begins, ends or fails."""
    missing: dict[Place, list[Task]] = {}
    every = dict.fromkeys(tasks)
    for task in every:
        if task.result(folder) is None:
            missing.setdefault(task.place, []).append(task)
    progress = Progress(sum(map(len, missing.values())))
    show(progress, f"{len(every) - progress.total} of {len(every)} runs are there")
    context = multiprocessing.get_context("spawn")
    news: Any = context.Queue()
    waiting, running = list(missing), dict[Place, Any]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                place = waiting.pop(0)
                running[place] = context.Process(target=_run_place, args=(place, missing[place], folder, news))
                running[place].start()
            _listen(news, progress, show)
            for place in [place for place, process in running.items() if not process.is_alive()]:
                code = running.pop(place).exitcode
                _listen(news, progress, show)  # its last words
                for task in missing[place]:
                    if task not in progress.ended:
                        _hear((place, task, "failed", f"its process ended with exit code {code}"), progress, show)
    finally:
        for process in running.values():
            process.terminate()
    return progress


def _listen(news: Any, progress: Progress, show: Show) -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            _hear(news.get(timeout=0.3), progress, show)


def _hear(message: tuple[Place, Task, str, str], progress: Progress, show: Show) -> None:
    place, task, event, text = message
    what = f"{task.setting} {task.name} {task.dataset}"
    if event == "begun":
        progress.running[place] = what
    else:
        progress.running.pop(place, None)
        progress.ended.add(task)
        if event == "failed":
            progress.failed[task] = text
    show(progress, f"{what}: {event}{f', {text}' if text else ''}")


def _run_place(place: Place, tasks: list[Task], folder: Path, news: Any) -> None:
    """In a process of its own, with one thread; its memory goes back when the place is done."""
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    import torch

    from fewsolves.paper.once import Shared

    torch.set_num_threads(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # HiGHS prints, whatever it is told; what a run has to say is news
    threading.Thread(target=_end_with_parent, daemon=True).start()
    shared: Shared | None = None
    for task in sorted(tasks, key=lambda task: task.name != FLOOR):
        news.put((place, task, "begun", ""))
        try:
            shared = shared or Shared(place)
            _write(task.file(folder), json.dumps(shared.result(task)) + "\n")
        except NotApplicableError as error:
            news.put((place, task, "failed", str(error)))
        except Exception as error:
            news.put((place, task, "failed", f"{type(error).__name__}: {error}"))
        else:
            news.put((place, task, "done", ""))


def _end_with_parent() -> None:
    """A command that is killed leaves nothing behind that computes on."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _write(path: Path, text: str) -> None:
    """All of it or nothing: a run that is cut short must not look finished."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.part")
    draft.write_text(text)
    draft.replace(path)
