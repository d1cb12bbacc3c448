"""Inputs and surroundings that once gave a wrong result, or a traceback without a sentence."""

import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import warnings
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import fewsolves as fs
from fewsolves.cli import main
from fewsolves.errors import FewsolvesError, InputError, LedgerError, SolverError
from fewsolves.execution.base import MAX_DECISION_BYTES, Failure
from fewsolves.execution.processes import Processes
from fewsolves.execution.serial import Serial
from fewsolves.fitting import checkpoint
from fewsolves.ledger.folder_lock import FolderLock
from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.reading import decisions_of_others, evaluations, import_into, open_to_read, paid_by_others, verify
from fewsolves.ledger.sqlite.file import LEDGER_FILE
from fewsolves.oracle import Budget, Oracle
from problems_of_users import NEWSVENDOR, QUICK, demand_table

from .fuzz.mutators import changed_text, sign_ledger

X, Y = demand_table(40)
ROWS = np.arange(3)
TRAINED = QUICK | {"max_epochs": 4, "guard": -1e9}  # the result is what was trained, not the start


def values_of(execution, rows=ROWS):
    found = {}
    try:
        for answers in execution.solve(rows, Y[rows]):
            found |= dict(zip(rows[answers.at].tolist(), answers.values, strict=True))
    finally:
        execution.close()
    return found


def planned(folder, problem=NEWSVENDOR, **options):
    return fs.Plan(
        problem, X, Y, method="sfge", predictor="linear", settings=TRAINED, folder=folder, **options
    )  # fmt: skip


# masked arrays, dates, durations


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (np.ma.masked_greater(np.ones((20, 2)), 0.5), "X is a masked array, with masked entries in row 0; fill them"),
        (np.zeros((20, 2), dtype="M8[D]"), "convert dates and durations to numbers"),
        (np.zeros((20, 2), dtype="m8[s]"), "convert dates and durations to numbers"),
        ([[datetime(2026, 1, 1), 1.0]] * 20, "convert dates and durations to numbers"),
        ([[timedelta(days=1), 1.0]] * 20, "convert dates and durations to numbers"),
        (np.array([[np.timedelta64(1, "D"), 1.0]] * 20, dtype=object), "convert dates and durations to numbers"),
        (np.array([[np.datetime64("2026-01-01"), 1.0]] * 20, dtype=object), "convert dates and durations to numbers"),
    ],
)
def test_odd_inputs_masked_entries_dates_and_durations_are_no_numbers(values, says):
    with pytest.raises(InputError, match=says):
        fs.DecisionRegressor(NEWSVENDOR, method="pfl").fit(values, Y[:20])


def test_odd_inputs_a_masked_array_without_masked_entries_is_an_array():
    table = np.ma.masked_invalid(X)
    fs.DecisionRegressor(NEWSVENDOR, method="pfl", predictor="linear", verbose=False).fit(table, Y)


@pytest.mark.parametrize("masked", [np.ma.masked_greater(np.arange(3.0), 1.0), np.ma.masked])
def test_odd_inputs_masked_decisions_and_costs_are_refused(masked):
    problem = fs.Problem(solve=lambda y: masked, cost=lambda y, z: masked)
    (answers,) = Serial(problem).solve(ROWS[:1], Y[:1])
    assert "masked" in answers.values[0].message
    problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: np.ma.masked)
    (answers,) = Serial(problem).cost(ROWS[:1], Y[:1], [Y[0]])
    assert answers.values[0].status == "bad-return"


# a log that was lost


def interrupted(folder, monkeypatch):
    """A run that crashes after checkpoints, with its log beside the file, as a kill leaves it."""
    monkeypatch.setattr(checkpoint, "SHORTEST", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 1e9)
    code = (
        "import os, sys; sys.path[:0] = sys.argv[2:]\n"
        "from tests.faults.test_odd_inputs import checkpoint, fs, planned\n"
        "checkpoint.SHORTEST, checkpoint.SHARE = 0.0, 1e9\n"
        "def kill(record):\n    if record.stage == 'train' and record.epoch == 3: os._exit(0)\n"
        "fs.fit(planned(sys.argv[1]), callbacks=[kill])"
    )
    tests = Path(__file__).parent.parent
    subprocess.run([sys.executable, "-c", code, str(folder), str(tests), str(tests.parent)], check=True, timeout=100)
    assert (folder / f"{LEDGER_FILE}-wal").stat().st_size > 0


