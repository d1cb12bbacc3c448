from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.surrogate.samples import BOX, GIVEN, NORMAL, Growing, Samples


def filled(rng, n_examples=5, n_inputs=3, n_batches=9):
    samples = Samples(n_examples, n_inputs)
    for _ in range(n_batches):
        index = rng.integers(0, n_examples, size=rng.integers(0, 7))
        point, regret = rng.uniform(-1, 1, size=(index.size, n_inputs)), rng.random(index.size)
        kind = rng.integers(3)
        if kind == NORMAL:
            samples.add(index, point, regret, point + 0.1, rng.uniform(0.1, 1, size=n_inputs))
        elif kind == BOX:
            samples.add_box(index, point, regret, -1.0, np.ones(n_inputs))
        else:
            samples.add_given(index, point, regret)
    return samples


def test_samples_rows_keep_what_was_added_in_order_of_arrival():
    samples = Samples(3, 2)
    assert len(samples) == 0
    assert samples.of(1).size == 0
    samples.add_given([0, 1], [[1, 2], [3, 4]], [0, 0])
    samples.add_box([1], [[0.5, -0.5]], [0.3], -1, 1)
    samples.add([1, 0, 1], [[1, 1], [2, 2], [3, 3]], [0.1, 0.2, 0.3], centre=[0, 1], sigma=0.5)
    samples.add([0], [[9, 9]], [0.4], centre=[[8, 8]], sigma=[[0.1, 0.2]])
    assert len(samples) == 7
    assert samples.n_of.tolist() == [3, 4, 0]
    assert samples.of(0).tolist() == [0, 4, 6]
    assert samples.of(1).tolist() == [1, 2, 3, 5]
    assert samples.of(2).tolist() == []
    assert samples.rows_of([1, 0, 1]).tolist() == [1, 2, 3, 5, 0, 4, 6, 1, 2, 3, 5]
    assert samples.kind.tolist() == [GIVEN, GIVEN, BOX, NORMAL, NORMAL, NORMAL, NORMAL]
    assert samples.example.tolist() == [0, 1, 1, 1, 0, 1, 0]
    assert samples.regret.tolist() == [0, 0, 0.3, 0.1, 0.2, 0.3, 0.4]
    assert samples.point[[2, 5]].tolist() == [[0.5, -0.5], [3, 3]]
    assert samples.centre[[0, 2, 5, 6]].tolist() == [[1, 2], [0.5, -0.5], [0, 1], [8, 8]]
    assert samples.sigma[[0, 2, 5, 6]].tolist() == [[0, 0], [0, 0], [0.5, 0.5], [0.1, 0.2]]
    assert samples.box.tolist() == [[-1, -1], [1, 1]]


def test_samples_examples_since_names_those_with_new_rows():
    samples = Samples(4, 1)
    samples.add_given(range(4), np.zeros((4, 1)), np.zeros(4))
    seen = len(samples)
    assert samples.examples_since(seen).size == 0
    samples.add_given([3, 1, 3], np.zeros((3, 1)), np.zeros(3))
    assert samples.examples_since(seen).tolist() == [1, 3]
    assert samples.examples_since(0).tolist() == [0, 1, 2, 3]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_inputs=st.integers(1, 4))
def test_samples_the_state_brings_everything_back_and_growth_goes_on(seed, n_inputs):
    rng = np.random.default_rng(seed)
    samples = filled(rng, n_inputs=n_inputs)
    restored = Samples.from_state(samples.state())
    for either in (samples, restored):
        either.add([2, 2, 0], np.full((3, n_inputs), 0.5), [1, 2, 3], 0.0, 0.3)
    state, again = samples.state(), restored.state()
    assert state.keys() == again.keys()
    for name, values in state.items():
        np.testing.assert_array_equal(values, again[name])
        assert values.dtype == again[name].dtype
    for i in range(5):
        assert np.array_equal(samples.of(i), np.flatnonzero(samples.example == i))
        assert np.array_equal(samples.of(i), restored.of(i))
    assert np.array_equal(samples.n_of, np.bincount(samples.example, minlength=5))


def test_samples_the_state_is_a_copy():
    samples = filled(np.random.default_rng(0))
    samples.state()["regret"][:] = -1.0
    assert (samples.regret >= 0).all()


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda s: s.add_given([2], [[0, 0]], [0]), "vector of examples"),
        (lambda s: s.add_given([0], [[0, 0, 0]], [0]), "expected point"),
        (lambda s: s.add_given([0], [[0, 0]], [0, 0]), "expected point"),
        (lambda s: s.add_given([0], [[0, np.nan]], [0]), "point must be finite"),
        (lambda s: s.add_given([0], [[0, 0]], [np.inf]), "regret must be finite"),
        (lambda s: s.add([0], [[0, 0]], [0], 0.0, 0.0), "sigma must be positive"),
        (lambda s: s.add([0], [[0, 0]], [0], [0, 0, 0], 1.0), "centre must have shape"),
        (lambda s: s.add([0], [[0, 0]], [0], 0.0, [1, 1, 1]), "sigma must have shape"),
        (lambda s: s.add_box([0], [[0, 0]], [0], 1, 1), "low < high"),
        (lambda s: s.add_box([0], [[0, 0]], [0], -2, 2), "box differs"),
        (lambda s: s.add_box([0], [[0, 0]], [0], [-1, -1, -1], 1), "low and high must have shape"),
        (lambda s: s.add_box([0], [[0, 1.1]], [0], -1, 1), "outside the box"),
        (lambda s: s.add_box([0], [[0]], [0], -1, 1), "expected point"),
    ],
)
def test_samples_wrong_input_is_named_and_leaves_no_trace(add, message):
    samples = Samples(2, 2)
    samples.add_box([0], [[0, 0]], [0], -1, 1)
    before = samples.state()
    with pytest.raises(InputError, match=message):
        add(samples)
    for name, values in samples.state().items():
        np.testing.assert_array_equal(values, before[name])


def test_samples_a_point_may_leave_its_box_by_rounding():
    samples = Samples(1, 1)
    samples.add_box([0], [[np.nextafter(1.0, 2.0)]], [0], -1, 1)
    assert len(samples) == 1


def test_samples_an_array_that_grows_holds_what_was_added_and_seldom_moves():
    growing, added, moves = Growing(np.int64, 2), np.empty((0, 2), dtype=np.int64), 0
    for step in range(200):
        before, new = growing._kept, np.full((step % 4, 2), step)
        growing.add(new)
        added, moves = np.concatenate([added, new]), moves + (growing._kept is not before)
        assert np.array_equal(growing.values, added)
    assert moves < 20
