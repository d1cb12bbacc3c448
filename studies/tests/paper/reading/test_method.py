"""Readings of the paper: what each of their settings changes in the GP surrogate."""

import numpy as np
import pytest

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.gate import doubts
from fewsolves.methods.gp_surrogate.surrogate import design
from fewsolves.oracle import Oracle
from fewsolves.settings import values_of
from fewsolves_studies.paper.reading.method import DEFAULTS, ReadingConfig, ReadingLoss, ReadingSurrogate
from problems_of_users import NEWSVENDOR, demand_table


def bowl(u, truth):
    return ((u - truth) ** 2).sum(axis=-1)


def built(**settings):
    """A surrogate of six examples with two inputs, whose regret is a bowl around each truth."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(6, 2))
    drawn = design.draw("near", truth, truth + 0.3 * rng.normal(size=truth.shape), 8, 0.5, rng)
    return ReadingSurrogate(truth, drawn, bowl(drawn.points, truth), ReadingConfig(pooled=False, **settings))


def pay(surrogate, rows, seed=1, sigma=0.3):
    """One more sample for each of the rows, near its truth; not yet learned."""
    rows, rng = np.array(rows, dtype=int), np.random.default_rng(seed)
    centre = surrogate.truth[rows] + 0.2 * rng.normal(size=(len(rows), 2))
    points = centre + sigma * rng.normal(size=centre.shape)
    surrogate.samples.add(rows, points, bowl(points, surrogate.truth[rows]), centre, sigma)


def at(surrogate, u=None):
    """Posterior mean and std of all examples at u, the truth unless said otherwise."""
    u = surrogate.truth if u is None else u
    return surrogate.posterior(u, np.arange(len(u)))


@pytest.mark.parametrize("smoothing", ["off", "samples"])
def test_reading_an_example_that_is_refitted_by_itself_learns_when_it_has_enough_samples_of_its_own(smoothing):
    surrogate = built(refit_each=True, refit_after=3, smoothing=smoothing)
    u = surrogate.truth + 0.4
    known, scales = list(at(surrogate, u)), surrogate.gps.outputscale
    for seed, rows in enumerate([[0, 3], [0], [3, 0]]):
        assert not surrogate.refit()
        pay(surrogate, rows, seed)
        surrogate.learn()
        assert np.array_equal(list(at(surrogate, u)), known), "what was paid for waits"
    assert surrogate.refit()
    changed = (np.array(list(at(surrogate, u))) != known).any(axis=0)
    assert changed.tolist() == [True, False, False, False, False, False]
    assert (surrogate.gps.outputscale != scales).tolist() == changed.tolist()
    assert surrogate.gps.n_points.tolist() == [12, 9, 9, 9, 9, 9]


def test_reading_samples_that_wait_come_back_from_a_state():
    surrogate = built(refit_each=True, refit_after=2)
    pay(surrogate, [0, 1])
    surrogate.learn()
    again = ReadingSurrogate.from_state(surrogate.truth, *surrogate.state(), surrogate.config)
    for one in (surrogate, again):
        pay(one, [0], seed=2)
        one.learn()
        assert one.refit()
    assert again.gps.n_points.tolist() == [11, 9, 9, 9, 9, 9]
    assert np.array_equal(list(at(again)), list(at(surrogate)))


def test_reading_without_a_first_design_units_follow_the_samples_until_the_first_fit_to_them():
    truth = np.random.default_rng(0).normal(size=(6, 2))
    nothing = design.Design(points=np.empty((0, 6, 2)), centre=truth, sigma=1.0)
    config = ReadingConfig(pooled=False, refit_each=True, refit_after=4)
    surrogate = ReadingSurrogate(truth, nothing, np.empty((0, 6)), config)
    assert (surrogate.mean_r, surrogate.std_r) == (0.0, 1.0)
    for seed in range(4):
        assert not surrogate.knows_samples.any()
        pay(surrogate, range(6), seed)
        surrogate.learn()
    paid = surrogate.samples.regret[6:]
    assert (surrogate.mean_r, surrogate.std_r) == (paid.mean(), paid.std())
    assert surrogate.refit()
    assert surrogate.knows_samples.all()
    assert all(surrogate.gps.targets_of(i)[0] == surrogate.standardise(0.0) for i in range(6)), "the truths too"
    units = surrogate.mean_r, surrogate.std_r
    pay(surrogate, range(6), seed=9)
    surrogate.learn()
    assert (surrogate.mean_r, surrogate.std_r) == units


def test_reading_a_few_steps_leave_the_hyperparameters_near_their_start_and_a_refit_goes_on():
    surrogate = built(adam_steps=2, refit_after=3)
    first = surrogate.gps.lengthscale
    assert (np.abs(first - np.log(2)) < 0.2).all() and (first != np.log(2)).all()
    pay(surrogate, [0, 3, 0])
    surrogate.learn()
    assert surrogate.refit()
    assert (surrogate.gps.lengthscale != first).tolist() == [True, False, False, True, False, False]


def test_reading_without_pre_training_every_example_is_paid_for_until_it_has_samples_enough():
    Y = demand_table(24, 2)[1]
    settings = values_of(DEFAULTS) | {"points": 0, "refit_each": True, "refit_after": 3, "beta": 1e9}
    loss = ReadingLoss(Oracle(NEWSVENDOR, Y), ReadingConfig(**settings), seed=0)
    y_hat = Y + 0.5 * Y.std(axis=0)
    loss.start(y_hat)
    for n in (0, 1, 2, 3, 3, 3):
        assert loss.oracle.calls.by_phase("solve").get("online", 0) == n * 24
        loss.begin_epoch()
        for rows in np.split(np.arange(24), [10, 20]):
            assert np.isfinite(loss.with_slope(y_hat[rows], rows)[0])
    assert loss.trusted == 1.0


def test_reading_the_gate_compares_the_std_of_an_observation_noise_included():
    surrogate, rows = built(gate_std="observation", relative_beta=False, beta=0.5), np.arange(2)
    _, doubt = doubts(np.array([0.0, 1.2]), rows, surrogate, surrogate.config)
    assert np.allclose(doubt, np.sqrt(np.array([0.0, 1.44]) + surrogate.gps.noise[rows]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"points": 0}, "points=0 needs refit_each=True, sharing=False and a fallback that trains by itself"),
        ({"pooled": True, "adam_steps": 5}, "adam_steps needs pooled=False"),
        ({"sharing": True, "design": "near"}, "it needs design='box'"),
        ({"gate_std": "mean"}, "gate_std must be 'function' or 'observation'"),
    ],
)
def test_reading_settings_that_contradict_each_other_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        ReadingConfig(**settings)
