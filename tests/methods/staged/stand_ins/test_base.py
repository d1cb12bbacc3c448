import numpy as np
import pytest

from fewsolves.methods.staged.stand_ins.base import Prior, StandIn, directions
from fewsolves.methods.staged.tuning import Tuning
from problems_of_users import NEWSVENDOR
from staged_rows import grown


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


def test_stand_in_is_believed_until_enough_pairs_are_paid():
    """One pair that contradicts the stand-in moves rho a little; many move it to 0."""
    stand_in = StandIn(grown(NEWSVENDOR), Tuning())
    predicted = np.ones(1)
    stand_in.fit_rho(predicted, -predicted)
    after_one = stand_in.rho
    for _ in range(60):
        stand_in.fit_rho(predicted, -predicted)
    assert 0.7 < after_one < 1.0
    assert stand_in.rho == 0.0


@pytest.mark.parametrize(("signal", "mean"), [(1.0, -0.2), (0.5, -0.1), (0.0, 0.0), (-0.4, 0.0)])
def test_stand_in_is_expected_to_gain_as_far_as_its_pilot_has_shown(signal, mean):
    stand_in = StandIn(grown(NEWSVENDOR), Tuning())
    stand_in.prior, stand_in.signal = Prior(-0.2, 0.1), signal
    assert stand_in.expected.mean == pytest.approx(mean)
    assert stand_in.expected.sd == 0.1
