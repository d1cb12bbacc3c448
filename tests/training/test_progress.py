"""What is shown while a run goes on, and where."""

import io
import logging
import sys
import time
from itertools import pairwise
from types import SimpleNamespace

import pytest

from fewsolves.oracle import Budget, Calls
from fewsolves.training import progress as module
from fewsolves.training.history import EpochRecord, History
from fewsolves.training.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(seconds=0.0)
    for name in ("monotonic", "perf_counter"):
        monkeypatch.setattr(time, name, lambda: now.seconds)
    return now


@pytest.fixture
def stderr(capsys):
    """Its lines so far; a pipe, since pytest takes it."""
    return lambda: capsys.readouterr().err.splitlines()


@pytest.fixture
def log(monkeypatch):
    """The log of fewsolves at level INFO, as a list of its messages, in a handler that is no screen."""
    messages, handler = [], logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    monkeypatch.setattr(module.LOGGER, "handlers", [handler])
    monkeypatch.setattr(module.LOGGER, "propagate", False)
    module.LOGGER.setLevel(logging.INFO)
    yield messages
    module.LOGGER.setLevel(logging.NOTSET)


def record(epoch=3, **changes):
    given = {
        "stage": "train", "train_loss": 0.5, "validation_regret": 21.4, "validation_error": 2.0, "trusted": 0.98,
        "solves": {"labels": 100, "online": 1523, "test": 7}, "seconds": 75.0, "solver_seconds": 60.0, "saved": 4100,
        "left": 780.0,
    }  # fmt: skip
    return EpochRecord(epoch=epoch, **given | changes)


def test_progress_a_line_tells_regret_paid_saved_and_time_left(clock, stderr):
    with Progress() as progress:
        clock.seconds = 11
        progress(record())
        progress.end("Regret fell by 47%.")
    assert stderr() == [
        "fewsolves: training, epoch 3 · validation regret 21.4 · 1,623 solves paid, 4,100 saved · "
        "surrogate trusted for 98% · 75 s, at most 13 min left",
        "fewsolves: Regret fell by 47%. · 11 s",
    ]


def test_progress_lines_come_every_so_often_and_less_often_in_a_long_run(clock, stderr):
    with Progress() as progress:
        for second in range(20_000):
            clock.seconds = second
            progress(record(second))
    written = [int(line.split("epoch ")[1].split(" ")[0]) for line in stderr()]
    gaps = [b - a for a, b in pairwise(written)]
    assert written[:3] == [10, 20, 30]
    assert gaps == sorted(gaps)
    assert max(gaps) == 600


def test_progress_a_slow_epoch_is_followed_from_answer_to_answer(clock, stderr):
    calls = Calls()
    with Progress() as progress:
        progress(record())
        for second in range(40):
            clock.seconds = second
            calls.add("solve", "pre-training", 1, 1.0)
            progress.on_answer(calls)
    assert stderr()[:2] == [
        "fewsolves: training, epoch 3 · paying for pre-training · validation regret 21.4 · 11 solves paid · 10 s",
        "fewsolves: training, epoch 3 · paying for pre-training · validation regret 21.4 · 21 solves paid · 20 s",
    ]


def test_progress_what_is_paid_for_after_the_start_is_not_told_as_part_of_it(clock, stderr):
    calls = Calls()
    with Progress() as progress:
        progress(record(stage="start", validation_regret=None))
        for second in range(12):
            clock.seconds = second
            calls.add("solve", "online", 1, 1.0)
            progress.on_answer(calls)
    assert stderr() == ["fewsolves: paying for training · 11 solves paid · 10 s"]


def test_progress_a_log_that_is_set_up_is_told_also_when_quiet(clock, stderr, log):
    with Progress(quiet=True) as progress:
        clock.seconds = 11
        progress(record())
        progress.end("Done.")
    assert [line.split(" · ")[0] for line in log] == ["training, epoch 3", "Done."]
    assert stderr() == []


def test_progress_a_log_in_a_file_and_a_pipe_get_the_same_lines(clock, stderr, log):
    with Progress("mine") as progress:
        progress.end("Done.")
    assert log == ["mine: Done. · 0 ms"]
    assert stderr() == ["mine: Done. · 0 ms"]


