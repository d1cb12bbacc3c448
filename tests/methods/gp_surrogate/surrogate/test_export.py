import json
import pickle

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

import fewsolves as fs
from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.surrogate.export import NUMBERS, SETTINGS, _digest
from problems_of_users import NEWSVENDOR, demand_table

N = 20
X, Y = demand_table(N, 2)


def trained(epochs=2, **settings):
    """A loss that has paid at some points beyond its first."""
    rng = np.random.default_rng(1)
    y_hat = torch.as_tensor(Y + 0.5 * rng.normal(size=Y.shape))
    loss = fs.GPSurrogateLoss(NEWSVENDOR, Y, fs.GPSurrogateConfig(**settings))
    loss.start(y_hat)
    for _ in range(epochs):
        loss.begin_epoch()
        loss(y_hat + 3 * torch.as_tensor(rng.random(Y.shape)), torch.arange(N))
    return loss


def queries(n=50, seed=2):
    rng = np.random.default_rng(seed)
    rows = rng.integers(N, size=n)
    return torch.as_tensor(Y[rows] + 2 * rng.normal(size=(n, 2))), rows


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"pooled": False},
        {"kernel": "matern52"},
        {"design": "box"},
        {"design": "box", "sharing": True, "share_within": 2.0},
    ],
    ids=["default", "each its own", "another kernel", "box", "sharing"],
)
def test_export_what_is_loaded_is_what_was_saved_to_the_last_bit(tmp_path, settings):
    loss = trained(beta=1e-9, **settings)
    assert loss.save(tmp_path / "a/b") == tmp_path / "a/b"
    loaded = fs.load_surrogate(tmp_path / "a/b")
    y_hat, rows = queries()
    for before, after in zip(loss.surrogate.regret(y_hat / loss.scale, rows), loaded.regret(y_hat, rows), strict=True):
        assert torch.equal(before, after)


def test_export_a_file_from_before_there_was_a_choice_of_kernel_is_read_as_rbf(tmp_path):
    loss = trained()
    folder = loss.save(tmp_path)
    settings = json.loads((folder / SETTINGS).read_text())
    del settings["sha256"], settings["gp"]["kernel"]
    settings["sha256"] = _digest(settings, (folder / NUMBERS).read_bytes())
    (folder / SETTINGS).write_text(json.dumps(settings))
    y_hat, rows = queries()
    assert torch.equal(
        fs.load_surrogate(folder).regret(y_hat, rows)[0], loss.surrogate.regret(y_hat / loss.scale, rows)[0]
    )


@pytest.mark.parametrize("settings", [{}, {"sober": False}, {"pessimism": 0.0}, {"design": "box"}])
def test_export_as_a_loss_it_is_the_one_it_was_trained_as(tmp_path, settings):
    loss = trained(beta=1e9, **settings)
    loaded = fs.load_surrogate(loss.save(tmp_path))
    y_hat, rows = queries()
    y_hat[:10] += 30  # far away the sober and the other differ
    y_hat.requires_grad_()
    values = [one(y_hat, torch.as_tensor(rows)) for one in (loss, loaded)]
    assert values[0].item() == pytest.approx(values[1].item(), rel=1e-12)
    slopes = [torch.autograd.grad(value, y_hat)[0] for value in values]
    assert torch.allclose(*slopes, rtol=1e-12)


def test_export_trains_another_predictor_without_a_solve(tmp_path):
    loss = trained(epochs=4, beta=1e-9, design="box", points=16)
    loaded = fs.load_surrogate(loss.save(tmp_path))
    x = torch.as_tensor(X, dtype=torch.float32)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
    with torch.no_grad():
        net[-1].bias += torch.as_tensor(Y.mean(axis=0), dtype=torch.float32)
    paid = loss.oracle.calls.total()

    def regret():
        return loss.oracle.regret(np.arange(N), net(x).detach().double().numpy(), phase="test").mean()

    before = regret()
    optimiser = torch.optim.Adam(net.parameters(), lr=0.03)
    for _ in range(80):
        optimiser.zero_grad()
        loaded(net(x), torch.arange(N)).backward()
        optimiser.step()
    assert regret() < 0.6 * before
    assert loss.oracle.calls.total() == paid


@pytest.mark.parametrize("kind", [torch.tensor, np.array, list])
def test_export_the_index_may_be_a_tensor_an_array_or_a_list(tmp_path, kind):
    loaded = fs.load_surrogate(trained().save(tmp_path))
    y_hat, rows = queries(3)
    mean, std = loaded.regret(y_hat, kind(rows.tolist()))
    assert torch.equal(mean, loaded.regret(y_hat, rows)[0])
    assert mean.shape == std.shape == (3,)
    assert loaded(y_hat, kind(rows.tolist())) == loaded(y_hat, rows)


def test_export_the_estimate_is_differentiable_in_the_units_of_y(tmp_path):
    loaded = fs.load_surrogate(trained().save(tmp_path))
    y_hat, rows = queries(4)
    assert torch.autograd.gradcheck(lambda y: loaded.regret(y, rows), (y_hat.requires_grad_(),))


def test_export_an_example_without_a_factor_takes_no_part_in_the_loss(tmp_path):
    loss = trained()
    loss.surrogate.gps.freshness.failed[3] = True
    loaded = fs.load_surrogate(loss.save(tmp_path))
    y_hat = torch.as_tensor(Y[2:5] + 1.0).requires_grad_()
    value = loaded(y_hat, [2, 3, 4])
    value.backward()
    assert torch.isfinite(value)
    assert (y_hat.grad.abs().sum(dim=1) > 0).tolist() == [True, False, True]
    assert loaded.regret(y_hat, [2, 3, 4])[1].isinf().tolist() == [False, True, False]


