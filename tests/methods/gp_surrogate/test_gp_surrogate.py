import dataclasses
import warnings

import numpy as np
import pytest
import torch

import fewsolves as fs
from fewsolves.data import split_rows
from fewsolves.errors import InputError, NotApplicableError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.methods.gp_surrogate import loss as gp_surrogate
from fewsolves.methods.gp_surrogate.config import PAPER, GPSurrogateConfig
from fewsolves.methods.gp_surrogate.gp.processes import GPs
from fewsolves.methods.gp_surrogate.surrogate.design import papers_number_of_points
from fewsolves.methods.gp_surrogate.surrogate.regret import RegretSurrogate
from fewsolves.methods.gp_surrogate.surrogate.samples import BOX, NORMAL
from fewsolves.methods.torch_gp_surrogate import GPSurrogateLoss
from fewsolves.oracle import Oracle
from fewsolves.settings import values_of
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table, old_and_new

N = 24
ALWAYS, NEVER = 1e9, 1e-9  # values of beta: trust always, trust never
BOWL = fs.Problem(solve_batch=lambda Y_hat: Y_hat, cost_batch=lambda Y, Z: ((Y - Z) ** 2).sum(axis=1))


def predictions(Y, seed=1, off=0.5):
    rng = np.random.default_rng(seed)
    return torch.as_tensor(Y + off * Y.std(axis=0) * rng.normal(size=Y.shape))


def started(problem=NEWSVENDOR, n=N, n_y=2, seed=0, **settings):
    """A loss that has seen its first points, and predictions of its rows."""
    Y = demand_table(n, n_y)[1]
    loss = GPSurrogateLoss(problem, Y, GPSurrogateConfig(**settings), seed=seed)
    y_hat = predictions(Y)
    loss.start(y_hat)
    return loss, y_hat


def solves(loss):
    """Solves by phase, of those that are paid at all."""
    return {phase: n for phase, n in loss.oracle.calls.by_phase("solve").items() if n}


def epoch(loss, y_hat, batch=10):
    loss.begin_epoch()
    index = torch.arange(len(y_hat))
    return [loss(y_hat[rows], rows) for rows in index.split(batch)]


@pytest.mark.parametrize(
    "settings", [{}, {"sober": False, "pessimism": 0.0}, {"design": "box"}, {"pooled": False, "kernel": "matern52"}]
)
@pytest.mark.parametrize("n_y", [1, 3])
def test_gp_surrogate_where_it_is_trusted_the_gradient_is_that_of_finite_differences(n_y, settings):
    loss, y_hat = started(n_y=n_y, beta=ALWAYS, **settings)
    index = torch.tensor([5, 0, 11, 5])
    assert torch.autograd.gradcheck(lambda y: loss(y, index), (y_hat[index].requires_grad_(),))
    assert solves(loss) == {"labels": N, "pre-training": 4 if "design" in settings else 4 * N}


def test_gp_surrogate_the_loss_is_the_mean_over_the_batch_of_what_the_posterior_says():
    loss, y_hat = started(beta=ALWAYS, pessimism=0.7)
    index = np.array([3, 8, 9])
    u = y_hat[index] / loss.scale
    mean, std = loss.surrogate.posterior(u, index)
    assert (mean + std > torch.as_tensor(loss.surrogate.least[index])).all(), "so that sobriety changes nothing"
    expected = mean + 0.7 * std
    assert loss(y_hat[index], index).item() == pytest.approx(expected.mean().item())
    singles = [loss(y_hat[[i]], [i]).item() for i in index]
    assert np.allclose(singles, expected)


