import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.panel.paths import Paths


def edges(side):
    """The nodes of each edge, in the order of y."""
    for i in range(side):
        yield from ((i * side + j, i * side + j + 1) for j in range(side - 1))
        if i < side - 1:
            yield from ((i * side + j, (i + 1) * side + j) for j in range(side))


def test_paths_lengths_are_those_of_dijkstra():
    grid, (start, end) = Paths(5), np.array(list(edges(5))).T
    for y in np.random.default_rng(0).uniform(0.1, 5.0, (50, 40)):
        z = grid.solve(y)
        graph = csr_array((y, (start, end)), shape=(25, 25))
        assert grid.cost(y, z) == pytest.approx(dijkstra(graph, indices=0)[24], rel=1e-12)
        flow = np.bincount(start, z, 25) - np.bincount(end, z, 25)
        assert flow[0] == 1.0 and flow[24] == -1.0 and not flow[1:24].any()


def test_paths_negative_predictions_are_allowed():
    grid, pairs = Paths(3), list(edges(3))
    index = {pair: k for k, pair in enumerate(pairs)}
    for y in np.random.default_rng(1).normal(0.0, 3.0, (40, 12)):
        lengths = []
        for downs in itertools.combinations(range(4), 2):
            node, length = 0, 0.0
            for step in range(4):
                after = node + (3 if step in downs else 1)
                length += y[index[node, after]]
                node = after
            lengths.append(length)
        assert grid.cost(y, grid.solve(y)) == pytest.approx(min(lengths), rel=1e-12, abs=1e-12)


def test_paths_costs_follow_the_published_formula():
    dataset = load("paths", 0)
    B, x = dataset.source.B, dataset.X[3]
    assert dataset.X.shape == (400, 5) and set(np.unique(B)) == {0.0, 1.0}
    expected = [(sum(b * v for b, v in zip(row, x, strict=True)) / 5**0.5 + 3.0) ** 8 for row in B]
    np.testing.assert_allclose(dataset.Y[3], (np.array(expected) + 1.0) / 3.5**8, rtol=1e-12)
    assert dataset.Y.max() > 20.0 * np.median(dataset.Y)


def test_paths_a_linear_predictor_can_gain_where_least_squares_is_far_off():
    """Least squares of the eighth root, where tails are not heavy, decides better at once."""
    dataset = load("paths", 0)
    fresh = dataset.fresh(1000)
    design, best = np.c_[dataset.X, np.ones(400)], fresh.cost(fresh.Y)
    plain, tame = (
        np.c_[fresh.X, np.ones(1000)] @ np.linalg.lstsq(design, target, rcond=None)[0]
        for target in (dataset.Y, dataset.Y ** (1 / 8))
    )
    regret = [np.mean(fresh.cost(y_hat) - best) for y_hat in (plain, tame)]
    assert 0.0 < regret[1] < 0.9 * regret[0]
