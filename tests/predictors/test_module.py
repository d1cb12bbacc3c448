"""Torch modules of the user: in their own units, kept where they are good."""

import numpy as np
import pytest
import torch
from torch import nn

import fewsolves as fs
from fewsolves.predictors.predictor import Predictor, unit_step
from problems_of_users import NEWSVENDOR

ITEMS, FEATURES = 6, 3


def table(n=80, seed=0):
    """Features in units of their own, items with one law, parameters in hundreds and of unlike spread."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, ITEMS, FEATURES)) * [1.0, 20.0, 300.0]
    noise = rng.normal(size=(n, ITEMS)) * np.linspace(5, 80, ITEMS)
    return X.reshape(n, -1), 400 + X @ [40.0, 3.0, 0.2] + noise


class Shared(nn.Module):
    """One layer for all items."""

    def __init__(self, dtype=torch.float64):
        super().__init__()
        self.layer = nn.Linear(FEATURES, 1, dtype=dtype)

    def forward(self, x):
        return self.layer(x.reshape(len(x), ITEMS, FEATURES)).squeeze(-1)


class Doubled(nn.Module):
    """Fails where x is not what the user gave, and has no weights."""

    def forward(self, x):
        assert float(x.abs().max()) > 100, "x was scaled"
        return 2 * x[:, :2]


def fitted(X, Y, predictor, **options):
    return fs.DecisionRegressor(NEWSVENDOR, predictor=predictor, verbose=False, **options).fit(X, Y)


def least_squares(X, Y, rows):
    features = X.reshape(len(X), ITEMS, FEATURES)
    design = np.column_stack([features[rows].reshape(-1, FEATURES), np.ones(len(rows) * ITEMS)])
    found = np.linalg.lstsq(design, Y[rows].ravel(), rcond=None)[0]
    return features @ found[:-1] + found[-1]


def test_module_the_start_of_a_shared_layer_is_least_squares():
    X, Y = table()
    model = fitted(X, Y, Shared(), method="pfl")
    assert np.allclose(model.predict(X), least_squares(X, Y, model.split_.train), rtol=1e-6, atol=0)


def test_module_a_pretrained_one_is_kept_to_the_bit_and_the_summary_says_so():
    X, Y = table()
    first = fitted(X, Y, Shared(torch.float32), method="pfl")
    net = first.predictor_.net.module
    assert net.layer.weight.dtype == torch.float32
    model = fitted(X, Y, net, method="pfl")
    assert torch.equal(model.predictor_.net.module.layer.weight, net.layer.weight)
    assert np.array_equal(model.predict(X), first.predict(X))
    assert "The module was kept as given by the start" in str(model.summary_)
    poor = Shared()
    zero = fitted(X, Y, poor, method="pfl", settings={"start_epochs": 0})
    kept = zip(poor.parameters(), zero.predictor_.net.module.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in kept)


def test_module_the_default_begins_at_a_pretrained_one():
    X, Y = table()
    net = fitted(X, Y, Shared(), method="pfl").predictor_.net.module
    with pytest.warns(fs.FewsolvesWarning, match="ended before anything was judged"):
        model = fitted(X, Y, net, settings={"solves": 0})
    assert torch.equal(model.predictor_.net.module.layer.weight, net.layer.weight)


def test_module_gets_x_and_gives_y_hat_without_scales():
    X = np.random.default_rng(0).uniform(100, 200, (20, 3))
    model = fitted(X, 2 * X[:, :2], Doubled(), method="pfl")
    assert np.array_equal(model.predict(X), 2 * X[:, :2])
    with pytest.raises(fs.InputError, match=r"scale is 'inputs', 'outputs', 'both' or None, got 'all'"):
        fitted(X, X, Doubled(), scale="all")
    with pytest.raises(
        fs.InputError, match=r"scale='both' is for a torch module; predictor 'linear' has its own scales"
    ):
        fitted(X, X, "linear", scale="both")


@pytest.mark.parametrize("scale", ["inputs", "outputs", "both"])
def test_module_given_scales_are_in_the_predictor_and_its_file(scale, tmp_path):
    X, Y = table()
    model = fitted(X, Y, nn.Linear(ITEMS * FEATURES, ITEMS), method="pfl", scale=scale)
    assert (model.predictor_.x_mean.ndim == 1) == (scale != "outputs")
    assert (model.predictor_.y_std.ndim == 1) == (scale != "inputs")
    again = fs.load(model.save(tmp_path), predictor=nn.Linear(ITEMS * FEATURES, ITEMS))
    assert np.array_equal(again.predict(X), model.predict(X))


def test_module_an_embedding_takes_whole_numbers(tmp_path):
    days, Y = week()
    model = fitted(days, Y, Rates(), method="pfl")
    assert np.allclose(model.predict(days), Y, atol=1e-3)
    again = fs.load(model.save(tmp_path), predictor=Rates())
    assert np.array_equal(again.predict(days), model.predict(days))
    with pytest.raises(fs.InputError, match=r"X has 0.5 at row 0; the model was trained on whole numbers"):
        again.predict(days + 0.5)


class CodesInFloat32(nn.Module):
    """Casts by itself."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(14, 2)

    def forward(self, x):
        return self.layer(nn.functional.one_hot(x.long(), 7).float().flatten(1))


class CastsInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x.float())


class FillsArray(nn.Module):
    """Creates an array of torch's default type."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(2, 4), nn.Linear(4, 2)

    def forward(self, x):
        hidden = torch.zeros(len(x), 4)
        hidden[:] = self.first(x)
        return self.last(hidden)


class ChecksType(nn.Module):
    """Takes float32 only, and says so in its own way."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        assert x.dtype == torch.float32
        return self.layer(x)


@pytest.mark.parametrize("module", [CodesInFloat32, CastsInputs, FillsArray, ChecksType])
@pytest.mark.parametrize("options", [{"method": "pfl"}, {"settings": {"solves": 1}}], ids=["pfl", "default"])
def test_module_that_computes_in_float32_only_is_trained_in_float32(module, options):
    rng = np.random.default_rng(0)
    days = rng.integers(0, 7, size=(60, 2)).astype(float)
    Y = 20.0 + 3.0 * days + rng.normal(size=(60, 2))
    torch.manual_seed(0)
    net = module()
    model = fitted(days, Y, net, **options)
    assert {one.dtype for one in model.predictor_.net.module.parameters()} == {torch.float32}
    assert np.square(model.predict(days) - Y).mean() < 0.5 * np.square(fs.Predictor(net)(days) - Y).mean()


@pytest.mark.parametrize("module", [CastsInputs, ChecksType])
def test_module_that_computes_in_float32_only_starts_at_least_squares(module):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = 20.0 + 3.0 * X + rng.normal(size=(60, 2))
    torch.manual_seed(0)
    model = fitted(X, Y, module(), method="pfl")
    design = np.column_stack([X, np.ones(60)])
    rows = model.split_.train
    found = np.linalg.lstsq(design[rows], Y[rows], rcond=None)[0]
    assert np.allclose(model.predict(X), design @ found, rtol=1e-5, atol=0)


def test_module_the_step_in_float32_is_that_in_float64():
    X = np.random.default_rng(0).normal(size=(60, 2))
    torch.manual_seed(0)
    casts, plain = CastsInputs(), nn.Linear(2, 2)
    plain.load_state_dict(casts.layer.state_dict())
    steps = [unit_step(Predictor.of(net, X, 400 + 30 * X), X) for net in (casts, plain)]
    assert steps[0] == pytest.approx(steps[1], rel=1e-3)


def test_module_one_that_cannot_take_x_is_refused_before_anything_is_paid():
    X, Y = table()
    with pytest.raises(fs.InputError, match=r"predictor Linear cannot take X of shape \(80, 18\): it raised Runtime"):
        fitted(X, Y, nn.Linear(4, ITEMS))
    with pytest.raises(fs.InputError, match=r"gives an array of shape \(2, 5\) for 2 rows of 6 parameters"):
        fitted(X, Y, nn.Linear(18, 5))


class Rates(nn.Module):
    """A rate for each day of the week."""

    def __init__(self):
        super().__init__()
        self.rate = nn.Embedding(7, 2)

    def forward(self, x):
        return self.rate(x[:, 0])


def week(n=70):
    days = np.arange(n)[:, None] % 7
    return days, 10.0 + np.column_stack([days, 3.0 * days])


