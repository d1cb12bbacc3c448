import numpy as np
import pytest

from fewsolves.ledger.decision import pack_decision
from fewsolves.oracle.batch import Batch

pytestmark = pytest.mark.portable

ROWS = np.array([7, 8, 9])
KEYS = [bytes([k]) * 16 for k in range(3)]
Y = np.arange(6.0).reshape(3, 2)
DECISIONS = [pack_decision(np.full(2, float(k))) for k in range(3)]


def test_batch_of_solves_has_the_prediction_for_an_argument():
    batch = Batch("solve", "online", ROWS, KEYS, Y)
    assert len(batch) == 3
    (y,) = batch.arguments()
    assert y is Y


def test_batch_of_costs_has_truth_decision_and_the_seeds_of_a_noisy_cost():
    _, z = Batch("cost", "online", ROWS, KEYS, Y, decisions=DECISIONS).arguments()
    assert np.array_equal(z, [[0, 0], [1, 1], [2, 2]])
    noisy = Batch("cost", "online", ROWS, KEYS, Y, decisions=DECISIONS, seeds=np.arange(3))
    assert noisy.arguments()[2].tolist() == [0, 1, 2]


def test_batch_part_takes_every_column_along():
    drawn = Y - 1, np.array([1.0, 2.0])
    batch = Batch("solve", "online", ROWS, KEYS, Y, drawn=drawn, solved_by=KEYS, seeds=ROWS, repeats=False)
    part = batch.part(np.array([0, 2]))
    assert part.rows.tolist() == [7, 9]
    assert part.keys == part.solved_by == [KEYS[0], KEYS[2]]
    assert np.array_equal(part.y, Y[[0, 2]])
    assert np.array_equal(part.drawn[0], Y[[0, 2]] - 1)
    assert np.array_equal(part.drawn[1], [[1, 2], [1, 2]]), "one standard deviation for all is one for each"
    assert part.seeds.tolist() == [7, 9]
    assert not part.repeats


def test_batch_part_of_nothing_is_empty():
    part = Batch("cost", "labels", ROWS, KEYS, Y, decisions=DECISIONS).part(np.array([], dtype=int))
    assert len(part) == 0
    assert part.arguments()[1] == []