def test_export_nothing_is_unpickled(tmp_path, monkeypatch):
    folder = trained().save(tmp_path)
    assert sorted(file.name for file in folder.iterdir()) == [SETTINGS, NUMBERS]
    json.loads((folder / SETTINGS).read_text())
    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, lambda *args, **kwargs: pytest.fail("something was unpickled"))
    fs.load_surrogate(folder)


def test_export_saving_again_replaces(tmp_path):
    trained().save(tmp_path)
    other = trained(epochs=3, beta=1e-9)
    loaded = fs.load_surrogate(other.save(tmp_path))
    assert np.array_equal(loaded.gps.n_points, other.surrogate.gps.n_points)


def test_export_there_is_nothing_to_save_before_something_was_learned(tmp_path):
    with pytest.raises(InputError, match=r"start\(\)"):
        fs.GPSurrogateLoss(NEWSVENDOR, Y).save(tmp_path)


@pytest.fixture
def folder(tmp_path):
    return trained(epochs=0).save(tmp_path / "surrogate")


def sign(folder):
    """As one who knows the format would: the checksum says what is there now."""
    file = folder / SETTINGS
    settings = json.loads(file.read_text())
    del settings["sha256"]
    file.write_text(json.dumps(settings | {"sha256": _digest(settings, (folder / NUMBERS).read_bytes())}))


def change_settings(folder, **changes):
    file = folder / SETTINGS
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    sign(folder)


def change_numbers(folder, **changes):
    numbers = load_file(folder / NUMBERS) | changes
    save_file({name: values for name, values in numbers.items() if values is not None}, folder / NUMBERS)
    sign(folder)


@pytest.mark.parametrize(
    ("spoil", "file", "says"),
    [
        (lambda f: (f / SETTINGS).unlink(), SETTINGS, "missing"),
        (lambda f: (f / NUMBERS).unlink(), NUMBERS, "missing"),
        (lambda f: (f / SETTINGS).write_text("{"), SETTINGS, "cannot be read"),
        (lambda f: (f / SETTINGS).write_text("[1, 2]"), SETTINGS, "cannot be read"),
        (lambda f: (f / SETTINGS).write_text("{}"), SETTINGS, "'format' is missing"),
        (lambda f: (f / SETTINGS).write_bytes(b"\xff\xfe\x00"), SETTINGS, "cannot be read"),
        (lambda f: change_settings(f, format=99), SETTINGS, "format 99, this version reads 1"),
        (lambda f: change_settings(f, gp={"lengthscale_prior": None, "colour": 3}), SETTINGS, "colour"),
        (lambda f: change_settings(f, gp=None), SETTINGS, "cannot be read"),
        (lambda f: change_settings(f, mean_r="much"), SETTINGS, "much"),
        (lambda f: (f / NUMBERS).write_bytes(b""), NUMBERS, "cannot be read"),
        (lambda f: (f / NUMBERS).write_bytes((f / NUMBERS).read_bytes()[:-9]), NUMBERS, "cannot be read"),
        (lambda f: (f / NUMBERS).write_bytes(pickle.dumps({"points": 1})), NUMBERS, "cannot be read"),
        (lambda f: (save_file({"weight": np.ones(3)}, f / NUMBERS), sign(f)), NUMBERS, "'scale' is missing"),
        (lambda f: save_file({"weight": np.ones(3)}, f / NUMBERS), NUMBERS, "SHA-256"),
        (lambda f: change_numbers(f, hyperparameters=np.full((N, 3), np.nan)), NUMBERS, "not finite"),
        (lambda f: change_numbers(f, hyperparameters=np.zeros((N, 3))), NUMBERS, "not positive"),
        (lambda f: change_numbers(f, scale=np.array([1.0, -1.0])), NUMBERS, "not positive"),
        (lambda f: change_numbers(f, targets=None), NUMBERS, "'targets' is missing"),
        (lambda f: change_numbers(f, scale=np.ones(5)), NUMBERS, r"scale needs shape \(2,\)"),
        (lambda f: change_numbers(f, least=np.ones(5)), NUMBERS, r"least needs shape \(20,\)"),
        (lambda f: change_numbers(f, n_points=np.full(N, 10**6)), NUMBERS, "does not fit together"),
        (lambda f: change_numbers(f, targets=np.ones(3)), NUMBERS, "does not fit together"),
    ],
)
def test_export_what_cannot_be_read_is_named(folder, spoil, file, says):
    spoil(folder)
    with pytest.raises(InputError, match=says) as caught:
        fs.load_surrogate(folder)
    assert str(folder / file) in str(caught.value)


def test_export_a_file_in_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "surrogate").write_text("")
    with pytest.raises(InputError, match=r"surrogate\.json"):
        fs.load_surrogate(tmp_path / "surrogate")


def test_export_predictions_that_do_not_fit_are_refused(folder):
    loaded = fs.load_surrogate(folder)
    with pytest.raises(InputError, match=r"\(2, 2\), got \(2, 1\)"):
        loaded.regret(torch.ones(2, 1), [0, 1])
    with pytest.raises(InputError, match=r"0\.\.19"):
        loaded(torch.ones(1, 2), [N])