def test_odd_inputs_a_log_that_was_lost_is_noticed_and_what_it_paid_for_stays_spent(tmp_path, monkeypatch):
    interrupted(tmp_path, monkeypatch)
    (tmp_path / f"{LEDGER_FILE}-wal").unlink()
    (tmp_path / f"{LEDGER_FILE}-shm").unlink()
    with (
        pytest.warns(UserWarning, match=r"has lost \d+ rows that were on record: its log .* was removed or cut"),
        pytest.warns(UserWarning, match=r"has lost \d+ rows that were on record when a checkpoint was taken"),
    ):
        done = fs.fit(planned(tmp_path))
    whole = fs.fit(planned(None))
    assert done.oracle.calls.counts == whole.oracle.calls.counts, "counts are those of a whole run"
    assert done.oracle.calls.unanswered["solve"] > 0


KILLED = """
import os, sys
import numpy as np
import fewsolves as fs

left = [int(sys.argv[2])]

def solve(y):
    with open(sys.argv[1] + "/calls", "a") as log:
        log.write(".")
    left[0] -= 1
    if left[0] == 0:
        os._exit(9)
    return np.ceil(y)

X = np.random.default_rng(0).normal(size=(20, 2))
problem = fs.Problem(solve=solve, cost=lambda y, z: float(np.abs(y + 1 - z).sum()), version="one")
folder, budget = sys.argv[1] + "/run", fs.Budget(solves=90)
fitted = fs.fit(fs.Plan(problem, X, X, method="staged", predictor="linear", folder=folder, budget=budget))
print(fitted.oracle.calls.unanswered["solve"])
"""


def used(fitted):
    """What a user may look at."""
    return str(fitted.summary), repr(fitted.oracle.calls), fitted.predictor(X)


@pytest.mark.slow
@pytest.mark.parametrize("files", ["checkpoint-*.json", "fit.json"])
def test_odd_inputs_odd_values_under_right_digests_are_refused_or_do_no_harm(files, tmp_path, monkeypatch):
    """A digest does not stop an attacker, who writes a new one."""
    whole, chance, refused = tmp_path / "whole", random.Random(0), 0
    interrupted(whole, monkeypatch)
    if files == "fit.json":
        fs.fit(planned(whole))
    for _ in range(60):
        folder = tmp_path / "changed"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        for path in folder.glob(files):
            facts = json.loads(path.read_text())
            facts["content"] = changed_text(facts["content"].encode(), chance).decode()
            facts["content_sha256"] = sha256(facts["content"].encode()).hexdigest()
            path.write_text(json.dumps(facts))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                used(fs.fit(planned(folder)))
            except FewsolvesError as error:
                refused += "does not fit this run" in str(error)
    assert 3 < refused < 60


def test_odd_inputs_a_lost_log_is_noticed_where_there_is_no_checkpoint_and_the_budget_holds(tmp_path):
    """The default has none: it is replayed."""

    def started(*more):
        command = [sys.executable, "-c", KILLED, str(tmp_path), *more]
        return subprocess.run(command, capture_output=True, text=True, timeout=200)

    assert started("60").returncode == 9
    for lost in (tmp_path / "run").glob(f"{LEDGER_FILE}-*"):
        lost.unlink()
    done = started("1000")
    assert "rows that were on record: its log" in done.stderr
    assert int(done.stdout) >= 50, "what was paid is spent"
    assert len((tmp_path / "calls").read_text()) <= 90
    assert "lost" not in started("1000").stderr, "it is said once"


