import numpy as np
import pytest
from scipy.optimize import linprog

from fewsolves_studies.benchmarks.panel.blending import Blending


def test_blending_blends_against_a_linear_program():
    """Its variables: the shares, and the content that is missing."""
    rng = np.random.default_rng(0)
    blends = Blending(5, fine=6.0)
    for _ in range(80):
        y, prices, target = rng.normal(10.0, 4.0, 5), rng.uniform(5.0, 40.0, 5), rng.uniform(5.0, 16.0)
        referee = linprog(
            [*prices, 6.0], A_ub=[[*-y, -1.0]], b_ub=[-target], A_eq=[[1.0] * 5 + [0.0]], b_eq=[1.0], method="highs"
        )
        z = blends.solve(y, (*prices, target))
        assert z.sum() == pytest.approx(1.0) and (z >= 0.0).all()
        assert blends.cost(y, z, (*prices, target)) == pytest.approx(referee.fun, abs=1e-7)


def test_blending_only_missing_content_is_fined():
    blends, order = Blending(2, fine=3.0), (4.0, 8.0, 10.0)
    assert blends.cost(np.array([6.0, 12.0]), np.array([0.5, 0.5]), order) == 6.0 + 3.0
    assert blends.cost(np.array([6.0, 18.0]), np.array([0.5, 0.5]), order) == 6.0
