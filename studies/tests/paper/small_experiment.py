"""An experiment of two short runs, and what a command makes of it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.paper.experiment import Exhibits, Experiment, Size
from fewsolves_studies.paper.output import write
from fewsolves_studies.paper.run_trials import Show, StudyProgress, run_trials
from fewsolves_studies.paper.shared_start import SharedStart
from fewsolves_studies.paper.tables import PaperTable
from fewsolves_studies.paper.trial import Results, Trial

SIZE = Size(datasets=2, quick=True)


def trials(size: Size) -> list[Trial]:
    return [size.trial("kp-capacity", "pfl", dataset) for dataset in size.seeds]


def show(results: Results, size: Size) -> Exhibits:
    rows = [{"run": trial.run, "regret": result["fresh_regret"]} for trial, result in results.found.items()]
    return Exhibits({"small": PaperTable("Regrets", rows)})


EXPERIMENT = Experiment(name="small", title="Small", about="Two runs.", trials=trials, show=show)


def make(folder: Path, show: Show = lambda progress, news: None) -> StudyProgress:
    study = Study(folder)
    progress = run_trials(trials(SIZE), study, jobs=1, show=show)
    list(write([EXPERIMENT], [EXPERIMENT], SIZE, study))
    return progress


def make_in_this_process(folder: Path) -> None:
    study = Study(folder)
    for trial in trials(SIZE):
        study.keep(trial.run, SharedStart(trial.conditions).result(trial))
    study.fold()
    list(write([EXPERIMENT], [EXPERIMENT], SIZE, study))


def kill_when_one_is_done(progress: StudyProgress, news: str) -> None:
    if news.endswith("done"):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    make(Path(sys.argv[1]), kill_when_one_is_done)
