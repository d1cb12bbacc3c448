import itertools

import numpy as np
import pytest

from fewsolves_studies.benchmarks.panel.picking import Picking

GOODS = Picking(np.array([4.0, 7.0, 5.0]), np.array([1.0, 0.5, 1.5]), case=3, cart=5, walk=0.4, grip=2.0)


def test_picking_carts_are_the_best_of_all():
    carts = np.array([z for z in itertools.product(range(6), repeat=3) if sum(z) <= 5])
    rng = np.random.default_rng(0)
    walks = set()
    for _ in range(60):
        y = rng.normal(6.0, 5.0, 3)
        shelf = (*rng.integers(0, 8, 3).tolist(), *rng.integers(1, 40, 3).tolist())
        z = GOODS.solve(y, shelf)
        wanted = np.maximum(y, 0.0)
        costs = GOODS.cost_batch(np.tile(wanted, (len(carts), 1)), carts, [shelf] * len(carts))
        assert z.sum() <= 5 and GOODS.cost(wanted, z, shelf) == pytest.approx(costs.min(), rel=1e-12)
        walks.add(int((z > 0).sum()))
    assert walks >= {0, 1, 2}


def test_picking_the_cost_in_words():
    """Goods 0 and 2 are brought from 10 away; 1 unit of good 0 is left, 2 are short of good 1, none of good 2."""
    cost = GOODS.cost(np.array([5.0, 6.0, 7.0]), np.array([1, 0, 2]), (3.0, 4.0, 1.0, 10.0, 30.0, 8.0))
    assert cost == pytest.approx(0.4 * 10.0 + 2 * 2.0 + 1.0 * 1.0 + 2 * 7.0)
