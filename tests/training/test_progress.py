"""What is shown while a run goes on, and where."""

import io
import logging
import sys
import time
import warnings
from functools import partial
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import fewsolves as fs
from fewsolves._internal.text import number
from fewsolves.oracle import Budget, Calls
from fewsolves.training import displays as module
from fewsolves.training.expected import Expected
from fewsolves.training.history import EpochRecord, History
from fewsolves.training.progress import Progress
from fewsolves.training.records import Records
from problems_of_users import NEWSVENDOR, demand_table


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
        "left": 780.0, "epochs": 200, "start_regret": 24.5, "best_regret": 21.4,
    }  # fmt: skip
    return EpochRecord(epoch=epoch, **given | changes)


def test_progress_line_has_part_budget_best_start_and_time_left(clock, stderr):
    with Progress(expected=Expected(labels=300, training=2700, used_up=True, budget=Budget(solves=3000))) as progress:
        calls = Calls()
        for second in range(226):
            clock.seconds = second
            calls.add("solve", "labels", second > 0, 1.0)
            progress.on_answer(calls)
        clock.seconds = 270
        progress(record(solves={"labels": 300, "online": 600}, seconds=270.0, left=700.0))
        clock.seconds = 300
        progress.on_answer(calls)
        progress.end("Regret fell by 13%.")
    lines = stderr()
    assert lines[0] == "fewsolves: labels 10/300 · budget 10/3,000 · about 50 min left"
    assert lines[-3].startswith("fewsolves: training 600/2,700 · budget 900/3,000 · 4,100 solves saved · surrogate")
    assert lines[-3].endswith("trusted for 98% · best 21.4 (start 24.5) · about 12 min left")
    assert lines[-1] == "fewsolves: Regret fell by 13%. · 5 min"
    assert all(" left" in line for line in lines[:-1])


def test_progress_without_a_budget_counts_epochs(clock, stderr):
    with Progress(expected=Expected(labels=100)) as progress:
        clock.seconds = 11
        progress(record())
    assert stderr() == [
        "fewsolves: training 1,523 · epoch 3/200 · 1,623 solves paid · 4,100 solves saved · surrogate trusted for 98% "
        "· best 21.4 (start 24.5) · at most 13 min left"
    ]


def test_progress_pace_does_not_count_what_is_replayed(clock, stderr):
    calls = Calls()
    for _ in range(100):
        calls.recall("solve", "labels", 5.0, own=True)
    with Progress(expected=Expected(labels=200, training=0, used_up=True)) as progress:
        progress.on_answer(calls)
        clock.seconds = 10
        calls.add("solve", "labels", 10, 10.0)
        progress.on_answer(calls)
    assert stderr() == ["fewsolves: labels 110/200 · 110 solves paid · about 90 s left"]


def test_progress_epochs_without_a_total_of_their_own_have_the_time_left_of_the_solves(clock, stderr):
    calls = Calls()
    with Progress(expected=Expected(labels=10, training=90)) as progress:
        for second in range(1, 31):
            clock.seconds = second
            calls.add("solve", "labels" if second <= 10 else "online", 1, 1.0)
            progress.on_answer(calls)
            if second > 10:
                progress(record(solves=calls.by_phase("solve"), left=None, epochs=None, saved=0, trusted=None))
    left = [line.split(" · ")[-1] for line in stderr()]
    assert left == ["at most 90 s left", "at most 80 s left", "at most 70 s left"]


def test_progress_pace_of_workers_that_answer_together_is_that_of_all_of_them(clock, stderr):
    calls = Calls()
    with Progress(expected=Expected(labels=80, training=0)) as progress:
        for hour in (1, 2):
            clock.seconds = 3600 * hour
            for _ in range(8):
                calls.add("solve", "labels", 1, 3600.0)
                clock.seconds += 0.3
                progress.on_answer(calls)
    assert "at most 8 h left" in progress._left.words(clock.seconds)
    assert stderr()


def test_progress_training_never_has_the_time_of_the_labels(clock, stderr):
    calls = Calls()
    for usual, left in ((None, "time left known after the first epoch"), (400, "about 5.7 min left")):
        calls = Calls()
        clock.seconds = 0
        with Progress(expected=Expected(labels=100, usual=usual)) as progress:
            for second in range(1, 61):
                clock.seconds = second
                calls.add("solve", "labels" if second <= 20 else "online", 1, 1.0)
                progress.on_answer(calls)
            assert progress._left.words(clock.seconds) == left
        assert not any("labels done" in line for line in stderr() if "training" in line)


