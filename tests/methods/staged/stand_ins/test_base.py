import numpy as np
import pytest

from fewsolves.methods.staged.stand_ins.base import directions


@pytest.mark.parametrize(("m", "d"), [(6, 4), (4, 4), (3, 1), (1, 5)])
def test_directions_are_orthogonal_and_of_length_root_d(m, d):
    made = directions(np.random.default_rng(0), 500, m, d)
    first = made[:, : min(m, d)]
    products = np.einsum("bmd,bnd->bmn", first, first)
    if d > 1:
        off = products - np.einsum("bmm->bm", products)[:, :, None] * np.eye(min(m, d))
        assert np.allclose(off, 0.0, atol=1e-9)
    assert np.allclose((made**2).sum(-1), d)
    assert np.allclose(made.mean((0, 1)), 0.0, atol=0.15)