def test_progress_a_log_on_the_screen_is_enough(clock, stderr, monkeypatch, log):
    monkeypatch.setattr(module.LOGGER, "handlers", [logging.StreamHandler(sys.stderr)])
    with Progress() as progress:
        progress.end("Done.")
    assert stderr() == ["Done. · 0 ms"]


def test_progress_quiet_without_a_log_is_silent_and_an_error_has_no_closing_line(clock, stderr):
    with Progress(quiet=True) as progress:
        progress.end("Done.")
    with pytest.raises(RuntimeError), Progress():
        raise RuntimeError
    assert stderr() == []


def test_progress_a_notebook_has_one_line_that_changes(clock, stderr, monkeypatch):
    shown = []

    def display(first, display_id):
        assert display_id is True
        return SimpleNamespace(update=lambda text: shown.append(repr(text)))

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    with Progress() as progress:
        for tenth in range(10):
            clock.seconds = tenth / 10
            progress(record(tenth))
        progress.end("Done.")
    assert [line.split(" · ")[0] for line in shown] == [
        "fewsolves: training, epoch 0",
        "fewsolves: training, epoch 3",
        "fewsolves: training, epoch 6",
        "fewsolves: training, epoch 9",
        "fewsolves: Done.",
    ]
    assert stderr() == []


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_a_terminal_has_one_line_by_rich_and_keeps_the_closing_one(clock, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress("[bold]mine[/bold]") as progress:
        progress(record())
        progress.end("Done.")
    assert terminal.getvalue().rstrip().splitlines()[-1].endswith("[bold]mine[/bold]: Done. · 0 ms"), "no markup"


def test_progress_a_terminal_without_rich_gets_plain_lines(clock, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    for name in ("rich", "rich.console", "rich.live", "rich.text"):
        monkeypatch.setitem(sys.modules, name, None)
    with Progress() as progress:
        clock.seconds = 10
        progress(record(validation_regret=None, trusted=None, saved=0, left=None, stage="start"))
        progress.end("Done.")
    assert terminal.getvalue() == "fewsolves: warm start, epoch 3 · 1,623 solves paid · 75 s\nfewsolves: Done. · 10 s\n"


def test_progress_what_was_saved_is_what_was_trusted_and_what_was_known():
    calls = Calls()
    history = History(calls)
    calls.evaluations["online"] += 30
    calls.add("solve", "online", 20, 0.0)
    history.add("train", 1, 0.5, None, 0.5, rows=100)
    history.add("train", 2, 0.5, None, 0.25, rows=100)
    assert [record.saved for record in history.records] == [60, 85]
    assert "saved" in history.records[0].row()


def test_progress_the_time_left_follows_from_epochs_and_budget_whichever_ends_first(clock):
    calls = Calls()
    history = History(calls, budget=Budget(solves=1000))
    clock.seconds = 50
    history.add("start", 1, 0.5, None, None)
    calls.add("solve", "online", 100, 1.0)
    clock.seconds = 60
    history.add("train", 1, 0.5, None, None, epochs=11)
    clock.seconds = 70
    calls.add("solve", "online", 880, 1.0)
    history.add("train", 2, 0.5, None, None, epochs=11)
    assert [record.left for record in history.records] == pytest.approx([None, 100.0, 70 * 20 / 980])
    assert "left" not in history.records[0].row(), "a clock is no part of what two runs share"


def test_progress_what_others_paid_is_not_told_as_paid(clock, stderr):
    calls = Calls()
    for _ in range(30):
        calls.recall("solve", "labels", 0.0, own=False)
    calls.add("solve", "online", 12, 1.0)
    with Progress() as progress:
        clock.seconds = 11
        progress.on_answer(calls)
        clock.seconds = 30
        progress(record(solves=calls.by_phase("solve"), saved=0))
    assert [line.split(" · ")[-2 if k == 0 else 2] for k, line in enumerate(stderr())] == ["12 solves paid"] * 2


def test_progress_calls_print_as_a_sentence():
    calls = Calls()
    calls.add("solve", "labels", 1200, 2.5)
    calls.add("cost", "online", 7, 0.0)
    assert str(calls) == "1,200 solves (1,200 labels), 7 cost calls (7 online), 2.5 s inside of them"
    calls.recall("solve", "labels", 9.0, own=False)
    assert "1,201 solves (1,201 labels; 1 of them were paid by others)" in str(calls)
