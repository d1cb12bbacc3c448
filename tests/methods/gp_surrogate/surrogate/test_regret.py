import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.gp.processes import GPConfig, GPs
from fewsolves.methods.gp_surrogate.surrogate import design
from fewsolves.methods.gp_surrogate.surrogate.regret import MOST_SHARERS, RegretSurrogate, SurrogateConfig
from fewsolves.methods.gp_surrogate.surrogate.smoothing import smooth

FORMS = ("samples", "centres", "bandwidth")


def bowl(u, truth):
    return ((u - truth) ** 2).sum(axis=-1)


def built(M=6, d=2, k=8, kind="near", seed=0, regret=bowl, truth=None, spread=0.5, **settings):
    """A surrogate of a regret that is known, one bowl around each truth unless said otherwise."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(M, d)) if truth is None else truth
    drawn = design.draw(kind, truth, truth + 0.3 * rng.normal(size=truth.shape), k, spread, rng)
    return RegretSurrogate(truth, drawn, regret(drawn.points, truth), SurrogateConfig(**settings))


def pay(surrogate, rows, seed=1, sigma=0.3, regret=bowl):
    """One more sample for each of the rows, near its truth; not yet learned."""
    rows, rng = np.array(rows, dtype=int), np.random.default_rng(seed)
    centre = surrogate.truth[rows] + 0.2 * rng.normal(size=(len(rows), surrogate.truth.shape[1]))
    points = centre + sigma * rng.normal(size=centre.shape)
    surrogate.samples.add(rows, points, regret(points, surrogate.truth[rows]), centre, sigma)


def by_formula(gps, i, query, points, targets):
    """Posterior of example i from the formula, for the hyperparameters that it has."""

    def kernel(a, b):
        squares = ((a[:, None] - b[None]) ** 2).sum(axis=2)
        return gps.outputscale[i] * np.exp(-squares / (2 * gps.lengthscale[i] ** 2))

    K, k = kernel(points, points) + gps.noise[i] * np.eye(len(points)), kernel(points, query[None])[:, 0]
    return k @ np.linalg.solve(K, targets), np.sqrt(gps.outputscale[i] - k @ np.linalg.solve(K, k))


def at(surrogate, u=None):
    """Posterior mean and std of all examples at u, the truth unless said otherwise."""
    u = surrogate.truth if u is None else u
    return (part.numpy() for part in surrogate.posterior(torch.as_tensor(u), np.arange(len(u))))


def test_surrogate_regret_the_truth_has_regret_0():
    surrogate = built(k=12)
    mean, std = surrogate.regret(torch.as_tensor(surrogate.truth), np.arange(6))
    assert (surrogate.gps.noise < 1e-2 * surrogate.gps.outputscale).all(), "the noise is low, so that it must be met"
    assert mean.abs().max() < 0.05 * surrogate.std_r
    assert std.max() < 0.05 * surrogate.std_r


def test_surrogate_regret_is_in_units_of_cost():
    surrogate = built(k=30, d=1)
    u = surrogate.truth + 0.4
    mean, std = surrogate.regret(torch.as_tensor(u), np.arange(6))
    assert np.allclose(mean, 0.16, atol=0.02)
    standardised, std_r = at(surrogate, u)
    assert np.allclose(mean, surrogate.mean_r + surrogate.std_r * standardised)
    assert np.allclose(std, surrogate.std_r * std_r)


@pytest.mark.parametrize("kind", ["near", "box"])
@pytest.mark.parametrize("pooled", [True, False])
def test_surrogate_regret_what_is_learned_one_by_one_equals_all_data_at_once(pooled, kind):
    surrogate = built(kind=kind, pooled=pooled)
    before = surrogate.gps.lengthscale
    for seed, rows in enumerate([[0, 3], [3], [5, 1, 0], []]):
        pay(surrogate, rows, seed)
        surrogate.learn()
    assert np.array_equal(surrogate.gps.lengthscale, before), "hyperparameters stay"
    samples, query = surrogate.samples, surrogate.truth + 0.4
    mean, std = at(surrogate, query)
    for i in range(6):
        mine = samples.of(i)
        assert len(mine) == 9 + [2, 1, 0, 2, 0, 1][i]
        targets = (samples.regret[mine] - surrogate.mean_r) / surrogate.std_r
        expected = by_formula(
            surrogate.gps, i, query[i] / surrogate.units, samples.point[mine] / surrogate.units, targets
        )
        assert (mean[i], std[i]) == pytest.approx(expected, rel=1e-7)
    surrogate.refit(force=True)
    at_once = GPs(6, 2, GPConfig(pooled=pooled))
    at_once.add(samples.example, samples.point / surrogate.units, surrogate.standardise(samples.regret))
    at_once.fit()
    assert surrogate.gps.log_posterior().sum() == pytest.approx(at_once.log_posterior().sum(), abs=0.02)


def test_surrogate_regret_a_refit_waits_for_enough_samples_of_all_examples_together():
    surrogate = built(refit_after=5, pooled=False)
    for seed, (rows, fitted) in enumerate([([0, 1], False), ([2, 3], False), ([0], True), ([0, 1, 2, 3], False)]):
        before = surrogate.gps.lengthscale
        pay(surrogate, rows, seed)
        surrogate.learn()
        assert surrogate.refit() is fitted
        assert np.array_equal(surrogate.gps.lengthscale, before) is not fitted
    pay(surrogate, [4], 9)
    surrogate.learn()
    assert surrogate.refit() is True, "those that did not suffice before count again"


def test_surrogate_regret_a_refit_touches_only_examples_with_new_samples_unless_pooled():
    own, common = built(refit_after=1, pooled=False), built(refit_after=1, pooled=True)
    before = own.gps.outputscale, common.gps.outputscale
    for surrogate in (own, common):
        pay(surrogate, [2, 4])
        surrogate.learn()
        surrogate.refit()
    assert (own.gps.outputscale != before[0]).tolist() == [False, False, True, False, True, False]
    assert (common.gps.outputscale != before[1]).all()
    assert len(set(common.gps.lengthscale)) == 1


@pytest.mark.parametrize("kind", ["near", "box"])
@pytest.mark.parametrize("form", [*FORMS, "off"])
def test_surrogate_regret_the_processes_hold_the_targets_of_each_form_at_its_places(form, kind):
    surrogate = built(M=4, d=1, kind=kind, smoothing=form, smoothing_sigma=0.2, refit_after=3)
    for seed, rows in enumerate([[], [1, 3, 1]]):
        pay(surrogate, rows, seed)
        surrogate.learn()
        surrogate.refit()
        for i in range(4):
            expected = smooth(surrogate.samples, [i], 0.2, form)
            assert np.allclose(surrogate.gps.points_of(i) * surrogate.units, expected.points)
            assert np.allclose(surrogate.gps.targets_of(i), surrogate.standardise(expected.targets))
    assert np.isfinite(list(at(surrogate, surrogate.truth + 0.1))).all()
    assert surrogate.effective_sample_size >= 1
    assert (surrogate.effective_sample_size > 1.5) is (form != "off")


def test_surrogate_regret_samples_that_came_after_the_fit_are_smoothed_at_the_next():
    surrogate = built(M=3, d=1, smoothing="samples", refit_after=4)
    smoothed = [surrogate.gps.targets_of(i) for i in range(3)]
    pay(surrogate, [1, 1])
    surrogate.learn()
    assert surrogate.refit() is False
    new = surrogate.samples.regret[surrogate.samples.of(1)[-2:]]
    assert np.array_equal(surrogate.gps.targets_of(1)[-2:], surrogate.standardise(new)), "raw until then"
    assert np.array_equal(surrogate.gps.targets_of(1)[:-2], smoothed[1])
    pay(surrogate, [1, 1], 2)
    surrogate.learn()
    surrogate.refit()
    assert not np.isclose(surrogate.gps.targets_of(1)[1:9], smoothed[1][1:]).any()
    assert np.array_equal(surrogate.gps.targets_of(0), smoothed[0])
    assert np.array_equal(surrogate.gps.targets_of(2), smoothed[2])


@pytest.mark.parametrize("form", FORMS)
def test_surrogate_regret_sigma_changes_targets_without_samples_and_back_again(form):
    # "bandwidth" widens any sigma to the same effective sample size, so only a large one makes a difference
    surrogate = built(M=3, d=1, smoothing=form, smoothing_sigma=0.2)
    before, paid = surrogate.targets.copy(), len(surrogate.samples)
    surrogate.sigma = 2.0
    surrogate.refit(force=True)
    assert not np.allclose(surrogate.targets, before)
    truth = surrogate.samples.of(0)[0]
    assert surrogate.targets[truth] == before[truth] == surrogate.standardise(np.zeros(()))
    surrogate.sigma = 0.2
    surrogate.refit(force=True)
    assert np.array_equal(surrogate.targets, before)
    assert len(surrogate.samples) == paid


def test_surrogate_regret_sigma_changes_nothing_where_nothing_is_smoothed():
    surrogate = built()
    before = list(at(surrogate, surrogate.truth + 0.2))
    surrogate.sigma = 2.0
    surrogate.refit(force=True)
    assert np.array_equal(list(at(surrogate, surrogate.truth + 0.2)), before)


def test_surrogate_regret_literal_smoothing_changes_nothing_in_twenty_inputs():
    surrogate = built(d=20, smoothing="samples")
    assert surrogate.effective_sample_size == pytest.approx(1.0, abs=1e-3)
    assert np.allclose(surrogate.targets, surrogate.standardise(surrogate.samples.regret), atol=1e-3)


def two_groups(**settings):
    """Examples 0 to 2 have one regret, 3 to 5 another that is far from it."""
    truth = np.repeat([[0.0, 0.0], [2.0, -2.0]], 3, axis=0)
    options = {"kind": "box", "sharing": True, "share_within": 0.5, "pooled": False} | settings
    return built(truth=truth, k=10, **options)


@pytest.mark.parametrize("within", [1e-9, 0.5])
def test_surrogate_regret_what_is_paid_later_is_shared_by_examples_of_one_landscape(within):
    surrogate = two_groups(share_within=within)
    first = len(surrogate.samples)
    pay(surrogate, [1, 4, 1])
    surrogate.learn()
    samples, gps = surrogate.samples, surrogate.gps
    for fitted in (False, True):
        query = surrogate.truth + 0.3
        mean, std = at(surrogate, query)
        for i, group in ((0, [0, 1, 2]), (2, [0, 1, 2]), (3, [3, 4, 5])):
            own = np.flatnonzero(samples.example[:first] == i)
            shared = first + np.flatnonzero(np.isin(samples.example[first:], group))
            rows = np.concatenate([own, shared])
            assert sorted(gps.owners_of(i)) == sorted(samples.example[rows]), "far landscapes share nothing"
            points, targets = samples.point[rows] / surrogate.units, surrogate.standardise(samples.regret[rows])
            expected = by_formula(gps, i, query[i] / surrogate.units, points, targets)
            assert (mean[i], std[i]) == pytest.approx(expected, rel=1e-6, abs=1e-9)
            if fitted:
                alone = GPs(1, 2)
                alone.add(np.zeros(len(rows), dtype=int), points, targets)
                alone.fit()
                assert gps.lengthscale[i] == pytest.approx(alone.lengthscale[0], rel=5e-2)  # the search is that fine
        surrogate.refit(force=True)


def test_surrogate_regret_a_crowd_of_equals_shares_with_a_few():
    surrogate = built(truth=np.zeros((30, 2)), k=6, kind="box", sharing=True, share_within=10.0)
    pay(surrogate, list(range(30)))
    surrogate.learn()
    held = [len(surrogate.gps.owners_of(i)) for i in range(30)]
    assert sum(held) <= 30 * (1 + 6) + 30 * (MOST_SHARERS + 1)
    assert all(i in surrogate.gps.owners_of(i) for i in range(30))


def test_surrogate_regret_without_sharing_each_example_holds_its_own():
    surrogate = two_groups(sharing=False)
    assert all(set(surrogate.gps.owners_of(i)) == {i} for i in range(6))


@pytest.mark.parametrize("form", FORMS)
def test_surrogate_regret_shared_samples_carry_the_smoothed_target_of_their_owner(form):
    surrogate = two_groups(smoothing=form, smoothing_sigma=0.5, refit_after=2)
    pay(surrogate, [1, 4])
    surrogate.learn()
    surrogate.refit()
    for i in range(6):
        for owner in set(surrogate.gps.owners_of(i)):
            held = surrogate.gps.targets_of(i)[surrogate.gps.owners_of(i) == owner]
            expected = smooth(surrogate.samples, [owner], 0.5, form).targets
            assert np.allclose(held, surrogate.standardise(expected)[-len(held) :]), "what is shared arrived last"
    assert {len(surrogate.gps.owners_of(i)) for i in range(6)} == {1 + 10 + 1}


@pytest.mark.parametrize("kind", ["near", "between", "shifts", "residuals", "mixed"])
def test_surrogate_regret_sharing_needs_points_common_to_all(kind):
    with pytest.raises(InputError, match=r"points common to all examples.*design='box'"):
        built(kind=kind, sharing=True)


def test_surrogate_regret_least_is_the_least_regret_seen_the_truth_included():
    surrogate = built(M=3)
    zero = -surrogate.mean_r / surrogate.std_r
    assert np.allclose(surrogate.least, zero)
    point = surrogate.truth[[1, 2, 1]]
    surrogate.samples.add([1, 2, 1], point, [-3.0, 5.0, -2.0], point, 0.1)  # a heuristic may beat its own label
    surrogate.learn()
    assert np.allclose(surrogate.least, [zero, (-3.0 - surrogate.mean_r) / surrogate.std_r, zero])


@pytest.mark.parametrize("pooled", [True, False])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e12, 1e-12])
def test_surrogate_regret_constant_regret_is_no_accident(value, pooled):
    surrogate = built(regret=lambda u, truth: np.full(u.shape[:2], value), pooled=pooled)
    assert np.isfinite(list(at(surrogate, surrogate.truth + 0.1))).all()
    assert np.abs(surrogate.targets).max() < 10, "rounding is no unit of regret"
    assert (surrogate.prior_std(np.arange(6)) > 0).all()


@pytest.mark.parametrize("kind", ["near", "box"])
def test_surrogate_regret_one_point_for_each_example_is_enough_to_begin(kind):
    surrogate = built(kind=kind, k=1)
    assert np.isfinite(list(at(surrogate, surrogate.truth + 0.1))).all()
    surrogate = built(kind=kind, k=1, M=1, d=1)
    assert np.isfinite(list(at(surrogate, surrogate.truth + 0.1))).all()


@settings(max_examples=20)
@given(exponent=st.integers(-12, 12), d=st.sampled_from([1, 3]), pooled=st.booleans())
def test_surrogate_regret_the_unit_of_cost_does_not_matter(exponent, d, pooled):
    unit = 2.0 ** round(exponent / np.log10(2.0))  # of the scales 1e-12 to 1e12, those that floats hold exactly
    plain, scaled = (built(d=d, pooled=pooled, regret=lambda u, y, s=s: s * bowl(u, y)) for s in (1.0, unit))
    assert np.allclose(list(at(scaled, plain.truth + 0.2)), list(at(plain, plain.truth + 0.2)), rtol=1e-9)
    mean, std = scaled.regret(torch.as_tensor(plain.truth), np.arange(6))
    assert torch.isfinite(mean).all()
    assert (std > 0).all()


def test_surrogate_regret_far_from_all_data_nothing_is_known():
    surrogate = built(M=3)
    mean, std = surrogate.posterior(torch.full((3, 2), 1e6, dtype=torch.float64), np.arange(3))
    assert torch.allclose(mean, torch.zeros(3, dtype=torch.float64))
    assert np.allclose(std, surrogate.prior_std(np.arange(3)))


@pytest.mark.parametrize("kind", ["near", "box"])
def test_surrogate_regret_is_differentiated_in_the_units_of_its_input(kind):
    surrogate = built(M=3, kind=kind)
    u = torch.as_tensor(surrogate.truth + 0.3).requires_grad_()
    assert torch.autograd.gradcheck(lambda u: surrogate.regret(u, np.arange(3)), (u,))


def paid_often(rounds, **settings):
    surrogate = built(**settings)
    for seed in range(rounds):
        pay(surrogate, range(6), seed)
        surrogate.learn()
    surrogate.refit(force=True)
    return surrogate


@pytest.mark.parametrize("form", ["off", *FORMS])
def test_surrogate_regret_a_process_keeps_the_truth_and_the_points_nearest_to_the_newest_prediction(form):
    surrogate, every = paid_often(12, most_points=10, smoothing=form), paid_often(12, most_points=None, smoothing=form)
    assert surrogate.gps.n_points.tolist() == [10] * 6
    assert every.gps.n_points.tolist() == [21] * 6
    assert len(surrogate.samples) == len(every.samples), "nothing that was paid for is lost"
    places = every.samples.centre if form == "centres" else every.samples.point
    for i in range(6):
        rows = every.samples.of(i)
        far = np.square(every.samples.point[rows] - every.samples.centre[rows[-1]]).sum(axis=1)
        nearest = np.argsort(np.r_[-1.0, far[1:]])[:9]
        there = surrogate.gps.points_of(i)
        assert all((there == place).all(axis=1).any() for place in places[rows[nearest]])
        assert (there[0] == surrogate.truth[i]).all()


def test_surrogate_regret_where_processes_have_fewer_points_the_bound_changes_nothing():
    bounded, free = paid_often(3, most_points=12), paid_often(3, most_points=None)
    assert np.array_equal(list(at(bounded)), list(at(free)))


@pytest.mark.parametrize("pooled", [True, False])
def test_surrogate_regret_what_was_forgotten_stays_so_in_a_state(pooled):
    surrogate = built(most_points=9, pooled=pooled, refit_after=1)
    for seed in range(5):
        pay(surrogate, range(6), seed)
        surrogate.learn()
        surrogate.refit()
    again = RegretSurrogate.from_state(surrogate.truth, *surrogate.state(), surrogate.config)
    for one in (surrogate, again):
        pay(one, [0, 3], seed=7)
        one.learn()
        one.refit()
        assert one.gps.n_points.tolist() == [9] * 6
    assert np.array_equal(list(at(again)), list(at(surrogate)))
