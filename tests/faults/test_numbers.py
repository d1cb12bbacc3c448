"""D: degenerate numbers. Wrong input is named before the first call of the solver; everything else trains or says why.

Whatever happens, no weight is NaN.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import fewsolves as fs
from fewsolves.data import Split
from fewsolves.errors import InputError
from fewsolves.fitting.fit import FLAT, fit
from fewsolves.fitting.plan import Plan
from fewsolves.methods.base import GradientTrainer, TrainConfig
from fewsolves.methods.gp_surrogate.fallback import Noise
from fewsolves.methods.gp_surrogate.gp.processes import GPConfig, GPs
from fewsolves.methods.gp_surrogate.surrogate.samples import Samples
from fewsolves.methods.gp_surrogate.surrogate.smoothing import smooth
from fewsolves.methods.loss import as_array_loss
from fewsolves.methods.registry import find_method
from fewsolves.methods.sfge import SFGEConfig, SFGELoss
from fewsolves.methods.torch_loss import OracleLoss
from fewsolves.oracle import Oracle
from fewsolves.predictors.predictor import Predictor, linear
from fewsolves.testing.methods import known_settings
from fewsolves.training.steps import Steps
from problems_of_users import QUICK

METHODS = ("pfl", "sfge", "gp-surrogate")
DTYPES = (np.float32, np.float64)
HUGE, TINY = 2.0**40, 2.0**-40  # 1e12 and 1e-12, exact in float32 too

each_method = pytest.mark.parametrize("method", METHODS)
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])


class Solver:
    """Orders what is predicted; a missing unit costs four times one too many. Counts how often it is asked."""

    def __init__(self, cost=None):
        self.n_calls = 0
        self._cost = cost or (lambda y, z: float((np.maximum(z - y, 0) + 4 * np.maximum(y - z, 0)).sum()))
        self.problem = fs.Problem(solve=self.solve, cost=self.cost)

    def solve(self, y_hat):
        self.n_calls += 1
        return y_hat

    def cost(self, y, z):
        self.n_calls += 1
        return self._cost(y, z)


def table(dtype=np.float64, n=16, n_y=2, n_x=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_x))
    Y = 10 + X @ rng.normal(size=(n_x, n_y)) + rng.gamma(1.0, 0.3, size=(n, n_y))
    return X.astype(dtype), Y.astype(dtype)


def trained(method, X, Y, problem=None, n_valid=4, predictor="linear", **settings):
    rows = np.arange(len(X))
    split = Split(rows[:-n_valid], rows[-n_valid:], rows[:0])
    problem = problem or Solver().problem
    settings = known_settings(find_method(method), QUICK | settings)
    fitted = fit(Plan(problem, X, Y, split, method=method, predictor=predictor, settings=settings))
    assert torch.isfinite(weights(fitted)).all()
    assert np.isfinite(fitted.best.values).all()
    return fitted


def weights(fitted):
    return torch.as_tensor(np.concatenate([p.ravel() for p in fitted.predictor.weights()]))


# D1: input


def spoiled(name, value, dtype):
    X, Y = table(dtype)
    with np.errstate(over="ignore"):
        {"X": X, "Y": Y}[name][7, 1] = value
    return X, Y


@each_dtype
@pytest.mark.parametrize("name", ["X", "Y"])
@pytest.mark.parametrize(
    ("value", "says"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf"), (1e200, r"1e\+200|inf")]
)
def test_numbers_a_bad_number_is_named_before_anything_is_paid(name, value, says, dtype):
    X, Y = spoiled(name, value, dtype)
    solver = Solver()
    with pytest.raises(InputError, match=f"{name} contains ({says}) at row 7, column 1"):
        trained("pfl", X, Y, solver.problem)
    with pytest.raises(InputError, match=f"{name} contains ({says}) at row 7, column 1"):
        fs.DecisionRegressor(solver.problem, verbose=False).fit(X, Y)
    assert solver.n_calls == 0


@pytest.mark.parametrize(
    ("X", "says"),
    [
        ([["a", "b"]] * 16, "X must be a table of numbers"),
        ([[1.0], [1.0, 2.0]] * 8, "X must be a table of numbers"),
        ([[1 + 2j]] * 16, "complex"),
        (np.array([["2026-01-01"]] * 16, dtype="datetime64[D]"), "datetime64"),
        ([[10**400]] * 16, "about 1e400 at row 0; use larger units"),
        (np.linspace([1e-170], [2e-170], 16), "X contains no number above 2e-170 in column 0; use smaller units"),
        (np.linspace([5.0, 5e-320], [6.0, 6e-320], 16), r"X contains no number above .*e-320 in column 1"),
        ([[None]] * 16, "X contains NaN at row 0, column 0"),
        (np.ones(16), "two dimensions"),
        (np.ones((15, 2)), "X has 15 rows and Y has 16"),
        (np.ones((16, 0)), "X is empty"),
    ],
)
def test_numbers_what_is_no_table_is_refused_before_anything_is_paid(X, says):
    solver = Solver()
    with pytest.raises(InputError, match=says):
        fit(Plan(solver.problem, X, table()[1], Split(*np.split(np.arange(16), [10, 13])), method="pfl"))
    assert solver.n_calls == 0


@each_method
@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda values: np.repeat(values, 2, axis=0)[::2],
        lambda values: values[::-1, ::-1].copy()[::-1, ::-1],
        lambda values: values.tolist(),
        lambda values: values.astype(np.float32),
        lambda values: values.astype(np.int16),
        lambda values: values.astype(object),
    ],
    ids=["fortran", "strided", "backwards", "lists", "float32", "integers", "objects"],
)
def test_numbers_only_the_numbers_count_not_how_they_are_stored(method, form):
    X, Y = (np.rint(4 * values) for values in table())  # exact in each of the types
    before = X.copy(), Y.copy()
    plain, stored = trained(method, X, Y), trained(method, form(X), form(Y))
    assert torch.equal(weights(plain), weights(stored))
    assert np.array_equal(before[0], X) and np.array_equal(before[1], Y)


class Frame:
    """What of a data frame matters here."""

    def __init__(self, values, index):
        self.values, self.index, self.iloc, self.shape = values, index, None, values.shape

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)


def test_numbers_frames_in_another_order_are_refused_before_anything_is_paid():
    X, Y = table()
    order = [*range(14), 15, 14]
    solver = Solver()
    with pytest.raises(InputError, match=r"row 14 is 14 in X and 15 in Y.*Y\.loc\[X\.index\]"):
        trained("pfl", Frame(X, [*range(16)]), Frame(Y, order), solver.problem)
    assert solver.n_calls == 0
    shuffled = trained("pfl", Frame(X, order), Frame(Y, order))
    other = trained("pfl", Frame(X, order), Frame(Y, [*range(100, 116)]))  # labels of another kind say nothing
    assert torch.equal(weights(shuffled), weights(trained("pfl", X, Y)))
    assert torch.equal(weights(shuffled), weights(other))


# D2: a regret without shape


def flat(value, away):
    return lambda y, z: value if np.array_equal(y, z) else value + away


@each_dtype
@pytest.mark.parametrize("method", [*METHODS, "gp-surrogate-paper", "shift", "memo", "lodl-mse", "lancer"])
@pytest.mark.parametrize(("value", "away"), [(0.0, 0.0), (0.1, 5.3), (1e12, 0.0)], ids=["zero", "constant", "offset"])
def test_numbers_a_flat_regret_is_reported_and_the_start_is_kept(method, value, away, dtype):
    X, Y = table(dtype)
    fitted = trained(method, X, Y, Solver(flat(value, away)).problem)
    assert torch.equal(weights(fitted), weights(trained("pfl", X, Y)))
    assert (FLAT in fitted.warnings) == (method != "pfl")
    assert np.ptp([*fitted.start.values, *fitted.best.values]) == 0.0


@pytest.mark.parametrize("method", ["sfge", "gp-surrogate", "shift"])
def test_numbers_a_regret_that_is_not_flat_is_not_called_so(method):
    X, Y = table()
    assert FLAT not in trained(method, X, Y).warnings
    slight = Solver(lambda y, z: 1e6 + 1e-3 * float(np.abs(y - z).sum()))
    assert FLAT not in trained(method, X, Y, slight.problem).warnings


def test_numbers_the_estimator_warns():
    model = fs.DecisionRegressor(
        Solver(flat(0.0, 0.0)).problem, method="sfge", predictor="linear", settings=QUICK, verbose=False
    )
    with pytest.warns(UserWarning, match="regret is flat"):
        model.fit(*table())


# D3: duplicates


@each_method
@each_dtype
@pytest.mark.parametrize("distinct", [1, 3])
def test_numbers_duplicate_rows(method, dtype, distinct):
    X, Y = (np.repeat(values[:distinct], 16 // distinct, axis=0) for values in table(dtype))
    trained(method, X, Y)


@each_dtype
@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-6])
@pytest.mark.parametrize("pooled", [True, False])
def test_numbers_duplicate_points_of_a_process(apart, pooled, dtype):
    rng = np.random.default_rng(0)
    points = (np.ones((40, 3)) + apart * rng.normal(size=(40, 3))).astype(dtype)
    targets = np.tile([1.0, 3.0], 20).astype(dtype)  # one place, two answers
    gps = GPs(2, 3, GPConfig(pooled=pooled))
    gps.add(np.zeros(40, dtype=int), points, targets)
    gps.fit()
    gps.add(np.zeros(1, dtype=int), points[:1], targets[:1])  # and once more by a rank-1 update
    mean, std = gps.posterior(torch.tensor(points[:2]), np.zeros(2, dtype=int))
    assert not gps.failed.any()
    np.testing.assert_allclose(mean.numpy(), 2.0, atol=0.2)
    assert torch.isfinite(std).all()


# D4: scales


COLD = {"warm_start": False, "learning_rate": 0.03, "max_epochs": 4}


@each_dtype
@pytest.mark.parametrize("method", ["sfge", "gp-surrogate", "memo", "lancer"])
@pytest.mark.parametrize(("of_x", "of_y"), [(HUGE, HUGE), (TINY, TINY), (TINY, HUGE)])
def test_numbers_training_does_not_depend_on_the_units(method, of_x, of_y, dtype):
    X, Y = table(dtype)
    plain, scaled = trained(method, X, Y, **COLD), trained(method, X * dtype(of_x), Y * dtype(of_y), **COLD)
    start = trained(method, X, Y, **COLD | {"max_epochs": 0})
    moved = torch.dist(weights(plain), weights(start))
    assert moved > 0.05
    assert torch.dist(weights(plain), weights(scaled)) < 0.05 * moved
    assert scaled.best.mean == pytest.approx(of_y * plain.best.mean, rel=0.02)


@each_dtype
@each_method
def test_numbers_units_may_differ_from_column_to_column(method, dtype):
    X, Y = table(dtype)
    trained(method, X, Y * np.array([HUGE, TINY], dtype))
    mixed = trained(method, X * np.array([HUGE, TINY, 1], dtype), Y)
    np.testing.assert_allclose(weights(mixed), weights(trained(method, X, Y)), rtol=1e-9)


@each_method
def test_numbers_an_offset_that_dwarfs_the_spread(method):
    X, Y = table()
    trained(method, X + 1e12, Y + 1e12)


# D5: sizes


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_numbers_a_table_that_is_too_small_is_refused_before_anything_is_paid(rows):
    X, Y = table(n=16)
    solver = Solver()
    with pytest.raises(InputError, match=r"empty|n_samples"):
        fs.DecisionRegressor(solver.problem, verbose=False).fit(X[:rows], Y[:rows])
    assert solver.n_calls == 0


@pytest.mark.parametrize("part", ["train", "valid"])
def test_numbers_a_split_without_rows_is_refused(part):
    parts = {"train": np.arange(3), "valid": np.arange(3), "test": np.arange(3)} | {part: np.arange(0)}
    with pytest.raises(InputError, match=f"no row to {part}"):
        Split(**parts)


@each_dtype
@each_method
@pytest.mark.parametrize(
    "shape",
    [{"n": 16, "n_y": 1}, {"n": 16, "n_y": 1, "n_x": 1}, {"n": 8, "n_y": 40, "n_x": 30}, {"n": 5, "n_y": 3}],
    ids=["one output", "one of each", "more columns than rows", "five rows"],
)
def test_numbers_small_and_lopsided_tables(method, shape, dtype):
    trained(method, *table(dtype, **shape), n_valid=1)


@pytest.mark.parametrize("method", ["pfl", "gp-surrogate", "gp-surrogate-paper", "lodl-mse", "lancer"])
def test_numbers_one_training_row(method):
    trained(method, *table(n=5), n_valid=4)


@each_dtype
@pytest.mark.parametrize("n_y", [1, 20])
@pytest.mark.parametrize("config", [{}, {"design": "box", "points": None}, {"points": 1}, {"pooled": False}])
def test_numbers_a_surrogate_of_one_example(n_y, config, dtype):
    Y = table(dtype, n=1, n_y=n_y)[1]
    loss = fs.GPSurrogateLoss(Solver().problem, Y, fs.GPSurrogateConfig(**config))
    y_hat = torch.tensor(Y + dtype(0.5)).requires_grad_()
    loss.start(y_hat.detach())
    for _ in range(3):
        loss.begin_epoch()
        value = loss(y_hat, torch.zeros(1, dtype=torch.long))
        value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(y_hat.grad).all()


@pytest.mark.parametrize("method", ["pfl", "gp-surrogate", "lodl-mse"])
def test_numbers_batches_of_one(method):
    trained(method, *table(), batch_size=1)


@pytest.mark.parametrize("method", ["sfge", "memo"])
def test_numbers_draws_that_cannot_be_compared_are_reported_after_one_epoch(method):
    solver = Solver()
    with pytest.raises(InputError, match="larger batch_size"):
        trained(method, *table(), solver.problem, batch_size=1, max_epochs=100)
    assert solver.n_calls <= 2 * (12 + 2 * 16 + 3)  # solve and cost: an epoch, labels, validation and probe
    if method == "sfge":
        trained(method, *table(), batch_size=1, samples=2)


# D6: densities


@pytest.mark.parametrize("form", ["samples", "centres", "bandwidth"])
@pytest.mark.parametrize("d", [1, 64, 512])
@pytest.mark.parametrize("sigma", [1e-99, 1e-6, 0.1, 1e6, 1e150])
def test_numbers_importance_weights_neither_underflow_nor_overflow(d, sigma, form):
    rng = np.random.default_rng(0)
    samples = Samples(1, d)
    centre, regret = rng.normal(size=(12, d)), rng.normal(size=12)
    samples.add(np.zeros(12, dtype=int), centre + 0.1 * rng.normal(size=(12, d)), regret, centre, 0.1)
    smoothed = smooth(samples, [0], sigma, form)
    assert np.isfinite(smoothed.targets).all()
    assert (smoothed.targets >= regret.min() - 1e-9).all() and (smoothed.targets <= regret.max() + 1e-9).all()
    ess = smoothed.effective_sample_size
    assert (ess >= 1 - 1e-9).all() and (ess <= 12 + 1e-9).all()


@pytest.mark.parametrize("d", [1, 512])
@pytest.mark.parametrize("log_sigma", [-800.0, 800.0])
def test_numbers_a_width_that_collapses_or_explodes_leaves_finite_gradients(log_sigma, d):
    Y = table(n=8, n_y=d)[1]
    loss = SFGELoss(Oracle(Solver().problem, Y), SFGEConfig(), np.random.default_rng(0))
    noise = Noise(np.ones(d), 0.1, trainable=True, rng=np.random.default_rng(0))
    loss.log_sigma[:] = log_sigma
    noise.log_sigma[:] = log_sigma
    value, slope = loss.with_slope(Y + 0.5, np.arange(8))
    assert np.isfinite(value) and np.isfinite(slope).all() and np.isfinite(loss.trained_slopes()[0]).all()
    drawn = noise.draw(Y + 0.5)
    assert all(np.isfinite(part).all() for part in (drawn.point, *drawn.scored(np.ones(8))))
    assert 1e-3 <= drawn.sigma.min() <= drawn.sigma.max() <= 1.0 + 1e-12


@pytest.mark.parametrize("method", ["sfge", "gp-surrogate-paper"])
def test_numbers_a_width_that_is_trained_at_a_wild_rate(method):
    trained(method, *table(), learning_rate=100.0, max_epochs=6)


# D7: numbers that go wrong on the way


def wild(y_hat, kind):
    if kind == "loss is nan":
        return y_hat.sum() * torch.nan
    if kind == "loss is inf":
        return y_hat.square().sum() + torch.inf
    return (y_hat - y_hat.detach()).abs().sqrt().sum()  # worth 0, with a slope that is not a number


def misbehaving(kind, when):
    """A squared error, and something else in the given steps."""
    steps = []

    class Loss(OracleLoss):
        def forward(self, y_hat, index):
            steps.append(index)
            if len(steps) in when:
                return wild(y_hat, kind)
            return (y_hat - torch.as_tensor(self.oracle.Y[index])).square().mean()

    class Misbehaving(GradientTrainer):
        name, summary = "mine", ""

        def loss(self, context):
            return Loss(context.train_oracle)

    return Misbehaving(), steps


KINDS = ("loss is nan", "loss is inf", "slope is nan")


@each_dtype
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_one_bad_step_is_not_taken_and_training_goes_on(kind, dtype):
    recipe, steps = misbehaving(kind, when={2})
    fitted = trained(recipe, *table(dtype), batch_size=4, max_epochs=5, warm_start=False)
    assert len(steps) == 5 * 3
    assert fitted.stopped == "the last epoch was reached"
    (warning,) = fitted.warnings
    assert "in epoch 1 and that step was not taken; the learning rate was halved to 0.0005" in warning
    assert fitted.best.mean < fitted.start.mean


@each_dtype
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_the_second_bad_step_ends_training_with_the_best_weights(kind, dtype):
    good, _ = misbehaving(kind, when={})
    recipe, steps = misbehaving(kind, when={7, 8})
    settings = {"batch_size": 4, "warm_start": False}
    fitted = trained(recipe, *table(dtype), max_epochs=9, **settings)
    assert len(steps) == 8
    assert "in epoch 3" in fitted.stopped and "lower learning_rate" in fitted.stopped
    assert len(fitted.warnings) == 2
    until_then = trained(good, *table(dtype), max_epochs=2, **settings)
    assert torch.equal(weights(fitted), weights(until_then))


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_a_refused_step_leaves_weights_and_optimiser_as_they_were(kind):
    X, Y = table(n=8)
    predictor = Predictor(linear(3, 2, seed=0))
    loss = misbehaving(kind, when={3})[0].loss(SimpleNamespace(train_oracle=Oracle(Solver().problem, Y)))
    steps = Steps(predictor, as_array_loss(loss), X, TrainConfig(batch_size=8), np.random.default_rng(0))

    def state():
        adam = [value for of_one in steps.optimiser.state.values() for value in of_one.values()]
        return [value.copy() for value in (*predictor.state_dict().values(), *adam)]

    for epoch in (1, 2):
        steps.epoch(epoch)
    before = state()
    assert np.isnan(steps.epoch(3)) and len(steps.refused) == 1
    assert all(map(np.array_equal, before, state()))
    assert steps.optimiser.learning_rate == 0.0005
    assert np.isfinite(steps.epoch(4))
    assert not all(map(np.array_equal, before, state()))


@each_method
def test_numbers_a_rate_that_overflows_keeps_the_start(method):
    X, Y = table()
    fitted = trained(method, X, Y, learning_rate=1e300, max_epochs=5)
    assert torch.equal(weights(fitted), weights(trained("pfl", X, Y)))
    if method != "pfl":
        assert "lower learning_rate" in fitted.stopped


# D8: ties


@pytest.mark.parametrize("method", ["sfge", "gp-surrogate"])
def test_numbers_validation_that_never_improves_ends_after_its_patience(method):
    X, Y = table()
    problem = Solver(flat(1.0, 1.0)).problem
    fitted = trained(method, X, Y, problem, predictor="auto", max_epochs=50, patience=7)
    assert fitted.stopped.startswith("no better for 7 epochs")
    assert [record.epoch for record in fitted.history if record.stage == "train"][-1] == 7
    assert fitted.predictor_name == "network"  # the first of two equal starts


def test_numbers_of_equal_readings_the_earliest_is_kept():
    X, Y = table()
    steps = Solver(lambda y, z: float(np.rint(np.abs(y - z).sum() / 1e3)))  # 0 wherever a prediction may lie
    recipe, _ = misbehaving("", when={})
    fitted = trained(recipe, X, Y, steps.problem, warm_start=False)
    untrained = trained(recipe, X, Y, steps.problem, warm_start=False, max_epochs=0)
    assert torch.equal(weights(fitted), weights(untrained))
