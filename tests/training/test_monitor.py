import numpy as np

from fewsolves.methods.reading import Reading
from fewsolves.oracle import Oracle
from fewsolves.predictors.predictor import Predictor, linear
from fewsolves.training.monitor import RegretMonitor
from problems_of_users import NEWSVENDOR, demand_table

X, Y = demand_table(20)


def monitor(share, move=0.0):
    oracle = Oracle(NEWSVENDOR, Y)
    return RegretMonitor(oracle, X, share=share, move=move), oracle


def predictor(bias):
    net = linear(4, 3, seed=0)
    net.layer[0][:], net.layer[1][:] = 0.0, float(bias)
    return Predictor(net)


def test_monitor_reads_each_time_unless_nothing_moved():
    read, oracle = monitor(None)
    first, second = read(predictor(10)), read(predictor(11))
    assert first.mean != second.mean
    assert read(predictor(11)) is None
    assert oracle.calls.counts["solve"]["validation"] == 2, (
        "one problem for all rows: one solve per constant prediction"
    )


def test_monitor_all_readings_together_cost_less_than_the_share_of_training():
    read, oracle = monitor(0.5)
    rng = np.random.default_rng(0)
    noisy = [Predictor(linear(4, 3, seed=k)) for k in range(40)]
    for each in noisy:
        read(each)
        oracle.regret(np.arange(20), rng.normal(size=Y.shape), phase="online")
    spent = oracle.calls.counts["solve"]["validation"]
    assert 20 < spent <= 0.5 * oracle.calls.training() + 20, "the first reading is always made"


def test_monitor_a_small_move_waits_and_a_final_reading_does_not():
    read, oracle = monitor(10.0, move=0.5)
    oracle.regret(np.arange(20), Y + 1, phase="online")
    assert read(predictor(10)) is not None
    assert read(predictor(10.1)) is None
    assert read(predictor(10.1), final=True) is not None
    assert read(predictor(15)) is not None


def test_monitor_clearly_below_looks_at_the_difference_row_by_row():
    spread = np.array([1.0, 100.0, 3.0, 50.0])
    start = Reading(spread)
    assert Reading(spread - 1).clearly_below(start, 1.0), "a sure gain in spite of the spread between rows"
    assert not Reading(spread - np.array([3.0, -3, 1, 0])).clearly_below(start, 1.0)
    assert not start.clearly_below(start, 1.0)