def test_progress_fast_solves_have_the_time_of_the_labels_alone_before_the_training(clock):
    progress, calls = Progress(expected=Expected(labels=300, training=2700)), Calls()
    for step in range(1, 101):
        clock.seconds = step / 100
        calls.add("solve", "labels", 1, 0.01)
        progress.on_answer(calls)
    assert progress._left.words(clock.seconds) == "labels done in about 2 s", "what training computes is not known yet"
    for step in range(1, 101):
        clock.seconds = 1 + step
        calls.add("solve", "online", 1, 0.01)
        progress.on_answer(calls)
    assert progress._left.words(clock.seconds) == "at most 47 min left"


def test_progress_lines_come_every_so_often_and_less_often_in_a_long_run(clock, stderr):
    with Progress() as progress:
        for second in range(20_000):
            clock.seconds = second
            progress(record(second))
    written = [int(line.split("epoch ")[1].split("/")[0].replace(",", "")) for line in stderr()]
    gaps = [b - a for a, b in pairwise(written)]
    assert written[:3] == [10, 20, 30]
    assert gaps == sorted(gaps)
    assert max(gaps) == 600


def test_progress_slow_epoch_is_followed_from_answer_to_answer(clock, stderr):
    calls = Calls()
    with Progress() as progress:
        progress(record())
        for second in range(40):
            clock.seconds = second
            calls.add("solve", "pre-training", 1, 1.0)
            progress.on_answer(calls)
    assert stderr()[:2] == [
        "fewsolves: training 11 · epoch 3/200 · 11 solves paid · best 21.4 (start 24.5) · at most 13 min left",
        "fewsolves: training 21 · epoch 3/200 · 21 solves paid · best 21.4 (start 24.5) · at most 13 min left",
    ]


def test_progress_what_is_paid_for_after_the_start_is_no_part_of_it(clock, stderr):
    calls = Calls()
    with Progress() as progress:
        progress(record(stage="start", validation_regret=None, start_regret=None, best_regret=None, left=None))
        for second in range(12):
            clock.seconds = second
            calls.add("solve", "online", 1, 1.0)
            progress.on_answer(calls)
    assert stderr() == ["fewsolves: training 11 · 11 solves paid · time left known after the first epoch"]


def test_progress_pace_does_not_count_the_time_of_the_start(clock):
    progress, calls = Progress(expected=Expected(labels=10, training=90)), Calls()
    for second in range(1, 11):
        clock.seconds = second
        calls.add("solve", "labels", 1, 1.0)
        progress.on_answer(calls)
    clock.seconds = 1000
    progress(record(stage="start", epochs=500, validation_regret=None, start_regret=None, best_regret=None, left=None))
    for second in (1001, 1002):
        clock.seconds = second
        calls.add("solve", "online", 1, 1.0)
        progress.on_answer(calls)
        assert progress._left.words(clock.seconds) == f"at most {1090 - second} s left"


def test_progress_a_configured_log_gets_lines_also_when_quiet(clock, stderr, log):
    with Progress(quiet=True) as progress:
        clock.seconds = 11
        progress(record())
        progress.end("Done.")
    assert [line.split(" · ")[0] for line in log] == ["training 1,523", "Done."]
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
    assert [line.split(" · ")[:2][-1] for line in shown] == [
        "epoch 0/200",
        "epoch 3/200",
        "epoch 6/200",
        "epoch 9/200",
        "900 ms",
    ]
    assert '<progress value="225" max="300"' in module._html_row(module.State("labels", 225, 300, ()))
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


def test_progress_the_closing_line_breaks_between_words(clock, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "24")
    with Progress("mine") as progress:
        progress.end("best 18.7 (start 34.6)")
    assert "mine: best 18.7 (start \n34.6)" in terminal.getvalue()


