"""Functions and arguments that no test had before a second red team: each ends in an error of ours, or does no harm."""

import asyncio
import contextlib
import io
import os
import sys
import time
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, RegressorMixin

import fewsolves as fs
from fewsolves.errors import LedgerError
from fewsolves.ledger.reading import open_to_read
from problems_of_users import QUICK

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
Y = 10 + X @ rng.normal(size=(2, 2)) + rng.gamma(1.0, 1.0, size=(30, 2))
OPEN_FILES = Path("/proc/self/fd")
TRAINED = QUICK | {"max_epochs": 3, "start_epochs": 3, "guard": -1e9}  # the result is what was trained


class OddError(BaseException):
    pass


def cost(y, z):
    return float(np.sum(np.asarray(z) + 9 * np.maximum(y - np.asarray(z), 0)))


def newsvendor(**given):
    return fs.Problem(**({"solve": np.ceil, "cost": cost} | given))


def fitted(problem=None, X=X, Y=Y, **options):
    known = {"method": "sfge", "predictor": "linear", "settings": TRAINED, "verbose": False} | options
    if known["method"] == "pfl":
        known["settings"] = {}
    return fs.DecisionRegressor(problem or newsvendor(), **known).fit(X, Y)


# functions of the problem


class Lying(list):
    def __iter__(self):
        return iter([1.0])


class Unlisted(list):
    def __iter__(self):
        raise RuntimeError("no")


class Unsized(list):
    def __len__(self):
        raise RuntimeError("no")


class Endless(list):
    def __iter__(self):
        while True:
            yield 1.0


BATCHES = {
    "a dict by row": lambda Y: dict(enumerate(np.ceil(Y))),
    "a dict by decision": lambda Y: {k + 1: np.ceil(y) for k, y in enumerate(Y)},
    "a set": lambda Y: set(range(len(Y))),
    "a frame": lambda Y: pytest.importorskip("pandas").DataFrame(np.ceil(Y)),
    "a text": lambda Y: "x" * len(Y),
    "bytes": lambda Y: b"x" * len(Y),
    "a single number": lambda Y: np.array(3.0),
    "a single tensor": lambda Y: torch.tensor(3.0),
    "a generator": lambda Y: (y for y in Y),
    "one too few": lambda Y: list(np.ceil(Y))[1:],
    "a list of another length": lambda Y: Lying(np.ceil(Y)),
    "a list that cannot be read": lambda Y: Unlisted(np.ceil(Y)),
    "a list without a length": lambda Y: Unsized(np.ceil(Y)),
    "a list without an end": lambda Y: Endless(np.ceil(Y)),
}


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("kind", ["solve_batch", "cost_batch"])
def test_hostile_users_a_batch_must_be_in_the_order_of_its_rows(kind, name):
    given = (lambda Y, *_: BATCHES[name](Y)) if kind == "cost_batch" else BATCHES[name]
    with pytest.raises(fs.SolverError, match=rf"`{kind}` must return one value per row: \d+ rows, got .*list or array"):
        fitted(newsvendor(**{kind: given, kind.removesuffix("_batch"): None}))


def test_hostile_users_a_dict_by_row_is_no_list_of_its_keys():
    """Its keys were taken for the decisions: no error, and a regret of 0."""
    problem = newsvendor(solve=None, solve_batch=lambda Y: dict(enumerate(np.ceil(Y))))
    with pytest.raises(fs.SolverError, match="got dict"):
        fitted(problem)


@pytest.mark.parametrize("raised", [OddError("odd"), GeneratorExit("odd"), asyncio.CancelledError("odd")])
@pytest.mark.parametrize("kind", ["solve", "cost"])
def test_hostile_users_what_is_no_exception_is_an_error_of_the_solver(kind, raised, tmp_path):
    def failing(*given):
        if given[0][0] > 12:
            raise raised
        return np.ceil(given[0]) if kind == "solve" else cost(*given)

    with pytest.raises(fs.SolverError, match=rf"`{kind}` raised {type(raised).__name__} at row \d+: odd"):
        fitted(newsvendor(**{kind: failing}), folder=tmp_path / "run")


