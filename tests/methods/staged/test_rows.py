"""Units of the rows, their weights, and what is paid for them."""

import numpy as np
import pytest

from problems_of_users import NEWSVENDOR
from staged_rows import N, rows_of

RNG = np.random.default_rng(0)


def test_rows_units_and_raw_are_inverse():
    rows = rows_of(NEWSVENDOR)
    u = RNG.normal(size=(5, 3))
    assert np.allclose(rows.units(rows.raw(u)), u)
    assert np.allclose(rows.units(rows.oracle.Y).mean(axis=0), 0.0) and np.allclose(
        rows.units(rows.oracle.Y).std(axis=0), 1.0
    )


@pytest.mark.parametrize(("error", "narrow"), [(1.0, 1.0), (0.4, 1.0), (0.1, 0.25), (1e-6, 0.01)])
def test_rows_units_shrink_where_the_start_is_near_to_the_truth(error, narrow):
    rows = rows_of(NEWSVENDOR, n=2000)
    before = rows.scale.std.copy()
    rows.shrink_units(rows.oracle.Y + error * before * RNG.normal(size=rows.oracle.Y.shape))
    assert rows.narrow == pytest.approx(narrow, rel=0.1)
    assert np.allclose(rows.scale.std, rows.narrow * before)


def test_rows_units_shrink_by_the_rows_that_are_predicted():
    rows = rows_of(NEWSVENDOR)
    y_hat = rows.oracle.Y + 0.1 * rows.scale.std * RNG.normal(size=rows.oracle.Y.shape)
    y_hat[::2] = np.nan
    rows.shrink_units(y_hat)
    assert 0.1 < rows.narrow < 0.5


def test_rows_weights_multiply_values_of_any_shape():
    weights = np.linspace(0, 2, N)
    rows, index = rows_of(NEWSVENDOR, weights=weights), np.array([3, 0, 29])
    assert np.array_equal(rows.weighted(np.ones(3), index), weights[index])
    assert np.array_equal(rows.weighted(np.ones((3, 2)), index), np.repeat(weights[index, None], 2, axis=1))
    assert rows_of(NEWSVENDOR).weighted(index, index) is index


def test_rows_pay_counts_each_solve():
    rows = rows_of(NEWSVENDOR)
    rows.oracle.optimum(np.arange(N))
    before = rows.oracle.calls.total("solve")
    paid = rows.pay(np.array([1, 1, 2]), RNG.normal(size=(3, 3)))
    assert rows.paid == 3 == rows.oracle.calls.total("solve") - before
    assert (paid.regret >= -1e-9).all()
