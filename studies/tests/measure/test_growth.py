"""The study of growth runs with the settings that methods have today."""

from __future__ import annotations

import pytest

from fewsolves_studies.measure.growth import CASES, measure


@pytest.mark.parametrize("case", CASES)
def test_growth_measures_a_case(case):
    solves = CASES[case].budget or 2.0
    rows = 60 if solves > 1 else 6000
    found = measure(case, rows, 3)
    assert (found["case"], found["rows"], found["n_y"]) == (case, rows, 3)
    assert found["us per row"] > 0 and found["solves per row"] > min(1.0, solves / 2)
