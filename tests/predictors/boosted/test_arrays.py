"""Trees of either library as arrays."""

import numpy as np
import pytest

from fewsolves.predictors.boosted.arrays import arrays_of
from fewsolves.predictors.boosted.booster import library_of
from fewsolves.predictors.boosted.trees import LIBRARIES, BoostedTrees

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = np.column_stack([np.where(X[:, 0] > 0, 4.0, 1.0), X[:, 1]])


def test_boosted_arrays_a_tree_that_ends_early_is_filled_up_with_its_leaves():
    tree = arrays_of([{(): (2, 0.5), (False,): 7.0, (True,): (1, -1.0), (True, False): 8.0, (True, True): 9.0}])
    assert tree.leaf.tolist() == [[7, 7, 7, 7, 8, 8, 9, 9]]
    assert (tree.feature[0, 0], tree.threshold[0, 0], tree.feature[0, 2]) == (2, 0.5, 1)


@pytest.mark.parametrize("library", LIBRARIES)
def test_boosted_arrays_a_tree_as_arrays_says_what_the_library_says(library):
    module = library_of(library)
    u, slopes = X.astype(np.float32).astype(float), Y - Y.mean(axis=0)
    tree = module.grower(u, 5)(slopes, np.ones(200))
    net = BoostedTrees(3, 2, library)
    net.add(*tree)
    said = net(np.hstack([u, np.zeros_like(Y)]))
    # leaves of a custom objective with second derivative 1 are minus the mean slope, but for a small penalty
    for k in range(2):
        for value in np.unique(said[:, k]):
            rows = said[:, k] == value
            assert value == pytest.approx(-slopes[rows, k].mean(), rel=0.25, abs=0.05)
    assert len(np.unique(said[:, 0])) > 1
