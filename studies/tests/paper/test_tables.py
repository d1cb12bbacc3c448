from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from fewsolves_studies.paper.tables import Printed, paired, printed, summary, to_printed_pfl


@given(st.lists(st.floats(0.1, 100), min_size=2, max_size=8, unique=True))
def test_paper_tables_the_interval_is_students(values):
    found = summary(values)
    low, high = ttest_1samp(values, 0.0).confidence_interval()
    assert found.mean - found.half == pytest.approx(low, abs=1e-6)
    assert found.mean + found.half == pytest.approx(high, abs=1e-6)


def test_paper_tables_one_value_has_no_spread_and_none_no_summary():
    assert summary([]) is None
    assert summary([3.0]) == (3.0, None, None)
    assert str(summary([3.0])) == "3"


def test_paper_tables_numbers_are_read_without_effort():
    assert str(summary([332412.0])) == "332,400"
    assert str(summary([250000.0, 410000.0])) == "330,000 ± 110,000"
    assert str(summary([1.6, 1.83])) == "1.72 ± 0.16"
    assert str(summary([4.0, 4.0 + 1e-15])) == "4 ± 0"
    assert str(summary([893.011, 893.018])) == "893.0 ± 0.0"
    assert str(summary([4.0, float("nan")])) == "nan ± nan"


def test_paper_tables_paired_looks_at_datasets_that_both_have():
    mine = {d: {"regret": r} for d, r in enumerate([1.0, 2.0, 3.0, 4.0, 6.0])}
    other = {d: {"regret": r} for d, r in enumerate([2.0, 4.0, 6.0, 8.0])} | {9: {"regret": 1.0}}
    found = paired(mine, other, "regret")
    assert (found.ratio.mean, found.ratio.half, found.won, found.of) == (0.5, 0.0, 4, 4)
    assert found.p == pytest.approx(0.125), "the least that four pairs allow"
    assert paired(mine, {7: {"regret": 1.0}}, "regret") is None


def test_paper_tables_five_of_five_is_the_least_p():
    mine = {d: {"r": 1.0 + 0.1 * d} for d in range(5)}
    other = {d: {"r": 2.0 + 0.3 * d} for d in range(5)}
    assert paired(mine, other, "r").p == pytest.approx(0.0625)
    assert paired(mine, mine, "r").p is None, "nothing to test"
    assert np.isfinite(paired(mine, other, "r").ratio.mean)


def test_paper_tables_a_cell_of_the_paper():
    assert printed("q1_regret", "sfge", "kp-values") == Printed(35.4, 9.77)
    assert printed("q1_regret", "spo+", "kp-weights") is None, "not applicable there"
    assert printed("q1_regret", "shift", "kp-weights") is None, "not in the paper"
    assert round(to_printed_pfl(printed("q1_regret", "gp-surrogate", "kp-weights"), "kp-weights"), 2) == 0.58
    assert to_printed_pfl(None, "kp-weights") is None
