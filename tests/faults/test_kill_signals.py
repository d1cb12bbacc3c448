"""A16: Ctrl-C once and twice, SIGTERM; all of them can go on."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

CODE = """
import functools, signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup, which has it ignored
from pathlib import Path
from fewsolves_studies.benchmarks import catalogue
from fewsolves.cli import main
import dataclasses
load = catalogue.load
def held_up(name, seed, **options):
    given = load(name, seed, **options)
    def solve(y_hat):
        with open(sys.argv[1], "a") as log:
            log.write(".")
            solved = log.tell()
        while solved == int(sys.argv[3]) and not Path(sys.argv[1] + "-go").exists():
            time.sleep(0.01)
        return given.problem.solve(y_hat)
    return dataclasses.replace(given, problem=dataclasses.replace(given.problem, solve=solve, solve_batch=None))
catalogue.load = held_up
import fewsolves_studies.benchmarks.run
run = fewsolves_studies.benchmarks.run.run
fewsolves_studies.benchmarks.run.run = functools.partial(run, fresh_rows=5)
main(["train", "--benchmark", "toy-64", "--method", "sfge", "--out", sys.argv[2], "--data", "n=20",
      "--set", "max_epochs=5", "--set", "start_epochs=2"])
"""


@pytest.fixture
def start(tmp_path):
    """Starts a run whose solve number `held` ends when it may go on, so that no signal comes too early or too late."""
    processes = []

    def started(held=0):
        command = [sys.executable, "-c", CODE, str(tmp_path / "log"), str(tmp_path / "run"), str(held)]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return processes[-1]

    yield started
    for process in processes:
        process.kill()
        process.wait()


def solves(tmp_path):
    log = tmp_path / "log"
    return len(log.read_text()) if log.exists() else 0


def wait_for_solves(tmp_path, number, process):
    while solves(tmp_path) < number:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_kill_signals_after_one_it_stops_after_the_solve_and_keeps_its_best(number, tmp_path, start):
    process = start(held=50)
    wait_for_solves(tmp_path, 50, process)  # in the second epoch
    process.send_signal(number)
    (tmp_path / "log-go").touch()
    out, errors = process.communicate()
    assert process.returncode == 130, (out, errors)
    assert "stopping after the solves under way" in errors
    assert "the same command resumes it" in errors
    assert (tmp_path / "run/weights.safetensors").exists()
    assert "interrupted in epoch" in out
    if number != signal.SIGINT:
        return
    before = solves(tmp_path)
    process = start()
    out, errors = process.communicate()
    assert process.returncode == 0, (out, errors)
    assert "the last epoch was reached" in out
    # 5 epochs of 16 rows, 5 readings of 2, labels, probe; test and fresh rows once for each of both reports
    in_training, reports = 5 * 16 + 6 * 2 + 20 + 1, 2 * (2 * 2 + 2 * 5)
    looked_at_again = 20  # when the ledger is opened again, one recorded answer of each row at most
    assert before < solves(tmp_path) <= in_training + reports + looked_at_again


def test_kill_signals_after_two_it_stops_at_once(tmp_path, start):
    process = start(held=1)
    wait_for_solves(tmp_path, 1, process)
    process.send_signal(signal.SIGINT)
    heard = ""
    while "stopping after the solves under way" not in heard:
        heard = process.stderr.readline()
        assert heard, "the solve under way is waited for"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()  # the solve would never end
    assert process.returncode == 130, errors
    assert Path(tmp_path / "run/ledger.sqlite").exists()
