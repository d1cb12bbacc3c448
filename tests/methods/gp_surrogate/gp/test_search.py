"""The maximum of functions of one variable."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fewsolves.methods.gp_surrogate.gp.search import insert, next_trial


@pytest.mark.parametrize(
    ("function", "top"),
    [
        (lambda u: -3 * (u - 0.4) ** 2, 0.4),
        (lambda u: math.sin(u) - 0.1 * u * u, 1.3064400088),
        (lambda u: -abs(u - 0.25), 0.25),
        (lambda u: -u, -8.0),
        (lambda u: u, 8.0),
    ],
)
def test_gp_search_in_one_variable(function, top):
    u, f = np.empty(20), np.empty(20)
    n = 0
    for start in (-1.5, -0.6, 0.3, 1.2):
        insert(u, f, n, start, function(start))
        n += 1
    while n < 20 and not math.isnan(trial := next_trial(u, f, n, -8.0, 8.0, 2e-3)):
        insert(u, f, n, trial, function(trial))
        n += 1
    assert np.all(np.diff(u[:n]) > 0)
    assert f[:n].max() == pytest.approx(function(top), abs=0.02)
