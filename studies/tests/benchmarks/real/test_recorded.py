import numpy as np
import pytest

from fewsolves.errors import InputError
from fewsolves_studies.benchmarks.real.recorded import Recorded, split_by_time, weekday, year_angle

DAYS = np.arange("2010-01-01", "2011-01-01", dtype="datetime64[D]")


def test_recorded_every_fifth_week_is_validated_on_and_the_test_comes_last():
    split = split_by_time(DAYS, "2010-03-01", "2010-11-01", np.arange(310, 320))
    both = np.sort(np.concatenate([split.train, split.valid]))
    assert str(DAYS[both[0]]) == "2010-03-01" and str(DAYS[both[-1]]) == "2010-10-31"
    assert len(both) == len(np.unique(both)) == 245 and len(split.valid) == 49
    assert (np.diff(np.sort(split.valid)) > 1).sum() == 6, "seven whole weeks"


def test_recorded_or_the_last_fifth_of_the_days_before_it():
    split = split_by_time(DAYS, "2010-03-01", "2010-11-01", np.arange(310, 320), "last")
    assert len(split.valid) == 49 and split.train.max() < split.valid.min() and split.valid.max() < split.test.min()
    assert str(DAYS[split.train[0]]) == "2010-03-01" and str(DAYS[split.valid[-1]]) == "2010-10-31"
    with pytest.raises(InputError, match="'weeks' or 'last', got 'first'"):
        split_by_time(DAYS, "2010-03-01", "2010-11-01", np.arange(310, 320), "first")


def test_recorded_test_days_before_the_boundary_are_refused():
    with pytest.raises(InputError, match="after 2010-11-01"):
        split_by_time(DAYS, "2010-03-01", "2010-11-01", np.array([10]))


def test_recorded_nothing_can_be_drawn():
    recorded = Recorded(DAYS, ("load",))
    for ask in (recorded.mean, lambda X: recorded.draw(5, np.random.default_rng(0))):
        with pytest.raises(InputError, match="no others can be drawn"):
            ask(np.zeros((2, 3)))


def test_recorded_features_of_the_calendar():
    assert weekday(np.array(["2026-11-16"], dtype="datetime64[D]")).argmax() == 0, "a Monday"
    assert year_angle(DAYS)[0] == pytest.approx([1.0, 0.0])