def test_module_an_index_beyond_an_embedding_is_named_by_its_row():
    days, Y = week()
    model, solved = fitted(days, Y, Rates(), method="pfl"), []
    counting = fs.Problem(solve=lambda y_hat: solved.append(1) or y_hat, cost=NEWSVENDOR.cost)
    days[50] = 9
    says = r"cannot take row 50 of X: it raised IndexError: .* an Embedding takes whole numbers from 0 to"
    with pytest.raises(fs.InputError, match=says):
        model.predict(days)
    with pytest.raises(fs.InputError, match=says):
        fs.DecisionRegressor(counting, predictor=Rates(), verbose=False).fit(days, Y)
    with pytest.raises(
        fs.InputError, match=r"given floating-point numbers, .*; given whole numbers, it raised IndexError"
    ):
        fitted(days + 7, Y, Rates())
    with pytest.raises(fs.InputError, match="X has entries that are not whole: round them"):
        fitted(days + 0.5, Y, Rates())
    assert not solved


@pytest.mark.parametrize(("scale", "instead"), [("inputs", "None"), ("both", "'outputs'")])
def test_module_an_embedding_refuses_standardised_inputs(scale, instead):
    with pytest.raises(fs.InputError, match=rf"with scale='{scale}' it gets standardised x .* Choose scale={instead}"):
        fitted(*week(), Rates(), scale=scale)
    assert fitted(*week(), Rates(), scale="outputs", method="pfl").predict(week()[0]).shape == (70, 2)


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (
            nn.LSTM(3, 6, batch_first=True),
            "it returns a tuple, not a tensor; wrap it in a module whose forward returns",
        ),
        (nn.Linear(3, 1).bfloat16(), r"'weight' of Linear is of type torch.bfloat16.*give module.float\(\)"),
        (nn.LazyLinear(1), "'weight' of LazyLinear has no shape yet; call the module with x first"),
    ],
)
def test_module_one_that_cannot_be_trained_is_refused_with_what_to_do(module, says):
    X, Y = table()
    with pytest.raises(fs.InputError, match=says):
        fitted(X.reshape(len(X), ITEMS, FEATURES), Y, module)


@pytest.mark.parametrize("frozen", [("weight",), ("bias",), ("weight", "bias")], ids="+".join)
def test_module_frozen_weights_stay_as_they_are(frozen):
    X, Y = table()
    torch.manual_seed(0)
    net = nn.Linear(ITEMS * FEATURES, ITEMS)
    for name in frozen:
        getattr(net, name).requires_grad_(False)
    model = fitted(X, Y, net, settings={"solves": 1})
    for name in frozen:
        assert torch.equal(getattr(model.predictor_.net.module, name), getattr(net, name))


def test_module_that_is_frozen_gets_one_offset_for_each_output():
    X, Y = table()
    net = nn.Linear(ITEMS * FEATURES, ITEMS).requires_grad_(False)
    for options in ({"settings": {"solves": 1}}, {"method": "pfl"}):
        model = fitted(X, Y, net, **options)
        offset = model.predict(X) - fs.Predictor(net)(X)
        assert np.allclose(offset, model.predictor_.y_mean, atol=1e-6 * np.abs(Y).max())
    assert not offset.any()  # pfl changes nothing


def test_module_bounds_are_soft_in_units_of_y():
    X, Y = table()
    bounded = fs.Problem(solve=NEWSVENDOR.solve, cost=NEWSVENDOR.cost, lower=0.0)
    model = fs.DecisionRegressor(bounded, predictor=Shared(), method="pfl", verbose=False).fit(X, np.maximum(Y, 0))
    low = model.predictor_(np.zeros((1, X.shape[1])) - 1e4)
    assert np.all(low >= 0)
    assert np.allclose(model.predictor_.y_spread, np.maximum(Y, 0)[model.split_.train].std(axis=0))


def test_module_steps_do_not_depend_on_the_units_of_y():
    X, Y = table()
    torch.manual_seed(0)
    small = nn.Sequential(nn.Linear(18, 8), nn.Tanh(), nn.Linear(8, ITEMS)).double()
    large = nn.Sequential(small, Times(1000.0))
    steps = [unit_step(Predictor.of(net, X, y), X) for net, y in ((small, Y), (large, 1000 * Y))]
    assert steps[0] == pytest.approx(steps[1], rel=1e-9)
    assert unit_step(Predictor(small), X) == 1.0


class Times(nn.Module):
    def __init__(self, by):
        super().__init__()
        self.by = by

    def forward(self, x):
        return self.by * x


def test_module_training_gains_in_the_units_of_the_module():
    X, Y = table(120)
    fresh, truth = table(500, seed=1)
    pfl, trained = (fitted(X, Y, Shared(), **options) for options in ({"method": "pfl"}, {"settings": {"solves": 4}}))
    assert -trained.score(fresh, truth) < 0.8 * -pfl.score(fresh, truth)
