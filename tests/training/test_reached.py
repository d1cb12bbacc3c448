"""Start and best of a run: one function for all places that show them."""

import math

import numpy as np

from fewsolves.methods.reading import Reading
from fewsolves.oracle import Calls
from fewsolves.training.history import History
from fewsolves.training.reached import Reached, reached


def test_reached_best_is_the_lowest_of_start_and_readings():
    assert reached(70.0, [98.8, None, math.nan]) == Reached(70.0, 70.0)
    assert reached(70.0, [98.8, 67.1]) == Reached(70.0, 67.1)
    assert reached(math.nan, []) == Reached(None, None)
    assert str(reached(None, [])) == ""
    assert str(reached(566_512.0, [566_400.0])) == "best 566,400 (start 566,500)"


def test_reached_is_in_each_record_of_a_history():
    history = History(Calls())
    history.note_start(5.0)
    for value in (7.0, 4.0, 6.0):
        history.add("train", 1, 0.0, Reading(np.array([value])), None)
    assert [record.best_regret for record in history.records] == [5.0, 4.0, 4.0]
    assert {record.start_regret for record in history.records} == {5.0}
    assert history.reached == Reached(5.0, 4.0)
    assert "best_regret" not in history.records[0].row(), "history.csv keeps its columns"


def test_reached_estimate_of_the_method_counts_before_its_readings():
    history = History(Calls())
    for value, best in ((7.0, 7.0), (4.0, 6.0), (3.0, 7.5)):
        history.add("train", 1, 0.0, Reading(np.array([value])), None, best=best)
        history.add("train", 1, 0.0, None, None)
    assert [record.best_regret for record in history.records] == [7.0, 7.0, 6.0, 6.0, 7.5, 7.5]
    assert history.reached == Reached(7.0, 7.5), "a change that is taken may have raised the estimate"
