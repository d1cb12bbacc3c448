import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from fewsolves_studies.benchmarks.catalogue import load


def test_fleet_fleets_against_a_mixed_integer_program():
    dataset = load("fleet", 0)
    problem, options = dataset.problem, dataset.options
    for y in np.linspace(0.0, 350.0, 60):
        referee = milp(
            [*options["rent"], options["carrier"]],
            constraints=LinearConstraint([[*options["size"], 1.0]], y, np.inf),
            integrality=[1, 1, 0],
            bounds=Bounds(0.0, [*options["most"], np.inf]),
        )
        assert problem.cost(np.array([y]), problem.solve(np.array([y]))) == pytest.approx(referee.fun)


def test_fleet_what_does_not_fit_goes_by_a_carrier():
    assert load("fleet", 0).problem.cost(np.array([60.0]), np.array([1, 1])) == 42.0 + 90.0 + 15.0 * 10.0
