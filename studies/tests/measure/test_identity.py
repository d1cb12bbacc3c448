"""The comparison of two commits: what counts as the same, as rounding, and as a difference."""

import math

import pytest

from fewsolves_studies.measure.identity import Case, largest, table


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({"regret": 2.0, "rows": [1, "x"]}, {"regret": 2.0, "rows": [1, "x"], "new": 3}, 0.0),
        ({"regret": 0.5}, {"regret": 0.25}, 0.5),
        ([{"train_loss": "0.5"}], [{"train_loss": "0.25"}], 0.5),
        ({"solves": 3}, {"solves": 4}, math.inf),
        ([{"solves_online": "3"}], [{"solves_online": "4"}], math.inf),
        ({"method": "a"}, {"method": "b"}, math.inf),
        ([1, 2], [1], math.inf),
        ({"regret": 0.5}, {}, math.inf),
    ],
)
def test_identity_largest_difference_is_of_numbers_and_infinite_elsewhere(a, b, expected):
    assert largest(a, b) == expected


def test_identity_table_has_a_column_for_each_way():
    ways = ("in process", "ledger", "ledger, 2 workers")
    found = {Case("kp-values", "pfl", way): value for way, value in zip(ways, (0.0, 2.4e-16, math.inf), strict=True)}
    assert table(found).splitlines()[-1] == "| `pfl` | kp-values | same bits | 2e-16 | differs |"
