from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.paper.experiment import Size
from fewsolves_studies.paper.run_trials import run_trials
from fewsolves_studies.paper.trial import Trial

from . import small_experiment

SMALL = Size(datasets=1, quick=True)
ROOT = Path(__file__).parents[3]


def test_run_trials_missing_runs_are_made_once_and_a_failure_does_not_stop_the_others(tmp_path):
    good = SMALL.trial("kp-capacity", "pfl", 0)
    bad = SMALL.trial("kp-capacity", "spo+", 0)
    broken = Trial(benchmark="no-such-benchmark", method="pfl", dataset=0)
    study, news = Study(tmp_path), []
    progress = run_trials([broken, bad, good, good], study, jobs=1, show=lambda progress, text: news.append(text))
    assert set(progress.failed) == {bad, broken}
    assert "linear" in progress.failed[bad]
    assert "unknown benchmark" in progress.failed[broken]
    assert {run: result["method"] for run, result in study.read().items()} == {good.run: "pfl"}
    assert [path.name for path in tmp_path.iterdir()] == ["runs.jsonl"], "nothing else is left"
    written = study.file.stat().st_mtime_ns
    again = run_trials([good], study, jobs=1, show=lambda progress, text: news.append(text))
    assert (again.total, study.file.stat().st_mtime_ns) == (0, written)


def test_run_trials_killed_in_the_middle_and_started_again_the_tables_are_the_same(tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    small_experiment.make_in_this_process(whole)
    killed = subprocess.run(  # ends when its last process has: they hold the pipe
        [sys.executable, "-m", "studies.tests.paper.small_experiment", str(cut)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (cut / "runs.jsonl").exists(), "it had no time to fold"
    assert small_experiment.make(cut).total == 1, "what had ended is not run again"
    for name in ("small.csv", "small.md", "index.html"):
        assert (cut / name).read_bytes() == (whole / name).read_bytes()
    there = [Study(folder).read() for folder in (whole, cut)]
    assert list(there[0]) == list(there[1])
    for a, b in zip(*(runs.values() for runs in there), strict=True):
        assert a | {"seconds": 0} == b | {"seconds": 0}
    assert not (cut / "runs").exists(), "all is in one file"
    assert small_experiment.make(cut).total == 0
