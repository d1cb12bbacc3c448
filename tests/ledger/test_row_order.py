import numpy as np
import pytest

from fewsolves.ledger.keys import solve_keys
from fewsolves.ledger.row_order import moved_row

pytestmark = pytest.mark.portable

Y = np.random.default_rng(0).normal(size=(300, 2))
COINS = np.random.default_rng(0).integers(0, 2, size=(300, 1)).astype(float)


def recorded(table, *, own):
    return dict(enumerate(solve_keys(np.arange(len(table)), table, own=own)))


def edited(table, rows, values):
    changed = table.copy()
    changed[rows] = values
    return changed


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(
    "now",
    [
        Y[::-1],
        Y[np.random.default_rng(1).permutation(300)],
        np.concatenate([Y[1:], Y[:1]]),
        np.concatenate([Y[100:], Y[:100] + 1]),
        np.concatenate([Y[:7] + 1, Y]),
        edited(Y, [3, 8], Y[[8, 3]]),
    ],
    ids=["reversed", "shuffled", "rolled", "a window", "new rows first", "two rows"],
)
def test_row_order_that_has_changed_is_found_with_a_row_that_has_moved(now, own):
    row, place = moved_row(recorded(Y, own=own), now, own=own)
    assert row != place
    assert (now[place] == Y[row]).all()


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(
    ("before", "now"),
    [
        (Y, Y),
        (Y, np.concatenate([Y, Y[:9] + 1])),
        (Y, Y + 1e-9),
        (Y, edited(Y, [4], Y[9])),
        (COINS, edited(COINS, [4], 1 - COINS[4])),
        (COINS, edited(COINS, range(60), 1)),
        (Y[:0], Y),
    ],
    ids=["same", "new rows last", "rounded", "a copy of a row", "a coin", "many coins", "an empty ledger"],
)
def test_row_order_is_kept_where_rows_have_changed_or_come_last(before, now, own):
    assert moved_row(recorded(before, own=own), now, own=own) is None


@pytest.mark.parametrize("own", [False, True])
def test_row_order_of_equal_rows_counts_where_all_that_differ_are_found(own):
    assert moved_row(recorded(COINS, own=own), COINS[::-1], own=own) is not None
