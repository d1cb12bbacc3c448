import numpy as np

from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.real.cell import Cell, Done, default_method
from fewsolves_studies.real.compare import Pair, typical_day

DATA = (("service", 0.9), ("test_days", 4))


def both(savings):
    """PFL costs 10 each day, the default so much less."""
    y_hat = load("yaz-newsvendor", **dict(DATA)).Y[:4]
    costs = {"pfl": np.full(4, 10.0), default_method(): 10.0 - np.array(savings)}
    done = [
        Done(
            Cell(benchmark="yaz-newsvendor", data=DATA, method=method, predictor="network"),
            {"costs": cost.tolist(), "y_hat": y_hat.tolist(), "total_solves_per_instance": 1.0},
        )
        for method, cost in costs.items()
    ]
    return Pair(*done)


def test_compare_the_day_that_is_shown_saves_about_the_mean():
    day = typical_day(both([8.0, 2.5, -1.0, 0.5]))  # 2.5 on average
    assert day.costs == {"PFL": 10.0, default_method(): 7.5}
    assert day.date == str(
        load("yaz-newsvendor", **dict(DATA)).source.days[load("yaz-newsvendor", **dict(DATA)).split.test[1]]
    )


def test_compare_a_day_that_costs_unlike_the_others_is_not_shown():
    pair = both([2.0, 2.4, 2.0, 2.0])  # 2.1 on average
    pair.pfl.result["costs"][0] += 90.0
    pair.ours.result["costs"][0] += 90.0
    assert typical_day(pair).costs["PFL"] == 10.0


def test_compare_says_whether_many_days_gain_or_few():
    assert both([8.0, 2.5, -1.0, 0.0]).by_day() == (
        "it is cheaper on 2 of 4 days and dearer on 1, by 1 at the most; the middle day saves 1.25, "
        "the best tenth of the days 8 each"
    )
