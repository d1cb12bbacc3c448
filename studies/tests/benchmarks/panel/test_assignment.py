import itertools

import numpy as np
import pytest

from fewsolves_studies.benchmarks.panel.assignment import Assignment


def test_assignment_is_the_best_of_all_permutations():
    tasks = Assignment(5)
    for y in np.random.default_rng(0).normal(size=(30, 25)):
        z = tasks.solve(y).reshape(5, 5)
        assert (z.sum(axis=0) == 1).all() and (z.sum(axis=1) == 1).all()
        best = min(sum(y[5 * i + j] for i, j in enumerate(p)) for p in itertools.permutations(range(5)))
        assert tasks.cost(y, z.ravel()) == pytest.approx(best)
