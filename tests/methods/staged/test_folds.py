"""Folds: every row judged once by a model that never saw it; groups, time order and given rows respected."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewsolves.data import Split
from fewsolves.methods.staged.folds import build_folds
from fewsolves.methods.staged.tuning import Tuning

TUNING = Tuning()


def folds_of(n, valid, *, groups=None, time_ordered=False, given=False, continues=False, seed=0):
    valid = np.asarray(valid)
    split = Split(np.setdiff1d(np.arange(n), valid), valid, np.empty(0, dtype=int))
    context = SimpleNamespace(
        split=split, groups=groups, time_ordered=time_ordered, validation_given=given, continues=continues
    )
    return build_folds(context, np.arange(n), np.random.default_rng(seed), TUNING)


def check_honest(folds):
    for judged, bag, correction in zip(folds.judged, folds.bags, folds.corrections, strict=True):
        assert not np.isin(judged, bag).any()
        assert not np.isin(judged, correction).any()
        assert len(bag) and len(judged) and len(correction)


@given(st.integers(20, 400), st.integers(0, 5))
def test_folds_judge_every_row_once_by_a_model_that_never_saw_it(n, seed):
    folds = folds_of(n, np.arange(n // 5), seed=seed)
    check_honest(folds)
    assert np.array_equal(folds.rows, np.arange(n))
    assert len(folds.judged) == TUNING.folds
    sizes = [len(judged) for judged in folds.judged]
    assert max(sizes) - min(sizes) <= 1
    assert folds.refits and not folds.holdout


@given(st.integers(2, 40), st.integers(0, 5))
def test_folds_keep_groups_together(kinds, seed):
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(kinds), rng.integers(kinds, size=80)]) * 7
    n = len(groups)
    folds = folds_of(n, np.arange(5), groups=groups, seed=seed)
    check_honest(folds)
    assert np.array_equal(folds.rows, np.arange(n))
    for judged, bag in zip(folds.judged, folds.bags, strict=True):
        assert not np.isin(groups[judged], groups[bag]).any()


def test_folds_keep_groups_together_where_the_last_ones_are_held_out():
    groups = np.arange(60) // 12
    folds = folds_of(60, np.arange(48, 60), groups=groups, time_ordered=True)
    for judged, bag in zip(folds.judged, folds.bags, strict=True):
        assert not np.isin(groups[judged], groups[bag]).any()


def test_folds_in_time_judge_blocks_of_the_last_rows():
    folds = folds_of(100, np.arange(70, 100), time_ordered=True, given=True)
    check_honest(folds)
    assert np.array_equal(folds.rows, np.arange(70, 100))
    assert all(np.array_equal(judged, np.arange(judged[0], judged[-1] + 1)) for judged in folds.judged)
    assert all(np.isin(rows, np.arange(70, 100)).all() for rows in folds.corrections), "none that the start has seen"
    assert not folds.refits


def test_folds_in_time_count_later_rows_more_in_corrections():
    folds = folds_of(100, np.arange(60, 100), time_ordered=True, given=True)
    counts = np.bincount(folds.corrections[1], minlength=100)
    assert not counts[folds.judged[1]].any()
    assert counts[60] == 1 and counts[99] == Tuning().recency
    assert folds.in_time


@pytest.mark.parametrize(("time_ordered", "valid"), [(False, np.arange(20)), (True, np.arange(93, 100))])
def test_folds_of_given_validation_rows_are_a_holdout(time_ordered, valid):
    folds = folds_of(100, valid, given=True, time_ordered=time_ordered)
    check_honest(folds)
    assert folds.holdout and np.array_equal(folds.rows, valid)
    assert np.array_equal(folds.bags[0], np.setdiff1d(np.arange(100), valid))


@pytest.mark.parametrize(("n", "holdout"), [(TUNING.holdout_rows, False), (TUNING.holdout_rows + 1, True)])
def test_folds_of_many_rows_are_a_holdout(n, holdout):
    folds = folds_of(n, np.arange(0, n, 10))
    assert folds.holdout is holdout
    assert len(folds.bags) == (1 if holdout else TUNING.folds)


def test_folds_of_a_predictor_that_continues_start_nothing_again():
    assert not folds_of(60, np.arange(12), continues=True).refits