def test_odd_inputs_a_result_ahead_of_its_ledger_is_said(tmp_path):
    fs.fit(planned(tmp_path))
    with sqlite3.connect(tmp_path / LEDGER_FILE) as file:
        file.execute("DELETE FROM calls WHERE seq > 20")
    file.close()
    with (
        pytest.warns(UserWarning, match=r"has lost \d+ rows that were on record: its log"),
        pytest.warns(UserWarning, match="has lost .* rows that it had when this run ended"),
    ):
        fs.fit(planned(tmp_path))


# a factory that fails once


def busy_once(place):
    def build():
        with Path(place).open("a") as log:
            log.write(".")
        if len(Path(place).read_text()) == 1:
            raise RuntimeError("licence is busy")
        return lambda y: y, lambda y, z: 0.0

    return fs.Problem(factory=build)


def test_odd_inputs_a_factory_that_fails_once_is_called_again(tmp_path):
    assert len(values_of(Serial(busy_once(tmp_path / "a"), pauses=[0.01]))) == 3
    assert len(values_of(Processes(busy_once(tmp_path / "b"), 1))) == 3, "by the pauses of the worker"


@pytest.mark.parametrize("error", [RuntimeError("no licence"), NameError("a mistake")])
def test_odd_inputs_a_factory_that_always_fails_is_reported(error):
    called = []

    def build():
        called.append(1)
        raise error

    with pytest.raises(type(error)):
        Serial(fs.Problem(factory=build), pauses=[0.0, 0.0]).load()
    assert len(called) == (1 if isinstance(error, NameError) else 3), "a mistake is no busy licence"


# locks


def test_odd_inputs_a_forked_child_of_a_dead_trainer_holds_no_lock(tmp_path):
    code = (
        "import os, sys, time; from pathlib import Path; from fewsolves.ledger.folder_lock import FolderLock\n"
        "lock = FolderLock(Path(sys.argv[1]))\n"
        "if os.fork() == 0:\n    time.sleep(60)\n    os._exit(0)\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60, stdout=subprocess.DEVNULL)
    FolderLock(tmp_path).close()


# ledgers are untrusted


def paid(folder, number=30):
    ledger = open_ledger(folder, NEWSVENDOR, Y, identity="a")
    Oracle(NEWSVENDOR, Y, ledger=ledger).regret(np.arange(number), Y[:number] + 1.0, phase="online")
    ledger.close()


@pytest.mark.parametrize("column", ["seq", "row", "k", "run", "of", "attempt"])
@pytest.mark.parametrize("number", [2**62, -(2**62), 2**63 - 1])
def test_odd_inputs_absurd_numbers_in_a_ledger_hang_no_command(column, number, tmp_path):
    paid(tmp_path)
    with sqlite3.connect(tmp_path / LEDGER_FILE) as file:
        file.execute(f"UPDATE calls SET {column} = ? WHERE seq = 17", (number,))
    file.close()
    began = time.process_time()
    file = open_to_read(tmp_path)
    assert 17 in verify(file).damaged
    file.close()
    assert CliRunner().invoke(main, ["ledger", "show", str(tmp_path)]).exception is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            paid(tmp_path)
        except LedgerError as error:
            assert column == "seq"
            assert "which no run writes" in str(error)
    assert time.process_time() - began < 20.0


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("seconds", one) for one in ("x", None, b"x")),
        *(("shape", one) for one in ("", "[", "[-1]", 3)),
        *(("dtype", one) for one in ("", "O", "(2", "{'a'")),
        *(("y_hat", one) for one in (None, b"123", "x")),
        *(("value", "x"), ("attempt", None), ("row", "x"), ("status", 3)),
    ],
)
def test_odd_inputs_rows_of_the_wrong_form_with_right_checksums_are_left_out(column, value, tmp_path):
    """Checksums stop no attacker, who writes new ones."""
    paid(tmp_path)
    with sqlite3.connect(tmp_path / LEDGER_FILE) as file:
        whole = len(list(evaluations(open_to_read(tmp_path))))
        file.execute(f"UPDATE calls SET {column} = ? WHERE seq > 30", (value,))
        sign_ledger(file)
    file.close()
    assert len(list(evaluations(open_to_read(tmp_path)))) < whole
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paid(tmp_path)
        ledger = open_ledger(tmp_path, NEWSVENDOR, Y, identity="b")
        paid_by_others(ledger), decisions_of_others(ledger), ledger.sample_paid(9, seed=0)
        ledger.close()