def test_gp_surrogate_does_not_follow_a_mean_clearly_below_the_least_regret_seen():
    """A straight line of regrets makes the mean fall below 0 beyond the truth."""
    Y = demand_table(N, 1)[1]
    down = fs.Problem(solve=lambda y_hat: y_hat, cost=lambda y, z: float(np.maximum(z - y, -0.01).sum()))
    values, everyone = {}, np.arange(N)
    for sober in (True, False):
        loss = GPSurrogateLoss(
            down, Y, GPSurrogateConfig(beta=ALWAYS, pessimism=0.0, sober=sober, design="shifts", points=12)
        )
        loss.start(torch.as_tensor(Y + Y.std()))
        beyond = torch.as_tensor(Y - 0.3 * Y.std()).requires_grad_()
        each = torch.stack([loss(beyond[[i]], [i]) for i in range(N)])
        (slope,) = torch.autograd.grad(each.sum(), beyond)
        values[sober] = each.detach().numpy(), slope.abs().sum(dim=1).numpy()
    mean, std = (part.detach().numpy() for part in loss.surrogate.posterior(beyond / loss.scale, everyone))
    least = loss.surrogate.least
    mirage = mean + std <= least
    assert 0 < mirage.sum() < N
    assert np.allclose(values[False][0], mean)
    assert np.allclose(values[True][0], np.where(mirage, least, mean))
    assert (values[True][1][mirage] == 0).all(), "nothing pulls further down"
    assert np.array_equal(values[True][1][~mirage], values[False][1][~mirage])


def test_gp_surrogate_a_beta_of_nearly_nothing_pays_for_every_example_in_every_epoch():
    loss, y_hat = started(beta=NEVER)
    assert solves(loss) == {"labels": N, "pre-training": 4 * N}
    for done in (1, 2, 3):
        epoch(loss, y_hat)
        assert solves(loss) == {"labels": N, "pre-training": 4 * N, "online": done * N}
        assert loss.trusted == 0.0
        assert (loss.surrogate.gps.n_points == 5 + done).all()


def test_gp_surrogate_a_huge_beta_never_pays_online():
    loss, y_hat = started(beta=ALWAYS)
    for _ in range(3):
        epoch(loss, y_hat)
        assert loss.trusted == 1.0
    assert solves(loss) == {"labels": N, "pre-training": 4 * N}


