import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

import fewsolves as fs
from fewsolves.oracle import SolveConfig
from problems_of_users import NEWSVENDOR, QUICK, demand_table

X, Y = demand_table(40, 2)


def fitted(problem=NEWSVENDOR, predictor="linear", x=X, y=Y, **options):
    model = fs.DecisionRegressor(problem, method="sfge", predictor=predictor, settings=QUICK, verbose=False, **options)
    return model.fit(x, y)


def rewrite(folder, change):
    """Change what model.json says, as somebody would who also writes a new digest."""
    from fewsolves.fitting.checkpoint import read_pair, write_pair

    weights, facts = read_pair(folder / "model.safetensors", folder / "model.json")
    change(weights, facts)
    write_pair(folder / "model.safetensors", folder / "model.json", weights, facts)


@pytest.mark.parametrize("predictor", ["linear", "network"])
def test_model_a_saved_model_predicts_decides_and_scores_the_same_to_the_last_bit(tmp_path, predictor):
    model = fitted(predictor=predictor)
    loaded = fs.load(model.save(tmp_path / "model"), NEWSVENDOR)
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert np.array_equal(loaded.decide(X[:3]), model.decide(X[:3]))
    assert loaded.score(X, Y) == model.score(X, Y)
    assert loaded.about["method"] == "sfge"
    assert loaded.about["solves"] == model.calls_.total()
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["model.json", "model.safetensors"]


def test_model_what_is_predicted_is_one_dimensional_where_y_was(tmp_path):
    model = fitted(y=Y[:, 0])
    assert fs.load(model.save(tmp_path)).predict(X).shape == (40,)


def test_model_lambdas_and_instances_are_no_hindrance(tmp_path):
    problem = fs.Problem(
        solve=lambda y_hat, most: np.minimum(y_hat, most), cost=lambda y, z, most: NEWSVENDOR.cost(y, z)
    )
    model = fs.DecisionRegressor(problem, method="sfge", predictor="linear", settings=QUICK, verbose=False)
    model.fit(X, Y, instances=[12.0] * 40)
    loaded = fs.load(model.save(tmp_path), problem)
    assert loaded.decide(X[:2], instances=[3.0, 4.0]).max(axis=1).tolist() == [3.0, 4.0]


def test_model_a_predictor_of_ones_own_is_given_again(tmp_path):
    def net():
        return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))

    model = fitted(predictor=net())
    model.save(tmp_path)
    given = net()
    before = given[0].weight.clone()
    loaded = fs.load(tmp_path, NEWSVENDOR, predictor=given)
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert torch.equal(given[0].weight, before), "it is copied"
    with pytest.raises(fs.InputError, match=r"of your own \(torch.nn.modules.container.Sequential\); give one"):
        fs.load(tmp_path, NEWSVENDOR)
    with pytest.raises(fs.InputError, match=r"cannot be read as a model: 'net\."):
        fs.load(tmp_path, NEWSVENDOR, predictor=torch.nn.Linear(4, 2))


def test_model_a_predictor_in_the_users_own_units_keeps_them(tmp_path):
    model = fitted(predictor=fs.Predictor(torch.nn.Linear(4, 2)))
    loaded = fs.load(model.save(tmp_path), predictor=fs.Predictor(torch.nn.Linear(4, 2)))
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_model_a_file_of_an_earlier_version_predicts_as_before(tmp_path):
    """Such files scale modules by column, have no shape, and arrays of one entry for single numbers."""

    def earlier(weights, facts):
        del facts["whole"], facts["shape"]
        for name in ("x_mean", "x_std", "y_mean", "y_std"):
            weights[name] = np.atleast_1d(weights[name])

    scales = fs.Scale.of(X), fs.Scale.of(Y)
    model = fitted(predictor=fs.Predictor(torch.nn.Linear(4, 2), *scales))
    model.save(tmp_path / "scaled")
    rewrite(tmp_path / "scaled", earlier)
    again = fs.load(tmp_path / "scaled", predictor=torch.nn.Linear(4, 2))
    assert np.array_equal(again.predict(X), model.predict(X))
    model = fitted(predictor=fs.Predictor(torch.nn.Linear(4, 2)))
    model.save(tmp_path / "plain")
    rewrite(tmp_path / "plain", earlier)
    again = fs.load(tmp_path / "plain", predictor=fs.Predictor(torch.nn.Linear(4, 2)))
    assert np.array_equal(again.predict(X), model.predict(X))


def test_model_columns_of_a_data_frame_are_found_by_name(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["temp", "dow", "lag", "wind"])
    model = fitted(x=frame)
    loaded = fs.load(model.save(tmp_path))
    other_order = frame.assign(more=1.0)[["more", "wind", "lag", "dow", "temp"]]
    assert np.array_equal(loaded.predict(other_order), model.predict(frame))
    with pytest.raises(fs.InputError, match="X has no column 'dow'; the model was trained on temp, dow, lag, wind"):
        loaded.predict(frame.drop(columns="dow"))


