import numpy as np

from fewsolves.demo.milp import cover_milp


def test_demo_milp_cover():
    coverage = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    assert cover_milp(coverage, np.array([2.0, 2.0, 3.0]), np.array([3.0, 1.0])).tolist() == [2.0, 0.0, 1.0]
