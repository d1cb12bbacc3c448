import time

import numpy as np
import pytest

from fewsolves.methods.reading import Reading
from fewsolves.oracle import Calls
from fewsolves.training.history import History, Stop, csv_text

READING = Reading(np.array([1.0, 3.0]))


def add_record(history, epoch=1, stage="train", reading=READING):
    return history.add(stage, epoch, 0.5, reading, None)


def test_history_callbacks_share_one_record_of_each_epoch_and_the_first_answer_counts():
    seen, other = [], []

    def second(record):
        other.append(record)
        return Stop("enough") if record.epoch == 2 else None

    history = History(Calls(), [seen.append, second, lambda record: Stop("late") if record.epoch == 2 else None])
    assert add_record(history, 1) is None
    assert add_record(history, 2) == Stop("enough")
    assert all(a is b is c for a, b, c in zip(seen, other, history.records, strict=True))


def test_history_a_record_is_kept_although_a_callback_breaks_off():
    def interrupt(record):
        raise KeyboardInterrupt

    history = History(Calls(), [interrupt])
    with pytest.raises(KeyboardInterrupt):
        add_record(history)
    assert len(history.records) == 1


def test_history_a_start_has_no_validation_regret():
    history = History(Calls())
    add_record(history, stage="start")
    add_record(history)
    add_record(history, reading=None)
    assert [record.validation_regret for record in history.records] == [None, 2.0, None]
    assert [record.validation_error for record in history.records] == [None, 1.0, None]


def test_history_counts_are_those_of_the_run_so_far():
    calls = Calls()
    history = History(calls)
    calls.add("solve", "online", 3, 0.25)
    add_record(history)
    assert history.records[0].solves["online"] == 3
    assert history.records[0].solver_seconds == 0.25


def test_history_the_clock_goes_on_where_another_process_stopped(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    before = History(Calls())
    now[0] += 7
    add_record(before)
    after = History(Calls(), began=now[0])
    now[0] += 2
    after.go_on_from(before.records, before.records[-1].seconds)
    assert after.seconds == 7
    now[0] += 1
    add_record(after, 2)
    assert [record.seconds for record in after.records] == [7, 8]


def test_history_is_a_table():
    history = History(Calls())
    add_record(history)
    add_record(history, 2)
    lines = csv_text(history.records).splitlines()
    assert lines[0].startswith("stage,epoch,train_loss,validation_regret")
    assert len(lines) == 3