def test_model_wrong_input_is_reported(tmp_path):
    fitted().save(tmp_path)
    loaded = fs.load(tmp_path)
    with pytest.raises(fs.InputError, match="X has 3 columns; the model was trained on 4"):
        loaded.predict(X[:, :3])
    with pytest.raises(fs.InputError, match="NaN at row 1, column 2"):
        loaded.predict(np.where(np.arange(8).reshape(2, 4) == 6, np.nan, 0.0))
    with pytest.raises(fs.InputError, match="loaded without a problem"):
        loaded.decide(X)
    with pytest.raises(fs.InputError, match="must be a Problem"):
        fs.load(tmp_path, NEWSVENDOR.solve)


def test_model_how_solves_run_is_said_when_it_is_loaded(tmp_path):
    fitted().save(tmp_path)
    loaded = fs.load(tmp_path, NEWSVENDOR, solving=SolveConfig(on_failure="penalise", penalty=3.0))
    assert loaded.decide(X[:2]).shape == (2, 2)


def test_model_an_unfitted_model_cannot_be_saved(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        fs.DecisionRegressor(NEWSVENDOR).save(tmp_path)


def test_model_no_room_and_no_model_are_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(fs.InputError, match="the model cannot be saved in"):
        fitted().save(tmp_path / "file")
    with pytest.raises(fs.InputError, match=r"no model in .*: model.json is missing"):
        fs.load(tmp_path)


def test_model_files_that_were_changed_are_refused(tmp_path):
    fitted().save(tmp_path)
    whole = (tmp_path / "model.safetensors").read_bytes()
    for damaged in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), b"", b"\x80\x04N."):
        (tmp_path / "model.safetensors").write_bytes(damaged)
        with pytest.raises(fs.InputError, match="cannot be read as a model"):
            fs.load(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(whole)
    for text in ("", "[]", "{}", json.dumps({"content": "{}"})):
        (tmp_path / "model.json").write_text(text)
        with pytest.raises(fs.InputError, match="cannot be read as a model"):
            fs.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda weights, facts: facts.update(format=2), "has format 2, this version reads 1"),
        (lambda weights, facts: facts.pop("flat"), "'flat'"),
        (lambda weights, facts: weights.pop("y_std"), "'y_std'"),
        (
            lambda weights, facts: weights.update({"net.bias": np.zeros(7)}),
            "net.bias has shape \\(7,\\), expected",
        ),
        (
            lambda weights, facts: weights.update({f"{of}_mean": np.zeros(10**6) for of in "xy"}),
            "x_mean has shape \\(1000000,\\)",
        ),
        (lambda weights, facts: weights.update({"net.bias": np.full(2, np.nan)}), "net.bias has numbers that are not"),
        (lambda weights, facts: facts.update(predictor="__import__"), "predictor of your own"),
        (lambda weights, facts: weights.update({"net.bias": np.zeros(2, dtype=np.int64)}), "net.bias .* type int64"),
        (
            lambda weights, facts: weights.update({"net.bias": np.zeros(2, dtype=np.float16)}),
            "net.bias .* type float16",
        ),
        (lambda weights, facts: weights.update(x_mean=np.zeros(4, dtype=np.int64)), "x_mean .* type int64, expected"),
        (lambda weights, facts: weights.update(y_std=np.ones(2, dtype=bool)), "y_std .* type bool, expected float64"),
        (lambda weights, facts: weights.update({"net.bias": np.full(2, 1e308)}), "net.bias has numbers beyond"),
        (lambda weights, facts: weights.update(y_std=np.full(2, 1e308)), "y_std has numbers beyond"),
        (lambda weights, facts: facts.update(targets=["a", "b", "c"]), "targets has 3 names, .* predicts 2 numbers"),
        (lambda weights, facts: facts.update(targets="ab"), "targets is 'ab', expected a list of names"),
        (lambda weights, facts: facts.update(targets=[1, 2]), "expected a list of names"),
        (lambda weights, facts: facts.update(shape=[float("inf")]), r"shape is \[inf\], expected the sizes"),
        (lambda weights, facts: facts.update(shape=[10**6, 10**6]), "shape is .* expected the sizes of a row"),
        (lambda weights, facts: facts.update(bounds=[[10**400], [1]]), "int too large"),
        (lambda weights, facts: facts.update(shape="44"), "shape is '44', expected"),
        (lambda weights, facts: facts.update(columns=["a"]), "columns has 1 names, the model takes 4 numbers"),
    ],
)
def test_model_files_that_say_something_else_are_refused(change, says, tmp_path):
    fitted().save(tmp_path)
    rewrite(tmp_path, change)
    with pytest.raises(fs.InputError, match=says):
        fs.load(tmp_path, NEWSVENDOR)


