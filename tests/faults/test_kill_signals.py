"""A16: Ctrl-C once and twice, SIGTERM; all of them can go on."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CODE = """
import signal, sys, time, torch
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup, which has it ignored
torch.set_num_threads(1)
from pathlib import Path
from fewsolves.benchmarks import catalogue
from fewsolves.cli import main
import dataclasses
load = catalogue.load
def slow(name, seed, **options):
    given = load(name, seed, **options)
    def solve(y_hat):
        with open(sys.argv[1], "a") as log:
            log.write(".")
        time.sleep(float(sys.argv[3]))
        return given.problem.solve(y_hat)
    return dataclasses.replace(given, problem=dataclasses.replace(given.problem, solve=solve, solve_batch=None))
catalogue.load = slow
import fewsolves.benchmarks.run
fewsolves.benchmarks.run.FRESH_ROWS = 5
main(["train", "--benchmark", "toy-64", "--method", "sfge", "--out", sys.argv[2], "--data", "n=20",
      "--set", "max_epochs=5", "--set", "start_epochs=2"])
"""


def started(tmp_path, seconds):
    command = [sys.executable, "-c", CODE, str(tmp_path / "log"), str(tmp_path / "run"), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def solves(tmp_path):
    log = tmp_path / "log"
    return len(log.read_text()) if log.exists() else 0


def wait_for_solves(tmp_path, number, process):
    for _ in range(6000):
        if solves(tmp_path) >= number or process.poll() is not None:
            return
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_asked_once_it_stops_after_the_solve_and_keeps_its_best(number, tmp_path):
    process = started(tmp_path, 0.01)
    wait_for_solves(tmp_path, 50, process)  # in the second epoch
    process.send_signal(number)
    out, errors = process.communicate(timeout=100)
    assert process.returncode == 130, (out, errors)
    assert "stopping after the solves under way" in errors
    assert "the same command goes on" in errors
    assert (tmp_path / "run/weights.safetensors").exists()
    assert "interrupted in epoch" in out
    if number != signal.SIGINT:
        return
    before = solves(tmp_path)
    process = started(tmp_path, 0.0)
    out, errors = process.communicate(timeout=100)
    assert process.returncode == 0, (out, errors)
    assert "the last epoch was reached" in out
    # 5 epochs of 16 rows, 5 readings of 2, labels, probe; test and fresh rows once for each of both reports
    in_training, reports = 5 * 16 + 6 * 2 + 20 + 1, 2 * (2 * 2 + 2 * 5)
    assert before < solves(tmp_path) <= in_training + reports + 1


def test_asked_twice_it_stops_at_once(tmp_path):
    process = started(tmp_path, 30.0)
    wait_for_solves(tmp_path, 1, process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None, "the solve under way is waited for"
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=25)
    assert process.returncode == 130, errors
    assert time.monotonic() - began < 20, "long before the solve would have ended"
    assert Path(tmp_path / "run/ledger.sqlite").exists()
