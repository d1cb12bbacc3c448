"""Ledgers of every released version open without loss: those in `written_by` were made by the code of their time."""

import importlib.util
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import fewsolves as fs
from fewsolves.cli import main
from fewsolves.errors import LedgerError
from fewsolves.ledger.decision import pack_decision
from fewsolves.ledger.identity import fingerprint, source
from fewsolves.ledger.keys import cost_key
from fewsolves.ledger.ledger import Ledger, open_ledger
from fewsolves.ledger.reading import evaluations, verify
from fewsolves.ledger.sqlite.file import LEDGER_FILE, LedgerFile
from fewsolves.ledger.sqlite.migrate import VERSION
from fewsolves.ledger.sqlite.rows import decision_of
from fewsolves.oracle import Oracle
from fewsolves_studies.benchmarks.catalogue import load

WRITTEN_BY = Path(__file__).parents[1] / "written_by"
pytestmark = pytest.mark.usefixtures("no_second_look")
FIRST = WRITTEN_BY / "0.1.0-e118d38"
FOLDERS = ["finished", "interrupted"]


def loaded(path):
    spec = importlib.util.spec_from_file_location("make", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = loaded(FIRST / "make.py")


@pytest.fixture
def old(tmp_path):
    shutil.copytree(FIRST, tmp_path / "old")
    return tmp_path / "old"


def raw(folder, how="mode=rw"):
    """All rows, by plain SQLite; and the version."""
    connection = sqlite3.connect(f"file:{folder / LEDGER_FILE}?{how}", uri=True)
    connection.row_factory = sqlite3.Row
    rows = [dict(row) for row in connection.execute("SELECT * FROM calls ORDER BY seq")]
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return rows, version


def as_written(name):
    """The rows of the file itself, which nothing may touch."""
    return raw(FIRST / name, "immutable=1")[0]


def opened(folder):
    """Opened for writing and closed again."""
    LedgerFile(folder / LEDGER_FILE, write=True).close()


def calls_of(which, folder):
    """The model of a run, and how often it called the user's functions."""
    make.CALLS.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make.model(which, folder).set_params(validation=0.1).fit(*make.table())  # what was the default then
    return model, {kind: make.CALLS.count(kind) for kind in ("solve", "cost")}


@pytest.mark.parametrize("name", FOLDERS)
def test_migrate_nothing_is_lost_and_only_keys_change(old, name):
    before, version = raw(old / name)
    opened(old / name)
    after, now = raw(old / name)
    assert (version, now) == (1, VERSION)
    assert [row["seq"] for row in before] == [row["seq"] for row in after]
    for one, other in zip(before, after, strict=True):
        changed = {column for column in one if one[column] != other[column]}
        assert changed <= {"key", "decision_key", "status", "checksum"}
        assert "status" not in changed or (one["status"], other["status"]) == ("known", "reused")
    file = LedgerFile(old / name / LEDGER_FILE, write=False)
    found = verify(file)
    assert (found.rows, found.damaged, found.fault) == (len(before), [], None)
    file.close()


@pytest.mark.parametrize("name", FOLDERS)
def test_migrate_every_row_has_the_keys_that_are_written_today(old, name):
    opened(old / name)
    file = LedgerFile(old / name / LEDGER_FILE, write=False)
    calls = {call.seq: call for call in file.calls()}
    decisions = {}
    for call in calls.values():
        if call.kind == "solve" and call.status == "ok":
            packed = decision_of(call)
            assert packed == pack_decision(packed.array())
            decisions[call.decision_key] = packed
    for call in calls.values():
        if call.kind == "cost" and call.status != "reused":
            assert call.decision_key in decisions
            assert call.key == cost_key(call.decision_key, call.row)
        if call.status == "reused":
            assert call.key == calls[call.of].key
    file.close()


def test_migrate_a_finished_run_is_there_at_once(old):
    facts = json.loads(json.loads((old / "finished/fit.json").read_text())["content"])
    model, calls = calls_of(("finished", "sfge"), old / "finished")
    assert calls == {"solve": 0, "cost": 0}
    assert model.calls_.counts == facts["calls"]["counts"]
    assert model.stopped_ == facts["stopped"]


def test_migrate_a_run_is_replayed_without_a_solve(old):
    """Of the first run in the folder no result is left, only what it paid."""
    model, calls = calls_of(("finished", "gp-surrogate"), old / "finished")
    assert calls == {"solve": 0, "cost": 0}
    paid = [row for row in as_written("finished") if row["run"] == 1 and row["kind"] == "solve"]
    assert sum(model.calls_.counts["solve"].values()) == len(paid) == model.calls_.replayed["solve"]


@pytest.mark.parametrize("checkpoints", [True, False])
def test_migrate_an_interrupted_run_goes_on_and_pays_only_for_the_rest(old, checkpoints, tmp_path, monkeypatch):
    resumed, original = [], Ledger.go_on_from
    monkeypatch.setattr(
        Ledger, "go_on_from", lambda self, last, *more: (resumed.append(last), original(self, last, *more))
    )
    if not checkpoints:
        for file in (old / "interrupted").glob("checkpoint-*"):
            file.unlink()
    whole, needed = calls_of(("interrupted", "sfge"), tmp_path / "whole")
    model, calls = calls_of(("interrupted", "sfge"), old / "interrupted")
    recorded = {kind: sum(row["kind"] == kind for row in as_written("interrupted")) for kind in needed}
    assert min(recorded.values()) > 80
    assert len(resumed) == checkpoints
    assert calls == {kind: needed[kind] - recorded[kind] for kind in needed}
    assert model.calls_.counts == whole.calls_.counts
    assert np.allclose(model.predict(make.table()[0]), whole.predict(make.table()[0]))
    after, _ = raw(old / "interrupted")
    assert len(after) == sum(needed.values()), "nothing is there twice"


@pytest.mark.parametrize("name", FOLDERS)
def test_migrate_commands_that_only_read_leave_an_old_ledger_as_it_is(old, name):
    folder = old / name
    content = (folder / LEDGER_FILE).read_bytes()
    shown = {}
    for turn in ("old", "new"):
        outputs = []
        for command in (["show"], ["verify"], ["export"]):
            done = CliRunner().invoke(main, ["ledger", *command, str(folder)])
            assert done.exit_code == 0, done.output
            outputs.append(done.output)
        shown[turn] = outputs
        if turn == "old":
            assert (folder / LEDGER_FILE).read_bytes() == content
            opened(folder)
    assert shown["old"] == shown["new"]
    assert "rows, all intact" in shown["old"][1]


def test_migrate_history_goes_into_an_old_ledger(old):
    Y = make.table()[1]
    history = old / "history.npz"
    np.savez(history, row=np.arange(24), y_hat=Y + 0.25, decision=np.rint(Y).astype(int), cost=np.ones(24))
    done = CliRunner().invoke(main, ["ledger", "import", str(old / "finished"), str(history)])
    assert (done.exit_code, done.output) == (0, "24 new evaluations\n"), done.output


def test_migrate_what_was_recorded_is_still_what_others_learn_from(old):
    Y = make.table()[1]
    file = LedgerFile(old / "interrupted" / LEDGER_FILE, write=False)
    paired = [one for one in evaluations(file) if one.status == "ok" and one.cost is not None]
    failed = [one for one in evaluations(file) if one.status != "ok"]
    file.close()
    assert len(failed) == 3
    assert len(paired) >= 63
    for one in paired:
        y = Y[one.example].reshape(2, 3)
        assert one.decision.shape == (2, 3)
        assert one.cost == float(np.sum(one.decision + 9.0 * np.maximum(y - one.decision, 0.0)))


KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
from fewsolves.ledger.sqlite import migrate
from fewsolves.ledger.sqlite.file import LedgerFile
left, original = [int(sys.argv[2])], migrate.checksum
def checksum(call):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return original(call)
migrate.checksum = checksum
LedgerFile(Path(sys.argv[1]), write=True)
"""


@pytest.mark.parametrize("at", [1, 30, 90])
def test_migrate_a_kill_in_the_middle_leaves_the_old_ledger(old, at):
    folder = old / "interrupted"
    before, _ = raw(folder)
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder / LEDGER_FILE), str(at)], capture_output=True, timeout=120
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert raw(folder) == (before, 1)
    opened(folder)
    assert raw(folder)[1] == VERSION


STRACE = shutil.which("strace")
OPENED = "import sys; from pathlib import Path; from fewsolves.ledger.sqlite.file import LedgerFile\n"
OPENED += "LedgerFile(Path(sys.argv[1]), write=True).close()"


@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
@pytest.mark.parametrize("fault", ["pwrite64:signal=SIGKILL", "fdatasync:signal=SIGKILL", "pwrite64:error=ENOSPC"])
def test_migrate_a_kill_or_a_full_disk_at_a_write_leaves_the_old_ledger_or_the_new(old, fault, tmp_path):
    """At writes here and there, until one comes too late to strike."""
    expected = {1: raw(old / "interrupted")[0]}
    shutil.copytree(old / "interrupted", tmp_path / "new")
    opened(tmp_path / "new")
    expected[VERSION] = raw(tmp_path / "new")[0]
    struck, step = [], 1 if "fdatasync" in fault else 9
    for number in range(1, 200, step):
        folder = tmp_path / str(number)
        shutil.copytree(old / "interrupted", folder)
        log = tmp_path / "strace"
        call = fault.partition(":")[0]
        traced = [STRACE, "-f", "-qq", "-o", str(log), "-e", f"trace={call}", "-e", f"inject={fault}:when={number}+"]
        done = subprocess.run([*traced, sys.executable, "-c", OPENED, str(folder / LEDGER_FILE)], capture_output=True)
        if "INJECTED" not in log.read_text() and done.returncode == 0:
            break
        rows, version = raw(folder)
        assert rows == expected[version]
        struck.append(version)
    assert 1 in struck


@pytest.mark.filterwarnings("ignore:row .*(is damaged|is invalid)")
def test_migrate_flipped_bits_in_an_old_ledger_are_never_taken_for_an_answer(old, tmp_path):
    """One bit costs some rows, or the ledger is refused; nothing wrong is accepted."""
    rng, opened_well = np.random.default_rng(0), 0
    content = (old / "interrupted" / LEDGER_FILE).read_bytes()
    Y = make.table()[1]
    for place in rng.integers(4096, len(content), size=25):
        folder = tmp_path / "flipped"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        (folder / LEDGER_FILE).write_bytes(flipped)
        try:
            ledger = open_ledger(folder, make.MATRICES, Y, identity="a", adopt=True)
        except LedgerError:
            continue
        opened_well += 1
        oracle = Oracle(make.MATRICES, Y, ledger=ledger)
        usable = np.flatnonzero(Y[:, 1] <= 15.5)
        make.CALLS.clear()
        found = oracle.optimum(usable)
        assert np.array_equal(found, [make.matrix_cost(y, y.reshape(2, 3)) for y in Y[usable]])
        ledger.close()
    assert opened_well > 15


def test_migrate_a_ledger_of_version_1_with_one_content_in_two_shapes(tmp_path):
    """There the cost of a (2, 3) was that of a (3, 2) too; it stays with the solve that it names, or is asked again."""
    shapes = {0: (2, 3), 1: (3, 2), 2: (6,)}
    problem = fs.Problem(
        solve=lambda y: np.zeros(shapes[int(y[0]) % 3]), cost=lambda y, z: float(100 * len(z.shape) + len(z))
    )
    Y = np.array([[0.0], [3.0], [6.0]])
    ledger = open_ledger(tmp_path, problem, Y, identity="a")
    oracle = Oracle(problem, Y, ledger=ledger)
    oracle.regret(np.arange(3), Y + np.array([[0.0], [1.0], [2.0]]), phase="online")
    ledger.close()
    back_to_version_1(tmp_path)
    ledger = open_ledger(tmp_path, problem, Y, identity="b")
    again = Oracle(problem, Y, ledger=ledger)
    assert again.optimum(np.arange(3)).tolist() == [202.0] * 3
    for shift, expected in ((1.0, 203.0), (2.0, 106.0)):
        assert again.regret(np.arange(3), Y + shift, phase="online").tolist() == [expected - 202.0] * 3
    assert again.calls.shared["cost"] == 5, "three labels and two evaluations"
    ledger.close()


def back_to_version_1(folder):
    """The keys and words of version 1 in a ledger of today."""
    from hashlib import blake2b

    from fewsolves.ledger.sqlite.rows import Call, checksum

    file = LedgerFile(folder / LEDGER_FILE, write=True)
    calls = {call.seq: call for call in file.calls()}
    contents = {call.decision_key: call for call in calls.values() if call.kind == "solve" and call.status == "ok"}
    for call in calls.values():
        solve = contents.get(call.decision_key)
        if solve is not None:
            key = blake2b(solve.decision, digest_size=16, person=solve.dtype.encode()).digest()
            call = call._replace(decision_key=key)
            if call.kind == "cost":
                word = call.row.to_bytes(8, "little")
                call = call._replace(key=blake2b(solve.decision + word, digest_size=16).digest())
        file.connection.execute("DELETE FROM calls WHERE seq = ?", (call.seq,))
        columns = ", ".join((*Call._fields, "checksum"))
        marks = ", ".join("?" * (len(call) + 1))
        file.connection.execute(f"INSERT INTO calls ({columns}) VALUES ({marks})", (*call, checksum(call)))
    file.connection.execute("PRAGMA user_version = 1")
    file.close()


def test_migrate_a_column_is_added_in_three_places(old, tmp_path):
    """The row definition, the migration and the use; and the ledger of the first version has it, too."""
    package = tmp_path / "src" / "fewsolves"
    shutil.copytree(Path(fs.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))

    def edit(name, before, after):
        text = (package / "ledger" / "sqlite" / name).read_text()
        assert text.count(before) == 1, (name, before)
        (package / "ledger" / "sqlite" / name).write_text(text.replace(before, after))

    edit("rows.py", "\n\n\n_N_SMALL", "\n    added: str | None = None\n\n\n_N_SMALL")
    edit("migrate.py", "{2: _shapes_in_keys", f"{{{VERSION + 1}: columns_only, 2: _shapes_in_keys")
    edit("rows.py", '"solve": pending.solve, ', '"added": "here", "solve": pending.solve, ')
    done = subprocess.run(
        [sys.executable, "-c", WITH_A_COLUMN, str(old / "finished"), str(FIRST / "make.py")],
        env=os.environ | {"PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(VERSION + 1), "551", "0", "24", "24"]
    with pytest.raises(LedgerError, match=f"format {VERSION + 1}, .* reads up to {VERSION}: a newer one wrote it"):
        opened(old / "finished")


WITH_A_COLUMN = """
import importlib.util, sys
from pathlib import Path
import numpy as np
from fewsolves.ledger.sqlite.file import LEDGER_FILE, LedgerFile
from fewsolves.ledger.ledger import Ledger, open_ledger
from fewsolves.ledger.sqlite.migrate import VERSION
from fewsolves.ledger.reading import verify
from fewsolves.oracle import Oracle
spec = importlib.util.spec_from_file_location("make", sys.argv[2])
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)
folder, Y = Path(sys.argv[1]), make.table()[1]
ledger = open_ledger(folder, make.NEWSVENDOR, Y, identity="new")
before = ledger.last
Oracle(make.NEWSVENDOR, Y, ledger=ledger).solve(np.arange(24), Y + 0.125, phase="online")
ledger.close()
file = LedgerFile(folder / LEDGER_FILE, write=False)
new = [call for call in file.calls() if call.added == "here"]
print(VERSION, before, len(verify(file).damaged), len(new), make.CALLS.count("solve"))
"""


@pytest.mark.parametrize("name", ["kp-weights", "kp-values", "kp-capacity", "wsmc-10-50", "toy-64"])
@pytest.mark.parametrize("how", ["source", "installed"])
def test_migrate_benchmarks_have_the_fingerprints_that_ledgers_know(name, how, monkeypatch):
    """A change here refuses the ledgers that people have of these benchmarks, wherever their code has moved."""
    known = json.loads((FIRST / "fingerprints.json").read_text())[how][name]
    if how == "installed":
        monkeypatch.setattr(source, "LIBRARY_FOLDERS", {"fewsolves", "fewsolves_studies", "site-packages"})
    monkeypatch.setattr(source, "_SEEN", {})  # another process would have read them where they are
    problem = load(name, 0, n=10).problem
    assert {part: fingerprint.digest_of(getattr(problem, part)) for part in known} == known