@pytest.mark.parametrize("folder", [None, 3, ["model"], b"model"])
def test_model_what_is_no_path_is_refused(folder):
    with pytest.raises(fs.InputError, match="folder must be a path"):
        fs.load(folder, NEWSVENDOR)


def test_model_predictions_that_are_not_finite_are_refused_by_row(tmp_path):
    fitted(predictor="network").save(tmp_path)

    def large(weights, facts):
        for name in weights:
            if name.startswith("net."):
                weights[name] = np.full_like(weights[name], 1e120)

    rewrite(tmp_path, large)
    with pytest.raises(fs.InputError, match=r"the model predicts .* for row 0: check X, and the weights"):
        fs.load(tmp_path, NEWSVENDOR).predict(X)


def test_model_a_module_has_numbers_of_its_own_type(tmp_path):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 2)
            self.register_buffer("seen", torch.tensor(3))  # a whole number, as a BatchNorm has

        def forward(self, x):
            return self.layer(x)

    fs.DecisionRegressor(NEWSVENDOR, method="pfl", predictor=Net(), verbose=False).fit(X, Y).save(tmp_path)
    assert fs.load(tmp_path, predictor=Net()).predict(X).shape == (40, 2)
    rewrite(tmp_path, lambda weights, facts: weights.update({"net.seen": np.array(3.5)}))
    with pytest.raises(fs.InputError, match=r"net.seen has numbers of type float64, expected int64"):
        fs.load(tmp_path, predictor=Net())


def test_model_a_file_of_facts_that_is_too_large_is_not_read(tmp_path):
    fitted().save(tmp_path)
    (tmp_path / "model.json").write_bytes(b" " * (17 << 20))
    with pytest.raises(fs.InputError, match="at most 16,777,216 are read"):
        fs.load(tmp_path)


def test_model_a_loaded_model_needs_neither_numba_nor_scikit_learn(tmp_path):
    fitted().save(tmp_path)
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys; sys.modules['numba'] = sys.modules['sklearn'] = sys.modules['scipy'] = None\n"
        "import numpy as np, fewsolves as fs\n"
        f"print(fs.load({str(tmp_path)!r}).predict(np.load({str(tmp_path / 'X.npy')!r})).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "(40, 2)", done.stderr


def test_model_bounds_are_kept(tmp_path):
    problem = fs.Problem(solve=NEWSVENDOR.solve, cost=NEWSVENDOR.cost, lower=0.0, upper=[30.0, np.inf])
    model = fitted(problem, y=np.clip(Y, 0, 30))
    for given in (None, problem):
        loaded = fs.load(model.save(tmp_path), given)
        assert np.array_equal(loaded.predict(10 * X), model.predict(10 * X))


def special(folder, name, kind):
    """A pipe, a device, or a file that says that it is larger than any disk."""
    path = folder / name
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(200 << 30)  # takes no room on the disk


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
@pytest.mark.parametrize("kind", ["pipe", "device", "200 GB"])
def test_model_special_and_endless_files_are_refused_before_they_are_read(name, kind, tmp_path):
    fitted().save(tmp_path)
    special(tmp_path, name, kind)
    with pytest.raises(fs.InputError, match=r"no regular file|bytes"):
        fs.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"x_std": np.ones(5)}, r"x_std \(5,\)"),
        ({"x_std": np.ones((2, 2))}, "one for each column"),
        ({"x_std": np.zeros(4)}, "not above 0"),
        ({"y_std": np.array([1.0, np.nan])}, "not finite"),
        ({"y_std": -np.ones(2)}, "not above 0"),
        ({"flat": True}, "2 outputs"),
    ],
)
def test_model_scales_that_do_not_fit_are_refused(change, says, tmp_path):
    fitted().save(tmp_path)

    def changed(weights, facts):
        (facts if "flat" in change else weights).update(change)

    rewrite(tmp_path, changed)
    with pytest.raises(fs.InputError, match=says):
        fs.load(tmp_path)


def test_model_names_of_columns_bring_no_sequences_to_a_terminal(tmp_path):
    pandas = pytest.importorskip("pandas")
    fitted(x=pandas.DataFrame(X, columns=["a", "\x1b]0;title\x07b", "d", "e"])).save(tmp_path)
    with pytest.raises(fs.InputError) as found:
        fs.load(tmp_path).predict(pandas.DataFrame(X, columns=["a", "c", "d", "e"]))
    assert "\x1b" not in str(found.value)
