import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.real.market_clearing import BOUNDARY, hourly_loads


def test_market_clearing_the_data_is_the_published_one():
    days, loads, temperature = hourly_loads()
    assert loads.shape == temperature.shape == (1034, 24) and str(days[-1]) == "2011-10-31"
    assert loads.max() == 2700.0 and loads.min() == pytest.approx(405.0)
    assert loads[0, 0] / 2700.0 == pytest.approx(0.6837209302325582)  # sc_LOAD there


@pytest.mark.parametrize(("months", "days"), [(6, 214), (12, 365), (18, 579)])
def test_market_clearing_training_days_are_those_of_the_publication(months, days):
    dataset = load("market-clearing", months=months)
    train, valid, test = dataset.split.train, dataset.split.valid, dataset.split.test
    assert len(train) + len(valid) == days and len(test) == 301
    assert dataset.source.days[test].min() == np.datetime64(BOUNDARY) > dataset.source.days[[*train, *valid]].max()
    assert not np.isin(np.arange("2011-08-27", "2011-08-30", dtype="datetime64[D]"), dataset.source.days[test]).any()


def test_market_clearing_the_published_deterministic_baseline_is_reproduced():
    """A forest of temperature and calendar, then the dispatch: 277,377 a day on 1 year; here every fourth day."""
    days, loads, temperature = hourly_loads()
    day, hour = np.repeat(days, 24), np.tile(np.arange(24), len(days))
    weekday = (day.astype(int) + 3) % 7
    month = day.astype("datetime64[M]").astype(int) % 12 + 1
    X = np.column_stack([temperature.ravel(), weekday, hour, month])
    past = (day >= np.datetime64("2010-01-01")) & (day < np.datetime64(BOUNDARY))
    forest = RandomForestRegressor(40, min_samples_leaf=2, random_state=0).fit(X[past], loads.ravel()[past])
    dataset = load("market-clearing", months=12)
    test = dataset.split.test[::4]
    rows = np.isin(days, dataset.source.days[test])
    y_hat = forest.predict(X[np.repeat(rows, 24)]).reshape(-1, 24)
    problem = dataset.problem
    cost = problem.cost_batch(dataset.Y[test], problem.solve_batch(y_hat)).mean()
    assert cost == pytest.approx(277_377, rel=0.04)  # the whole, with 200 trees: results/real/market-clearing


def test_market_clearing_every_feature_is_known_the_day_before():
    dataset = load("market-clearing")
    _, loads, _ = hourly_loads()
    thirds = loads.reshape(len(loads), 8, 3).mean(axis=2)
    np.testing.assert_allclose(dataset.X[:, -16:-8], thirds[6:-1])
    np.testing.assert_allclose(dataset.X[:, -8:], thirds[:-7])
    np.testing.assert_allclose(dataset.Y, loads[7:])