@pytest.mark.parametrize("relative", [True, False])
def test_gp_surrogate_the_share_of_trusted_examples_counts_the_batches_of_an_epoch(relative):
    loss, y_hat = started(beta=NEVER, relative_beta=relative)
    everyone = np.arange(N)
    std = loss.surrogate.posterior(y_hat / loss.scale, everyone)[1].numpy()
    ratio = std / loss.surrogate.prior_std(everyone) if relative else std
    beta = float(np.sort(ratio)[N // 3])  # below it are N // 3 examples
    loss.arrays.config = dataclasses.replace(loss.config, beta=beta)
    assert loss.trusted is None, "nothing was seen yet"
    epoch(loss, y_hat, batch=7)
    assert loss.trusted == pytest.approx((N // 3) / N)
    assert solves(loss)["online"] == N - N // 3
    paid = np.flatnonzero(loss.surrogate.samples.n_of > 5)
    assert np.array_equal(paid, np.flatnonzero(ratio >= beta)), "those that it doubts, and no others"
    loss.begin_epoch()
    assert loss.trusted is None


def test_gp_surrogate_paying_makes_it_trust():
    loss, y_hat = started()
    elsewhere, shares = y_hat + 2 * loss.scale, []
    for _ in range(6):
        epoch(loss, elsewhere)
        shares.append(loss.trusted)
    assert shares[0] < 0.5 < shares[-1]


def test_gp_surrogate_without_a_start_the_first_call_samples_the_box_of_the_labels():
    Y = demand_table(N, 2)[1]
    loss = GPSurrogateLoss(NEWSVENDOR, Y)
    loss.begin_epoch()
    assert loss.trusted is None
    index = torch.arange(5)
    loss(predictions(Y)[index], index)
    samples = loss.surrogate.samples
    assert (samples.kind == BOX).sum() == 4 * N
    assert np.allclose(samples.box * loss.scale.numpy(), [Y.min(axis=0), Y.max(axis=0)])
    assert solves(loss)["pre-training"] == 4, "one solve of a common point serves all examples"


def test_gp_surrogate_trains_a_float32_net_in_a_loop_of_ones_own():
    X, Y = demand_table(N, 2)
    torch.manual_seed(0)
    net, x = torch.nn.Linear(4, 2), torch.as_tensor(X, dtype=torch.float32)
    with torch.no_grad():
        net.bias += torch.as_tensor(Y.mean(axis=0), dtype=torch.float32)
    oracle = Oracle(NEWSVENDOR, Y)
    loss = GPSurrogateLoss(oracle, seed=3)
    loss.start(net(x))
    optimiser = torch.optim.Adam(net.parameters(), lr=0.05)

    def regret():
        return oracle.regret(np.arange(N), net(x).detach().numpy(), phase="test").mean()

    before = regret()
    for _ in range(25):
        loss.begin_epoch()
        for index in torch.randperm(N, generator=torch.Generator().manual_seed(0)).split(8):
            optimiser.zero_grad()
            value = loss(net(x[index]), index)
            assert value.shape == ()
            value.backward()
            assert net.weight.grad.dtype == torch.float32
            optimiser.step()
    assert regret() < 0.6 * before


@pytest.mark.parametrize("kind", [torch.tensor, np.array, list])
def test_gp_surrogate_the_index_may_be_a_tensor_an_array_or_a_list(kind):
    loss, y_hat = started(beta=ALWAYS)
    assert loss(y_hat[[4, 2]], kind([4, 2])).item() == loss(y_hat[[4, 2]], torch.tensor([4, 2])).item()


def test_gp_surrogate_is_a_function_of_its_seed():
    def values(seed):
        loss, y_hat = started(seed=seed, beta=0.3, fallback="sfge")
        return [value.item() for _ in range(2) for value in epoch(loss, y_hat)]

    assert values(0) == values(0)
    assert values(0) != values(1)


def test_gp_surrogate_without_differentiation_the_score_function_finds_the_slope_of_the_smoothed_surrogate():
    loss, y_hat = started(beta=ALWAYS, differentiate=False, sigma=0.4, sober=False, pessimism=0.3)
    n, row = 8_000, 7
    rows, scale = np.full(n, row), loss.scale
    repeated = (y_hat[row] + scale).repeat(n, 1).requires_grad_()
    (n * loss(repeated, rows)).backward()
    drawn = repeated.grad * scale  # one draw in each row, by u
    u = repeated.detach() / scale
    point = (u + 0.4 * torch.randn(u.shape, generator=torch.Generator().manual_seed(0)).double()).requires_grad_()
    mean, std = loss.surrogate.posterior(point, rows)
    (slopes,) = torch.autograd.grad((mean + 0.3 * std).sum(), point)  # E of the slope is the slope of E
    error = (drawn.var(dim=0) / n + slopes.var(dim=0) / n).sqrt()
    assert ((drawn.mean(dim=0) - slopes.mean(dim=0)).abs() < 5 * error).all()
    assert solves(loss) == {"labels": N, "pre-training": 4 * N}


@pytest.mark.parametrize(("name", "draws"), [("acquire", 1), ("sfge", 1), ("multi-sample", 4), ("spo+", 1)])
def test_gp_surrogate_each_fallback_pays_its_number_of_solves_and_the_processes_learn(name, draws):
    loss, y_hat = started(CHEAPEST, n_y=3, beta=NEVER, fallback=name, sigma=0.3)
    loss.begin_epoch()
    index = torch.tensor([2, 6, 3])
    y_hat = y_hat[index].requires_grad_()
    loss(y_hat, index).backward()
    assert torch.isfinite(y_hat.grad).all()
    assert solves(loss)["online"] == 3 * draws
    samples = loss.surrogate.samples
    assert np.array_equal(samples.n_of - 5, draws * np.isin(np.arange(N), index))
    assert np.array_equal(loss.surrogate.gps.n_points, samples.n_of)
    new = slice(5 * N, None)
    u = (y_hat.detach() / loss.scale).numpy()
    centre = 2 * u - loss.arrays.truth[index] if name == "spo+" else u
    assert (samples.kind[new] == NORMAL).all()
    assert np.allclose(samples.centre[new], np.tile(centre, (draws, 1)))
    assert np.allclose(samples.sigma[new], 0.3)


def test_gp_surrogate_with_full_correction_the_whole_loss_is_unbiased():
    """Examples that are all alike, each with points of its own, and so with another belief."""
    n, y, at = 2_000, np.array([1.0, -2.0]), np.array([1.6, -1.5])
    config = GPSurrogateConfig(beta=NEVER, correction=1.0, sigma=0.6, spread=0.4)
    loss = GPSurrogateLoss(BOWL, np.tile(y, (n, 1)), config)
    y_hat = torch.as_tensor(np.tile(at, (n, 1))).requires_grad_()
    loss.start(y_hat)
    (n * loss(y_hat, torch.arange(n))).backward()
    drawn = (y_hat.grad * loss.surrogate.std_r).numpy()
    error = drawn.std(axis=0) / np.sqrt(n)
    assert (np.abs(drawn.mean(axis=0) - 2 * (at - y)) < 5 * error).all()
    assert (error < 0.1).all()


def test_gp_surrogate_spo_plus_as_fallback_is_refused_where_it_does_not_apply():
    Y = demand_table(N, 2)[1]
    with pytest.raises(NotApplicableError, match=r"'spo\+' does not fit 'newsvendor': it needs an objective y @ z"):
        GPSurrogateLoss(NEWSVENDOR, Y, GPSurrogateConfig(fallback="spo+"))


@pytest.mark.parametrize("sigma", [0.1, None])
@pytest.mark.parametrize("fallback", ["sfge", "multi-sample"])
def test_gp_surrogate_sigma_is_trained_on_request(fallback, sigma):
    loss, y_hat = started(beta=NEVER, fallback=fallback, sigma=sigma, train_sigma=True)
    (parameter,) = (p for p in loss.trained_parameters() if p.requires_grad)
    optimiser = torch.optim.Adam([parameter], lr=0.1)
    before = parameter.detach().exp().clone()
    for _ in range(3):
        loss.begin_epoch()
        optimiser.zero_grad()
        loss(y_hat, torch.arange(N)).backward()
        optimiser.step()
    after = parameter.detach().exp().clone()
    assert (after != before).all()
    loss.begin_epoch()
    assert torch.equal(parameter.exp(), after), "an epoch leaves it alone"
    sigmas = loss.surrogate.samples.sigma[5 * N :]
    assert len(np.unique(sigmas[:, 0])) == 3, "samples keep the sigma of their time"


def test_gp_surrogate_sigma_is_not_trained_by_default():
    loss, _ = started()
    assert not [p for p in loss.trained_parameters() if p.requires_grad]


@pytest.mark.parametrize("settings", [{"design": "near"}, {"design": "box", "points": 9}])
def test_gp_surrogate_an_open_sigma_makes_draws_of_so_many_length_scales(settings, monkeypatch):
    monkeypatch.setattr(gp_surrogate, "SIGMAS", (1e-9, 1e9))
    loss, y_hat = started(n_y=3, **settings)
    u = np.tile(y_hat.numpy() / loss.arrays.scale, (500, 1))
    off = (loss.arrays.noise.draw(u).point - u) / loss.surrogate.units
    reached = np.sqrt((off**2).sum(axis=1).mean()) / loss.surrogate.gps.lengthscale[0]
    assert reached == pytest.approx(gp_surrogate.REACH, rel=0.02)


@pytest.mark.parametrize(("length", "sigma"), [(0.2, 0.12), (1e-3, 0.05), (1e3, 0.25)])
def test_gp_surrogate_an_open_sigma_follows_the_length_scale_within_its_range(length, sigma):
    loss, _ = started(n_y=1)
    loss.surrogate.gps._hyper[:, 0] = length
    loss.begin_epoch()
    assert loss.noise.log_sigma.exp().item() == pytest.approx(sigma)


def test_gp_surrogate_a_failed_factorisation_is_paid_for_and_mended_by_what_is_learned():
    loss, y_hat = started(beta=ALWAYS)
    loss.surrogate.gps.freshness.failed[3] = True
    y_hat.requires_grad_()
    value = loss(y_hat[:5], torch.arange(5))
    assert torch.isfinite(value)
    assert solves(loss)["online"] == 1
    assert loss.surrogate.samples.n_of[3] == 6
    assert loss.trusted == 0.8
    value.backward()
    assert (y_hat.grad[:5].abs().sum(dim=1) > 0).all()
    assert not loss.surrogate.gps.failed.any()


@pytest.mark.parametrize("fallback", ["acquire", "sfge", "multi-sample", "spo+"])
def test_gp_surrogate_a_factorisation_that_keeps_failing_does_not_end_the_run(fallback, monkeypatch):
    extend = GPs._extend_factors

    def fail(gps):
        extend(gps)
        gps.freshness.failed[2] = True

    monkeypatch.setattr(GPs, "_extend_factors", fail)
    X, Y = demand_table(30, 3)
    split = split_rows(30, rng=np.random.default_rng(0))
    settings = {"start_epochs": 2, "max_epochs": 3, "beta": ALWAYS, "fallback": fallback}
    fitted = fit(Plan(CHEAPEST, X, Y, split, method="gp-surrogate", predictor="linear", settings=settings))
    records = [record for record in fitted.history if record.stage == "train"]
    assert len(records) == 3
    assert all(np.isfinite(record.train_loss) for record in records)
    assert records[-1].solves["online"] == 3 * (4 if fallback == "multi-sample" else 1)
    assert records[-1].trusted == pytest.approx(23 / 24)


def test_gp_surrogate_the_papers_settings_run_from_end_to_end():
    X, Y = demand_table(30, 2)
    split = split_rows(30, rng=np.random.default_rng(0))
    settings = {"start_epochs": 2, "max_epochs": 3}
    fitted = fit(Plan(NEWSVENDOR, X, Y, split, method="gp-surrogate-paper", predictor="linear", settings=settings))
    assert fitted.loss.config == PAPER
    assert fitted.oracle.calls.counts["solve"]["pre-training"] == papers_number_of_points(2) == 11
    assert (fitted.loss.surrogate.samples.kind == BOX).sum() == 11 * 24
    records = [record for record in fitted.history if record.stage == "train"]
    assert len(records) == 3
    assert all(np.isfinite(record.train_loss) and 0 <= record.trusted <= 1 for record in records)
    assert fitted.report["effective_sample_size"] >= 1


@pytest.mark.parametrize("form", ["samples", "centres", "bandwidth"])
def test_gp_surrogate_every_form_of_smoothing_trains(form):
    loss, y_hat = started(beta=NEVER, smoothing=form, refit_after=10)
    for _ in range(2):
        assert all(torch.isfinite(value) for value in epoch(loss, y_hat))
    loss.surrogate.sigma = 0.5
    loss.surrogate.refit(force=True)
    assert all(torch.isfinite(value) for value in epoch(loss, y_hat))


def test_gp_surrogate_another_kernel_trains_and_comes_back_from_a_state():
    loss, y_hat = started(beta=NEVER, kernel="matern52", refit_after=10)
    smooth, _ = started(beta=NEVER, refit_after=10)
    values, others = epoch(loss, y_hat), epoch(smooth, y_hat)
    assert all(torch.isfinite(value) for value in values)
    assert values != others
    arrays, numbers = loss.surrogate.state()
    copy = RegretSurrogate.from_state(loss.arrays.truth, arrays, numbers, loss.config)
    u, rows = y_hat / loss.scale, np.arange(N)
    assert torch.equal(copy.posterior(u, rows)[0], loss.surrogate.posterior(u, rows)[0])


def test_gp_surrogate_a_run_from_before_there_was_a_choice_of_kernel_is_still_the_same_run():
    assert "kernel" not in values_of(GPSurrogateConfig())
    assert values_of(GPSurrogateConfig(kernel="matern52"))["kernel"] == "matern52"
    about = {
        kernel: Plan(NEWSVENDOR, *demand_table(), method="gp-surrogate", settings={"kernel": kernel}).checked.about
        for kernel in ("rbf", "matern52")
    }
    as_then = repr(GPSurrogateConfig())
    later_ones = ", kernel='rbf'", ", most_points=150"
    for later in later_ones:
        as_then = as_then.replace(later, "")
    assert about["rbf"]["config"] == as_then
    assert "kernel='matern52'" in about["matern52"]["config"]


def test_gp_surrogate_sharing_trains_with_the_box_and_is_refused_before_anything_is_paid_with_another_design():
    loss, y_hat = started(design="box", points=6, sharing=True, share_within=2.0)
    assert all(torch.isfinite(value) for value in epoch(loss, y_hat))
    assert max(len(set(loss.surrogate.gps.owners_of(i))) for i in range(N)) > 1
    with pytest.raises(InputError, match=r"design='box'"):
        GPSurrogateConfig(sharing=True)


def test_gp_surrogate_finishes_with_a_calibration_from_held_out_solves():
    loss, y_hat = started(n=80)
    report = loss.finish(y_hat + 0.01)
    assert solves(loss)["validation"] == 64
    assert report["calibration"]["n"] == 64
    assert report["calibration"]["nominal"] == [0.5, 0.8, 0.95]
    covered = report["calibration"]["covered"]
    assert 0 <= covered[0] <= covered[1] <= covered[2] <= 1
    assert report["effective_sample_size"] == 1.0
    assert report["samples_per_example"] == 5.0
    few, y_hat = started()
    assert few.finish(y_hat.requires_grad_())["calibration"]["n"] == N
    assert GPSurrogateLoss(NEWSVENDOR, demand_table(N, 2)[1]).finish(y_hat) == {}, "nothing was learned"


def test_gp_surrogate_warns_when_it_was_over_confident():
    loss, y_hat = started()
    honest = loss.surrogate.posterior
    loss.surrogate.posterior = lambda u, rows: (honest(u, rows)[0] + 1000, honest(u, rows)[1])
    report = loss.finish(y_hat)
    assert report["calibration"]["covered"] == [0.0, 0.0, 0.0]
    (warning,) = report["warnings"]
    assert "over-confident" in warning
    assert "0% of 24" in warning


def test_gp_surrogate_labels_are_never_modified():
    X, Y = demand_table(30, 2)
    given = X.copy(), Y.copy()
    loss = GPSurrogateLoss(NEWSVENDOR, Y)
    y_hat = predictions(Y)
    kept = y_hat.clone()
    loss.start(y_hat)
    epoch(loss, y_hat)
    loss.finish(y_hat)
    split = split_rows(30, rng=np.random.default_rng(0))
    settings = {"start_epochs": 2, "max_epochs": 2, "beta": NEVER}
    fitted = fit(Plan(NEWSVENDOR, X, Y, split, method="gp-surrogate", predictor="linear", settings=settings))
    assert np.array_equal(X, given[0])
    assert np.array_equal(Y, given[1])
    assert np.array_equal(loss.oracle.Y, Y)
    assert np.array_equal(fitted.oracle.Y, Y)
    assert torch.equal(y_hat, kept)


@pytest.mark.parametrize("unit", [1e12, 1e-12])
@pytest.mark.parametrize("n_y", [1, 3])
def test_gp_surrogate_the_units_of_y_do_not_matter(n_y, unit):
    values = []
    for scale in (1.0, unit):
        Y = scale * demand_table(N, n_y)[1]
        loss = GPSurrogateLoss(NEWSVENDOR, Y)
        loss.start(predictions(Y))
        values.append([value.item() for value in epoch(loss, predictions(Y, seed=2))])
    assert np.isfinite(values).all()
    assert np.allclose(*values, rtol=1e-4, atol=1e-6)


def test_gp_surrogate_a_constant_regret_and_constant_labels_are_no_accident():
    flat = fs.Problem(solve=lambda y_hat: np.zeros(1), cost=lambda y, z: 3.0)
    for Y in (demand_table(N, 2)[1], np.ones((N, 2))):
        for design in ("near", "box"):
            loss = GPSurrogateLoss(flat, Y, GPSurrogateConfig(design=design))
            y_hat = predictions(Y) + 0.1
            loss.start(y_hat)
            assert all(torch.isfinite(value) for _ in range(2) for value in epoch(loss, y_hat))
            assert loss.finish(y_hat)["calibration"]["covered"][-1] == 1.0


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"beta": 0.0}, "beta must be a number above 0, got 0"),
        ({"sigma": 0.0}, "sigma must be a number above 0 or None, got 0"),
        ({"sigma": -1.0}, "sigma must be a number above 0 or None, got -1"),
        ({"spread": 0.0}, "spread must be a number above 0"),
        ({"points": -1}, "points must be a whole number of at least 1 or None, got -1"),
        ({"points": 0}, "points must be a whole number of at least 1 or None, got 0"),
        ({"correction": 1.5}, "correction must be a number between 0 and 1, got 1.5"),
        ({"fallback": "magic"}, "fallback must be 'acquire', .* or 'spo\\+', got 'magic'"),
        ({"kernel": "cubic"}, "kernel must be 'rbf'.* or .*, got 'cubic'"),
    ],
)
def test_gp_surrogate_settings_that_cannot_work_are_refused(settings, says):
    with pytest.raises(InputError, match=says):
        GPSurrogateLoss(NEWSVENDOR, demand_table(N, 2)[1], GPSurrogateConfig(**settings))