@pytest.mark.parametrize("name", ["rows", "n_y"])
def test_odd_inputs_a_description_without_its_sizes_is_refused(name, tmp_path):
    paid(tmp_path)
    with sqlite3.connect(tmp_path / LEDGER_FILE) as file:
        file.execute("UPDATE meta SET value = 'x' WHERE name = ?", (name,))
        sign_ledger(file)
    file.close()
    for use in (
        lambda: open_ledger(tmp_path, NEWSVENDOR, Y, identity="a", adopt=True),
        lambda: import_into(tmp_path, rows=[0], y_hat=Y[:1], decisions=[Y[0]], cost=[1.0]),
    ):
        with pytest.raises(LedgerError, match=r"does not say how many|is the ledger of another problem"):
            use()


@pytest.mark.parametrize("number", [2**63 - 1, 2**63 - 2])
@pytest.mark.parametrize("table", ["runs", "starts"])
def test_odd_inputs_a_run_or_start_with_the_largest_number_is_an_error_of_ours(table, number, tmp_path):
    paid(tmp_path)
    with sqlite3.connect(tmp_path / LEDGER_FILE) as file:
        name = {"runs": "id", "starts": "number"}[table]
        file.execute(f"INSERT INTO {table} ({name}) VALUES (?)", (number,))
    file.close()
    for identity in ("b", "c"):  # the second one may be a number too many
        try:
            ledger = open_ledger(tmp_path, NEWSVENDOR, Y, identity=identity, adopt=True)
            ledger.note_start({})
            ledger.close()
        except LedgerError as error:
            assert "a number that no run writes" in str(error)
            break
    else:
        pytest.fail("no number was too large")


def test_odd_inputs_a_run_without_its_first_row_can_be_adopted(tmp_path):
    paid(tmp_path)
    with sqlite3.connect(tmp_path / LEDGER_FILE) as file:
        file.execute("UPDATE runs SET first = 'x'")
    file.close()
    ledger = open_ledger(tmp_path, NEWSVENDOR, Y, identity="a", adopt=True)
    assert ledger.first == ledger.last + 1
    assert len(paid_by_others(ledger)[0]) == 0
    ledger.close()


@pytest.mark.parametrize(
    ("table", "column"),
    [("runs", "about"), ("runs", "began"), ("runs", "id"), ("meta", "value"), ("calls", "message"), ("calls", "phase")],
)
@pytest.mark.parametrize("value", ["\x1b[31mred\x1b]0;title\x07", "[" * 20_000, "{", b"\xff\x00", 3, None])
def test_odd_inputs_odd_values_in_a_ledger_are_shown_as_text(table, column, value, tmp_path):
    paid(tmp_path)
    with sqlite3.connect(tmp_path / LEDGER_FILE) as file:
        if not (column == "id" and not isinstance(value, int)):
            file.execute(f"UPDATE {table} SET {column} = ?", (value,))
        file.execute("UPDATE calls SET status = 'error'")
    file.close()
    done = CliRunner().invoke(main, ["ledger", "show", str(tmp_path)])
    assert done.exception is None, done.exc_info
    assert "\x1b" not in done.output