def test_hostile_users_what_is_no_exception_costs_one_row_where_failures_are_skipped():
    def solve(y):
        if y[0] == Y[3, 0]:
            raise OddError("odd")
        return np.ceil(y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (failure,) = fitted(newsvendor(solve=solve), on_failure="skip").failures_
    assert (failure.row, "OddError" in failure.message) == (3, True)


def test_hostile_users_what_is_no_exception_costs_one_known_decision():
    def priced(y, z):
        if z[0] > 12:
            raise OddError
        return cost(y, z)

    execution = fs.execution.serial.Serial(newsvendor(cost=priced))
    found = execution.costs(np.arange(3), Y[:3], [np.full(2, z) for z in (9.0, 99.0, 9.0)], again=lambda n: n)
    assert np.isnan(found).tolist() == [False, True, False]


LARGE = {
    "1e200": lambda y, z: 1e200 * float(z[0]),
    "1e308 and back": lambda y, z: 1e308 if z[0] > 10 else -1e308,
    "beyond float64": lambda y, z: np.longdouble("1e400"),
}


@pytest.mark.parametrize("name", LARGE)
def test_hostile_users_costs_with_differences_that_are_no_numbers_are_refused(name):
    with pytest.raises(
        fs.SolverError, match=r"`cost` returned .* at row 0; count costs in larger units, below 1e\+150"
    ):
        fitted(newsvendor(cost=LARGE[name]))


@pytest.mark.parametrize("costs", [["1.0"], [True], [1e200], np.ma.masked_array([1.0], [True])])
def test_hostile_users_costs_of_known_decisions_are_held_to_the_same_rules(costs):
    execution = fs.execution.serial.Serial(newsvendor(cost=None, cost_batch=lambda Y, Z: costs))
    assert np.isnan(execution.costs(np.arange(1), Y[:1], [Y[0]], again=lambda n: n)).all()


def reused(make):
    """A solver that returns one object each time, changed."""
    held = make()

    def solve(y):
        held["plan"][:] = np.ceil(y).tolist()
        return held

    return solve


def test_hostile_users_decisions_that_change_later_are_refused_by_decide():
    """With `encode`, `decide` returned the last decision for each row."""
    problem = newsvendor(solve=reused(lambda: {"plan": [0, 0]}), cost=lambda y, z: cost(y, z["plan"]), encode=dict)
    model = fitted(problem, method="pfl")
    assert model.decide(X[:1])[0]["plan"]
    with pytest.raises(fs.SolverError, match="changed the decision of row 0 after it had returned it; return a new"):
        model.decide(X[:3])


def test_hostile_users_a_buffer_that_is_used_again_is_copied_by_decide():
    buffer = np.zeros(2)

    def solve(y):
        buffer[:] = np.ceil(y)
        return buffer

    by_buffer = fitted(newsvendor(solve=solve, encode=lambda z: z), method="pfl").decide(X[:3])
    assert np.array_equal(by_buffer, fitted(method="pfl").decide(X[:3]))


def switching(act):
    """A solver that changes what is around it at each call."""

    def solve(y):
        z = np.ceil(y)
        act(y)
        return z

    return solve


HARMLESS = {
    "its input": lambda y: y.fill(-1e9),
    "random numbers": lambda y: (np.random.seed(0), torch.manual_seed(0)),  # noqa: NPY002
    "the environment": lambda y: os.environ.pop("HOME", None),
    "the mask of files": lambda y: os.umask(0o777),
    "the clock": lambda y: setattr(time, "perf_counter", lambda: float("nan")),
    "the display": lambda y: setattr(sys, "stderr", None),
    "the print options": lambda y: np.set_printoptions(precision=1),
    "the recursion limit": lambda y: sys.setrecursionlimit(400),
    "the type of new tensors": lambda y: torch.set_default_dtype(torch.float64),
}


@pytest.fixture
def restored(monkeypatch):
    """What the solvers above change."""
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    monkeypatch.setattr(time, "perf_counter", time.perf_counter)
    monkeypatch.setenv("HOME", os.environ.get("HOME", "/"))
    mask, printing, deepest = os.umask(0o77), np.get_printoptions(), sys.getrecursionlimit()
    os.umask(mask)
    state = np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    yield
    os.umask(mask)
    np.set_printoptions(**printing)
    sys.setrecursionlimit(deepest)
    torch.set_default_dtype(torch.float32)
    np.random.set_state(state[0])  # noqa: NPY002
    torch.set_rng_state(state[1])


@pytest.mark.parametrize("name", HARMLESS)
def test_hostile_users_a_solver_may_change(name, tmp_path, restored):
    one = fitted().predict(X)
    other = fitted(newsvendor(solve=switching(HARMLESS[name])), folder=tmp_path / "run").predict(X)
    assert np.array_equal(one, other)


def test_hostile_users_a_display_with_a_closed_stream_ends_no_fit(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    model = fitted(newsvendor(solve=switching(lambda y: stream.close())), verbose=True)
    assert np.array_equal(model.predict(X), fitted().predict(X))


def test_hostile_users_a_solver_that_closes_the_files_of_the_ledger_gets_an_error_of_ours(tmp_path):
    def close(_):
        for one in OPEN_FILES.iterdir():
            with contextlib.suppress(OSError):
                if one.readlink() == tmp_path / "run" / "ledger.tally":
                    os.close(int(one.name))

    if not OPEN_FILES.is_dir():
        pytest.skip("files that are open are seen on Linux alone")
    model = fitted(newsvendor(solve=switching(close)), folder=tmp_path / "run")
    assert np.array_equal(model.predict(X), fitted().predict(X))


# arguments


class Wrong(RegressorMixin, BaseEstimator):
    def __init__(self, act=None, at="predict"):
        self.act, self.at = act, at

    def fit(self, X, y):
        if self.at == "fit":
            return self.act()
        self.mean_ = np.mean(y, axis=0)
        return self

    def predict(self, X):
        if self.at == "predict":
            return self.act()
        return np.tile(self.mean_, (len(X), 1))


def divide():
    return 1 / 0


def text():
    return "x"


def nothing():
    return None


@pytest.mark.parametrize(
    ("act", "at", "says"),
    [
        (divide, "fit", "the forecaster Wrong cannot fit: ZeroDivisionError: division by zero"),
        (divide, "predict", "the forecaster Wrong cannot predict: ZeroDivisionError"),
        (text, "predict", "the forecaster Wrong cannot predict: ValueError: could not convert"),
        (nothing, "fit", "the forecaster Wrong cannot predict: AttributeError"),
    ],
)
def test_hostile_users_a_forecaster_that_fails_is_named(act, at, says):
    with pytest.raises(fs.InputError, match=says):
        fitted(predictor=Wrong(act, at))


class NoEntries:
    def __len__(self):
        return len(X)

    def __getitem__(self, row):
        raise KeyError(int(row))


class NoLength(NoEntries):
    def __len__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("instances", "says"),
    [
        (NoEntries(), "instances has no entry for row 0 .KeyError: 0.; give a list"),
        (NoLength(), "one entry per row"),
    ],
)
def test_hostile_users_instances_that_cannot_be_read_are_refused(instances, says):
    with pytest.raises(fs.InputError, match=says):
        fitted(fs.Problem(lambda y, one: np.ceil(y), lambda y, z, one: cost(y, z), instances=instances))


def test_hostile_users_groups_of_a_frame_are_no_instances():
    frame = pytest.importorskip("pandas").DataFrame({"a": range(len(X))})
    with pytest.raises(fs.InputError, match="instances has no entry for row 0"):
        fitted(fs.Problem(lambda y, one: np.ceil(y), lambda y, z, one: cost(y, z), instances=frame.groupby("a")))


@pytest.mark.parametrize("folder", [3, b"run", "", ["run"], 2.5])
def test_hostile_users_a_folder_that_is_no_path_is_refused(folder):
    with pytest.raises(fs.InputError, match="folder is the path of a folder or None"):
        fitted(folder=folder)


def test_hostile_users_a_working_directory_that_is_gone_is_refused(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(LedgerError, match="run is relative, and the working directory is gone; give an absolute path"):
        fitted(folder="run")


@pytest.mark.parametrize("adopt", ["no", 1, None])
def test_hostile_users_a_text_is_no_consent_to_adopt(adopt, tmp_path):
    with pytest.raises(fs.InputError, match="adopt is True or False"):
        fitted(folder=tmp_path / "run", adopt=adopt)


@pytest.mark.parametrize("what", ["X", "y", "predict"])
def test_hostile_users_a_table_that_fails_when_it_is_looked_at_is_refused(what):
    table = type("Table", (), {"__array__": lambda *_, **__: 1 / 0})()
    with pytest.raises(fs.InputError, match=r"must be a table of numbers: ZeroDivisionError"):
        if what == "predict":
            fitted(method="pfl").predict(table)
        else:
            fitted(**{"X": table} if what == "X" else {"Y": table})


def test_hostile_users_a_module_without_data_is_refused():
    with pytest.raises(fs.InputError, match="predictor Linear cannot be copied to the CPU"):
        fitted(predictor=torch.nn.Linear(2, 2, device="meta"))


def test_hostile_users_an_object_that_only_looks_like_a_table_is_refused():
    with pytest.raises(fs.InputError, match="X must be a table of numbers"):
        fitted(X=types.SimpleNamespace(shape=(30, 2)))


# files


@pytest.mark.parametrize("end", ["", "-wal", "-journal"])
@pytest.mark.parametrize("use", ["show", "fit"])
def test_hostile_users_a_pipe_in_the_place_of_a_ledger_never_hangs(use, end, tmp_path):
    """SQLite waits for a pipe for ever, and signals do not end that."""
    folder = tmp_path / "run"
    fitted(method="pfl", folder=folder)
    (folder / f"ledger.sqlite{end}").unlink(missing_ok=True)
    os.mkfifo(folder / f"ledger.sqlite{end}")
    with pytest.raises(LedgerError, match=r"is no regular file\. Nothing was paid; give another folder"):
        if use == "show":
            open_to_read(folder)
        else:
            fitted(method="pfl", folder=folder)