def test_gp_surrogate_predictions_that_do_not_fit_are_refused():
    loss, y_hat = started()
    with pytest.raises(InputError, match=r"shape \(3, 2\), got \(3, 1\)"):
        loss(y_hat[:3, :1], torch.arange(3))
    with pytest.raises(InputError, match=r"shape \(24, 2\), got \(23, 2\)"):
        loss.start(y_hat[1:])
    with pytest.raises(InputError, match="not finite"):
        loss(y_hat[:2] * np.nan, torch.arange(2))
    with pytest.raises(InputError, match=r"0\.\.23"):
        loss(y_hat[:1], torch.tensor([24]))


def test_gp_surrogate_through_the_estimator_it_decides_better_than_prediction_focused_learning():
    (X, Y), (X_new, Y_new) = old_and_new(90, 200)
    options = {"predictor": "linear", "verbose": False}
    start = {"start_epochs": 60}
    plain = fs.DecisionRegressor(NEWSVENDOR, method="pfl", settings=start, **options).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of its confidence
        focused = fs.DecisionRegressor(
            NEWSVENDOR, method="gp-surrogate", settings=start | {"max_epochs": 40, "learning_rate": 1e-2}, **options
        ).fit(X, Y)
    assert focused.score(X_new, Y_new) > 0.85 * plain.score(X_new, Y_new)
    assert focused.validation_regret_ < plain.validation_regret_
    assert focused.calls_.training() < 20 * len(X), "sfge pays for 40 epochs"