def test_odd_inputs_damaged_pages_are_reported_in_a_sentence(tmp_path):
    paid(tmp_path, number=40)
    whole = (tmp_path / LEDGER_FILE).read_bytes()
    commands = (["ledger", "show"], ["ledger", "verify"], ["ledger", "export"])
    for page in range(1, len(whole) // 4096):
        (tmp_path / LEDGER_FILE).write_bytes(whole[: 4096 * page] + os.urandom(4096) + whole[4096 * (page + 1) :])
        for command in commands:
            done = CliRunner().invoke(main, [*command, str(tmp_path)])
            assert done.exception is None or isinstance(done.exception, SystemExit), (page, command, done.exc_info)


# decisions that are too large


@pytest.mark.parametrize("workers", [0, 1])
def test_odd_inputs_a_decision_that_could_not_be_read_back_is_refused_everywhere(workers):
    problem = fs.Problem(solve=lambda y: np.zeros(MAX_DECISION_BYTES // 8 + 1), cost=lambda y, z: 0.0)
    execution = Processes(problem, workers) if workers else Serial(problem)
    (failure,) = values_of(execution, ROWS[:1]).values()
    assert re.search(r"has 67,108,872 bytes; at most 67,108,864 can be taken", failure.message)


# history


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("row,y_hat_0,z_0,cost\n0.7,1,1,1\n", "row 0.7 is not a whole number"),
        ("row,y_hat_0,z_0,cost,cost\n0,1,1,1,2\n", "the column 'cost' is there twice"),
        ("row,y_hat_0,z_0,cost\n0,1,1," + "1" * 200_000 + "\n", "is not a history"),
        ("row,y_hat_0,z_0,cost\n1e400,1,1,1\n", "is no"),
    ],
)
def test_odd_inputs_history_that_makes_no_sense_is_reported(text, says, tmp_path):
    paid(tmp_path)
    (tmp_path / "history.csv").write_text(text)
    done = CliRunner().invoke(main, ["ledger", "import", str(tmp_path), str(tmp_path / "history.csv")])
    assert done.exit_code != 0
    assert says in done.output
    assert isinstance(done.exception, SystemExit)


def test_odd_inputs_an_archive_that_is_none_is_reported(tmp_path):
    paid(tmp_path)
    (tmp_path / "history.npz").write_bytes(b"PK\x03\x04 and nothing")
    done = CliRunner().invoke(main, ["ledger", "import", str(tmp_path), str(tmp_path / "history.npz")])
    assert "is not a history" in done.output


# surroundings


def test_odd_inputs_what_a_solver_says_is_plain_text_in_the_error():
    def solve(y):
        raise ValueError("red \x1b[31malert\x1b[0m\x1b]0;owned\x07 \u202e txt")

    with pytest.raises(SolverError) as caught:
        Oracle(fs.Problem(solve=solve, cost=lambda y, z: 0.0), Y).labels(ROWS)
    assert "red alert" in str(caught.value)
    assert not re.search("[\x00-\x08\x1b\u202e]", str(caught.value))


@pytest.mark.parametrize("kind", ["file", "no permission"])
def test_odd_inputs_a_folder_that_cannot_be_used_beside_a_shared_ledger_is_reported(kind, tmp_path):
    folder = tmp_path / "run"
    if kind == "file":
        folder.write_text("")
    else:
        folder = Path("/proc/run")
    with pytest.raises(LedgerError, match="give another"):
        fs.fit(planned(folder, ledger=tmp_path / "paid"))


def test_odd_inputs_a_path_in_the_search_path_travels_to_workers(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path])
    assert len(values_of(Processes(fs.Problem(solve=lambda y: y, cost=max), 1))) == 3


def test_odd_inputs_a_solver_that_changes_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)

    def solve(y):
        os.chdir(tmp_path / "elsewhere")
        return y

    fs.fit(planned("run", fs.Problem(solve=solve, cost=NEWSVENDOR.cost)))
    assert (tmp_path / "run/fit.json").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_odd_inputs_numbers_of_numpy_are_numbers(tmp_path):
    assert Budget(solves=np.int64(500)) == Budget(solves=500)
    assert repr(Budget(solves=np.int64(500))) == repr(Budget(solves=500))


