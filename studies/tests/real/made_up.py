"""Invented results of a study."""

import numpy as np

from fewsolves_studies.real.cell import Cell, Done, default_method

DAYS = 40


def result(cost, *, solves=0.0, y_hat=None):
    """Costs of days around `cost`, the same weather for all."""
    weather = np.random.default_rng(0).normal(0.0, 0.1, DAYS)
    record = {"commit": "abc", "costs": (cost + weather).tolist(), "total_solves_per_instance": solves}
    record |= {"solves_per_instance": solves, "cost_calls_per_instance": 1.0, "test_seconds_per_day": 0.01}
    return record | ({} if y_hat is None else {"y_hat": y_hat})


def some():
    """PFL, the default at two budgets, and a reference."""
    cell = {"benchmark": "yaz-newsvendor", "data": (("service", 0.5),)}
    return [
        Done(Cell(**cell, method="truth", decide=lambda dataset: np.zeros(DAYS)), result(1.0)),
        Done(Cell(**cell, method="pfl", predictor="network"), result(4.0)),
        Done(Cell(**cell, method=default_method(), predictor="network", budget=4), result(3.0, solves=4.0)),
        Done(Cell(**cell, method=default_method(), predictor="network", budget=8), result(2.5, solves=8.0)),
    ]
