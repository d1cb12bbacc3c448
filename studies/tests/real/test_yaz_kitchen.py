import numpy as np

from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.real.cell import Cell, Done, options
from fewsolves_studies.real.yaz_kitchen import STUDY, forest_weights, quantiles


def test_yaz_kitchen_the_forest_profits_from_windows_that_know_the_day():
    leaking, known = (
        forest_weights(load("yaz-newsvendor", train_days=200, test_days=60, lags=lags)).mean()
        for lags in ("published", "known")
    )
    assert leaking < known, "which is why figures with such windows are no target"


def test_yaz_kitchen_quantiles_are_those_of_the_days_before_the_test():
    dataset = load("yaz-newsvendor", train_days=100, test_days=5)
    past = np.concatenate([dataset.split.train, dataset.split.valid])
    order = np.quantile(dataset.Y[past], 0.9, axis=0, method="inverted_cdf")
    test = dataset.Y[dataset.split.test]
    expected = (9.0 * np.maximum(test - order, 0.0) + 1.0 * np.maximum(order - test, 0.0)).sum(axis=1)
    np.testing.assert_allclose(quantiles(dataset), expected)


def test_yaz_kitchen_the_value_of_the_leak_is_reported():
    def forest(cost, **data):
        cell = Cell(benchmark="yaz-newsvendor", data=options(**data), method="forest weights", decide=forest_weights)
        return Done(cell, {"costs": [cost] * 10})

    done = [forest(12.0, service=0.9), forest(9.0, service=0.9, lags="published"), forest(7.0, service=0.5)]
    (sentence,) = STUDY.sentences(done)
    assert "cost 9.0 with windows that end with the day itself" in sentence and "3.0 more (3.0 to 3.0)" in sentence