def test_progress_terminal_has_a_bar_for_each_part(clock, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    calls = Calls()
    with Progress(expected=Expected(labels=300, training=2700)) as progress:
        for phase, number in (("labels", 225), ("online", 50)):
            calls.add("solve", phase, number, 1.0)
            clock.seconds += 1
            progress.on_answer(calls)
            progress._displays[0]._live.refresh()
    shown = terminal.getvalue()
    for expected in ("labels 225/300", "labels 300/300", "training 50/2,700", "━"):
        assert expected in shown


def test_progress_labels_that_come_after_the_start_are_not_complete_while_it_is_trained(clock, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    calls = Calls()
    with Progress(expected=Expected(labels=132, training=867)) as progress:
        calls.add("solve", "labels", 2, 0.1)  # of the first trials
        progress.on_answer(calls)
        progress(record(80, stage="start", epochs=500, solves=calls.by_phase("solve"), left=None))
        progress._displays[0]._live.refresh()
        assert "start 80/500 epochs" in terminal.getvalue()
        assert "labels 132/132" not in terminal.getvalue()
        calls.add("solve", "online", 1, 0.1)
        clock.seconds += 1
        progress.on_answer(calls)
        progress._displays[0]._live.refresh()
        assert "labels 132/132" in terminal.getvalue(), "training follows the labels"


def test_progress_a_terminal_without_rich_gets_plain_lines(clock, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    for name in ("rich", "rich.console", "rich.live", "rich.text"):
        monkeypatch.setitem(sys.modules, name, None)
    with Progress() as progress:
        clock.seconds = 10
        progress(record(left=None, stage="start"))
        progress.end("Done.")
    start = "fewsolves: start 3/200 epochs · start done in at most 82 min"
    assert terminal.getvalue() == f"{start}\nfewsolves: Done. · 10 s\n"


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


def test_progress_calls_that_others_paid_are_not_shown_as_paid(clock, stderr):
    calls = Calls()
    for _ in range(30):
        calls.recall("solve", "labels", 0.0, own=False)
    calls.add("solve", "online", 12, 1.0)
    with Progress() as progress:
        clock.seconds = 11
        progress.on_answer(calls)
        clock.seconds = 30
        progress(record(solves=calls.by_phase("solve"), saved=0))
    assert ["12 solves paid" in line for line in stderr()] == [True, True]


def test_progress_calls_print_as_a_sentence():
    calls = Calls()
    calls.add("solve", "labels", 1200, 2.5)
    calls.add("cost", "online", 7, 0.0)
    assert str(calls) == "1,200 solves (1,200 labels), 7 cost calls (7 online), 2.5 s in your functions"
    calls.recall("solve", "labels", 9.0, own=False)
    assert "1,201 solves (1,201 labels; 1 of them were paid by other runs)" in str(calls)


def test_progress_labels_count_rows_and_no_probe(clock, stderr):
    expected = Expected(labels=120, training=180, probes=1)
    assert expected.bar({"labels": 120, "probe": 1}) == ("labels", 120, 120)
    assert expected.bar({"labels": 120, "probe": 1, "online": 3}) == ("training", 3, 180)


def test_progress_a_fit_counts_as_many_labels_as_rows_and_ends_in_one_short_line(monkeypatch):
    shown, lines = [], []
    display = SimpleNamespace(update=lambda state: shown.append(state.counted), close=lines.append)
    monkeypatch.setattr("fewsolves.training.progress.displays", lambda *_: [display])
    monkeypatch.setattr("fewsolves.estimator.Progress", partial(Progress, refresh=0.0))
    X, Y = demand_table(40)
    options = {"predictor": "linear", "settings": {"solves": 1.0}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fs.DecisionRegressor(NEWSVENDOR, **options).fit(X, Y)
    assert "labels 40/40" in shown
    assert not [line for line in shown if line.startswith("start") or "41" in line.split("/")[-1]]
    (closing,) = lines
    start, best = model.summary_.reached
    assert closing.startswith(f"best {number(best)} (start {number(start)})")
    assert f" · {model.summary_.solves} solves paid · " in closing
    assert model.summary_.message not in closing


def test_progress_is_not_computed_where_nothing_shows_it(monkeypatch):
    def fails(**options):
        raise AssertionError("a progress line was made")

    monkeypatch.setattr("fewsolves.estimator.Progress", fails)
    problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: float(abs(y - z).sum()))
    X = np.arange(40.0).reshape(20, 2)
    fs.DecisionRegressor(problem, "pfl", predictor="linear", verbose=False).fit(X, X)
    with pytest.raises(AssertionError, match="was made"):
        fs.DecisionRegressor(problem, "pfl", predictor="linear").fit(X, X)


def test_progress_history_in_a_notebook_ends_with_the_result_of_the_summary():
    read = [
        record(1, validation_regret=34.6, best_regret=34.6, start_regret=34.6),
        record(2, validation_regret=17.0, best_regret=18.9),
    ]
    html = Records([*read, record(3, validation_regret=None, best_regret=19.04)])._repr_html_()
    assert "best so far" in html
    assert html.count("<tr") == 4, "the heads, both readings and the result"
    assert ">19<" in html
    assert "A reading covers some of the rows" in html, "17 below 18.9 would puzzle a reader"
    assert html.count("to_frame()") == 1
    assert "A reading covers" not in Records(read[:1])._repr_html_()
    above = [
        record(k, validation_regret=v, best_regret=b, start_regret=27.9)
        for k, v, b in ((1, 27.9, 27.9), (2, 17.5, 14.3))
    ]
    assert "A reading covers" in Records(above)._repr_html_(), "14.3 where no reading is below 17.5"
