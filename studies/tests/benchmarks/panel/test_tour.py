import itertools

import numpy as np
import pytest

from fewsolves_studies.benchmarks.panel.tour import Tour


def neighbours(z):
    """All tours that one reversal or one move of one to three stops away makes of z."""
    n = len(z)
    found = [np.concatenate([z[:i], z[i:j][::-1], z[j:]]) for i in range(1, n) for j in range(i + 2, n + 1)]
    for size in (1, 2, 3):
        for i in range(1, n - size + 1):
            rest, part = np.delete(z, range(i, i + size)), z[i : i + size]
            for k in range(1, len(rest) + 1):
                found += [np.concatenate([rest[:k], p, rest[k:]]) for p in (part, part[::-1])]
    return np.array(found)


def test_tour_is_a_local_optimum_near_the_best():
    n, trips, gaps = 8, Tour(8), []
    orders = np.array([(0, *rest) for rest in itertools.permutations(range(1, n))])
    for y in np.random.default_rng(0).uniform(1.0, 10.0, (60, trips.n_y)):
        z = trips.solve(y)
        assert z[0] == 0 and sorted(z) == list(range(n))
        length, others = trips.cost(y, z), neighbours(z)
        assert trips.cost_batch(np.tile(y, (len(others), 1)), others).min() >= length - 1e-8
        gaps.append(length / trips.cost_batch(np.tile(y, (len(orders), 1)), orders).min() - 1.0)
    assert min(gaps) > -1e-12 and np.mean(gaps) < 0.05
    assert np.mean(np.array(gaps) > 1e-9) > 0.02, "a heuristic"


def test_tour_the_length_is_that_of_the_legs():
    D = np.random.default_rng(1).uniform(1.0, 2.0, (5, 5))
    D = np.triu(D, 1) + np.triu(D, 1).T
    y, z = D[np.triu_indices(5, 1)], [0, 3, 1, 4, 2]
    assert Tour(5).cost(y, np.array(z)) == pytest.approx(D[0, 3] + D[3, 1] + D[1, 4] + D[4, 2] + D[2, 0])
