import numpy as np
import pytest

from fewsolves.oracle import Oracle
from fewsolves.oracle.free_samples import FreeSamples
from problems_of_users import NEWSVENDOR, demand_table

pytestmark = pytest.mark.portable


def test_free_samples_the_nearest_of_each_row_sorted_by_row_and_distance():
    index = np.array([1, 0, 1, 1, 2])
    y_hat = np.array([[5.0], [1.0], [3.0], [4.0], [9.0]])
    samples = FreeSamples(index, y_hat, y_hat[:, 0], 4)
    assert samples.number.tolist() == [1, 3, 1, 0]
    near = samples.nearest(np.array([[0.0], [3.5], [0.0], [0.0]]), most=2)
    assert near.index.tolist() == [0, 1, 1, 2]
    assert near.regret.tolist() == [1.0, 3.0, 4.0, 9.0]
    assert near.number.tolist() == [1, 2, 1, 0]
    assert len(samples.nearest(np.zeros((4, 1))).index) == 5


def test_free_samples_without_a_ledger_nothing_is_free():
    Y = demand_table(5)[1]
    samples = Oracle(NEWSVENDOR, Y).free_samples()
    assert samples.y_hat.shape == (0, 3)
    assert samples.number.tolist() == [0] * 5