def test_odd_inputs_too_few_file_handles_are_reported():
    code = (
        "import resource, sys; import numpy as np, fewsolves as fs\n"
        "from fewsolves.execution.processes import Processes\n"
        "used = len(__import__('os').listdir('/proc/self/fd'))\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (used + 6, used + 6))\n"
        "try:\n    list(Processes(fs.Problem(solve=abs, cost=max), 8).solve(np.arange(8), np.zeros((8, 1))))\n"
        "except fs.SolverError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert "no worker process can be started: Too many open files" in done.stdout, done.stderr


def test_odd_inputs_a_failure_is_the_same_wherever_its_words_come_from():
    assert Failure("error", "a \x1b[1mb").message == "a b"


ODD_TABLES = {
    "text": [["a", "b"]] * 30,
    "empty": np.empty((30, 0)),
    "complex": np.ones((30, 2)) + 1j,
    "one dimension": [1.0, 2.0],
    "a number": 3.0,
    "a dict": {"a": 1},
    "a set": {1, 2},
    "a generator": "made below",
    "bytes": b"abc",
    "rows of different lengths": [[1.0, 2.0], [1.0]] * 15,
    "numbers beyond float64": [[10**400, 1]] * 30,
}


@pytest.mark.parametrize("name", ODD_TABLES)
@pytest.mark.parametrize("what", ["X", "y", "sample_weight", "predict"])
def test_odd_inputs_tables_that_are_none_are_reported_by_errors_of_ours(what, name):
    table = (k for k in range(3)) if name == "a generator" else ODD_TABLES[name]
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), 10 + rng.normal(size=(30, 2))
    given = {"X": X, "y": Y} if what == "predict" else {"X": X, "y": Y} | {what: table}
    model = fs.DecisionRegressor(fs.Problem(solve=np.ceil, cost=lambda y, z: float(abs(y - z).sum())), "pfl")
    if what == "predict":
        model.set_params(predictor="linear", verbose=False).fit(**given)
    with pytest.raises(fs.FewsolvesError):
        model.predict(table) if what == "predict" else model.fit(**given)


@pytest.mark.parametrize("labels", [[None] * 30, [object() for _ in range(30)]])
def test_odd_inputs_groups_that_cannot_be_compared_are_reported(labels):
    rng = np.random.default_rng(0)
    model = fs.DecisionRegressor(fs.Problem(solve=np.ceil, cost=lambda y, z: float(abs(y - z).sum())), "pfl")
    with pytest.raises(fs.InputError, match="labels that cannot be compared"):
        model.fit(rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), groups=labels)


@pytest.mark.parametrize("given", [{"groups": [1, [2, 3]] * 15}, {"validation": [[1], [2, 3]]}])
def test_odd_inputs_labels_and_rows_of_different_lengths_are_reported(given):
    rng = np.random.default_rng(0)
    problem = fs.Problem(solve=np.ceil, cost=lambda y, z: float(abs(y - z).sum()))
    model = fs.DecisionRegressor(problem, "pfl", validation=given.get("validation"))
    with pytest.raises(fs.InputError, match=next(iter(given))):
        model.fit(rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), groups=given.get("groups"))


@pytest.mark.parametrize("name", ["a" * 300, "a\0b", "/".join(["a" * 200] * 30), "a\ud800"])
@pytest.mark.parametrize("what", ["folder", "ledger", "remember", "save"])
def test_odd_inputs_names_that_no_folder_has_are_reported(what, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fs.FewsolvesError, match="cannot be"):
        if what == "save":
            fs.DecisionRegressor(NEWSVENDOR, "pfl", predictor="linear", verbose=False).fit(X, Y).save(name)
        elif what == "remember":
            problem = fs.Problem(solve=NEWSVENDOR.solve, cost=NEWSVENDOR.cost, remember=name)
            fs.DecisionRegressor(problem, "pfl", predictor="linear", verbose=False).fit(X, Y)
        else:
            fs.fit(planned(**{"folder": tmp_path / "run"} | {what: name}))


def test_odd_inputs_a_solver_that_switches_gradients_off_does_no_harm():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), 10 + rng.normal(size=(30, 2))

    def solve(y_hat):
        torch.set_grad_enabled(False)
        return np.ceil(y_hat)

    def cost(y, z):
        return float(np.sum(z + 9 * np.maximum(y - z, 0)))

    options = {"method": "sfge", "predictor": "linear", "settings": {"max_epochs": 2, "start_epochs": 5}}
    one, other = (
        fs.DecisionRegressor(fs.Problem(solve=by, cost=cost), verbose=False, **options).fit(X, Y).predict(X)
        for by in (np.ceil, solve)
    )
    assert torch.is_grad_enabled()
    assert np.array_equal(one, other)
