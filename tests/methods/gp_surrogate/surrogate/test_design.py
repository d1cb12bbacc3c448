from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.surrogate import design
from fewsolves.methods.gp_surrogate.surrogate.samples import BOX, NORMAL, Samples

KINDS = get_args(design.Kind)
TINY = 1e-12


def drawn(kind, k=6, M=5, d=3, spread=0.15, seed=0):
    """The design with its truth and its start."""
    rng = np.random.default_rng(seed)
    truth, start = rng.normal(size=(M, d)), rng.normal(size=(M, d))
    return design.draw(kind, truth, start, k, spread, rng), truth, start


def recorded(found, regret=None):
    k, M, d = found.points.shape
    samples = Samples(M, d)
    found.record(samples, np.arange(k * M, dtype=float).reshape(k, M) if regret is None else regret)
    return samples


@pytest.mark.parametrize("kind", KINDS)
def test_design_every_kind_has_k_points_for_each_example(kind):
    found, *_ = drawn(kind, k=7, M=4, d=2)
    assert found.points.shape == (7, 4, 2)
    assert np.isfinite(found.points).all()
    again, *_ = drawn(kind, k=7, M=4, d=2)
    assert np.array_equal(found.points, again.points), "a function of the seed"


@pytest.mark.parametrize("kind", KINDS)
def test_design_points_are_recorded_for_their_example_with_their_regret(kind):
    found, *_ = drawn(kind, k=4, M=3, d=2)
    regret = np.random.default_rng(1).random((4, 3))
    samples = recorded(found, regret)
    for i in range(3):
        assert np.array_equal(samples.point[samples.of(i)], found.points[:, i])
        assert np.array_equal(samples.regret[samples.of(i)], regret[:, i])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "box"])
def test_design_normal_designs_record_the_start_as_their_centre(kind):
    found, _, start = drawn(kind)
    samples = recorded(found)
    assert (samples.kind == NORMAL).all()
    assert np.array_equal(samples.centre, start[samples.example])
    assert (samples.sigma > 0).all()


@settings(max_examples=30)
@given(M=st.integers(1, 6), d=st.integers(1, 9), k=st.integers(1, 20), seed=st.integers(0, 1000))
def test_design_the_box_is_one_latin_hypercube_for_all_examples_over_the_range_of_the_truth(M, d, k, seed):
    found, truth, _ = drawn("box", k=k, M=M + 1, d=d, seed=seed)
    assert (found.points == found.points[:, :1]).all()
    low, high = truth.min(axis=0), truth.max(axis=0)
    stratum = np.floor(k * (found.points[:, 0] - low) / (high - low)).astype(int)
    assert (np.sort(stratum, axis=0) == np.arange(k)[:, None]).all(), "one point in each stratum of each input"
    samples = recorded(found)
    assert (samples.kind == BOX).all()
    assert np.array_equal(samples.box, [low, high])


def test_design_the_box_of_a_constant_input_has_the_width_1():
    truth = np.column_stack([np.full(4, 3.0), np.arange(4.0)])
    found = design.draw("box", truth, truth, 5, 0.1, np.random.default_rng(0))
    assert np.array_equal(found.box, [[3.0, 0.0], [4.0, 3.0]])
    assert ((found.points >= found.box[0]) & (found.points <= found.box[1])).all()


@pytest.mark.parametrize("spread", [0.05, 0.4])
def test_design_near_has_the_stated_spread_around_the_start(spread):
    found, _, start = drawn("near", k=4000, spread=spread)
    off = (found.points - start) / spread
    assert np.abs(off.mean(axis=0)).max() < 5 / np.sqrt(4000)
    assert np.abs(off.std(axis=0) - 1).max() < 5 / np.sqrt(2 * 4000)
    assert np.array_equal(recorded(found).sigma, np.full((4000 * 5, 3), spread))


def test_design_between_lies_on_the_way_from_the_truth_to_the_start_and_a_little_beyond():
    found, truth, start = drawn("between", k=2000, spread=TINY)
    share = (found.points - truth) / (start - truth)
    assert np.allclose(share, share[..., :1]), "on the line"
    assert share.min() >= -1e-6
    assert 1.25 < share.max() <= 1.3 + 1e-6


def test_design_shifts_move_all_inputs_by_one_amount():
    found, _, start = drawn("shifts", k=4000, spread=TINY)
    moved = found.points - start
    assert np.allclose(moved, moved[..., :1])
    assert moved.std() == pytest.approx(0.3, rel=0.05)


def test_design_residuals_add_the_error_of_another_example():
    found, truth, start = drawn("residuals", k=200, spread=TINY)
    errors = truth - start
    added = (found.points - start).reshape(-1, 1, 3)
    assert (np.abs(added - errors).max(axis=2).min(axis=1) < 1e-9).all()
    used = np.abs(added - errors).max(axis=2).argmin(axis=1).reshape(200, 5)
    assert all(set(used[:, i]) == set(range(5)) for i in range(5)), "of every example, for every example"


def test_design_mixed_is_near_and_shifts_in_turn():
    found, _, start = drawn("mixed", k=2000, spread=0.01)
    near, shifts = (found.points - start)[::2], (found.points - start)[1::2]
    assert near.std() == pytest.approx(0.01, rel=0.05)
    assert shifts.std() == pytest.approx(np.hypot(0.3, 0.01), rel=0.05)
    assert np.corrcoef(shifts[..., 0].ravel(), shifts[..., 1].ravel())[0, 1] > 0.99


@pytest.mark.parametrize("kind", ["near", "shifts", "mixed"])
def test_design_in_units_of_the_recorded_distribution_each_input_is_standard_normal(kind):
    found, *_ = drawn(kind, k=4000, spread=0.1)
    samples = recorded(found)
    off = ((samples.point - samples.centre) / samples.sigma).reshape(2000, 2, 5, 3)  # turns of two apart
    assert np.abs(off.mean(axis=(0, 2))).max() < 0.1
    assert np.abs(off.std(axis=(0, 2)) - 1).max() < 0.1


@pytest.mark.parametrize("kind", ["between", "residuals"])
def test_design_pseudo_distributions_are_as_wide_as_the_points_lie(kind):
    found, *_ = drawn(kind, k=2000, M=40)
    samples = recorded(found)
    off = (samples.point - samples.centre) / samples.sigma
    assert 0.2 < np.sqrt((off**2).mean(axis=0)).max() < 1.2
    assert (np.abs(off) < 3).mean() > 0.97, "no weight explodes"


def test_design_the_papers_number_of_points_is_logarithmic():
    numbers = [design.papers_number_of_points(n_y) for n_y in (1, 2, 4, 8, 512)]
    assert numbers == [6, 11, 16, 21, 51]
    assert design.papers_number_of_points(10) <= 28
    assert design.papers_number_of_points(50) <= 35


def test_design_an_unknown_design_is_refused():
    with pytest.raises(InputError, match=r"'far'.*near, box"):
        drawn("far")
