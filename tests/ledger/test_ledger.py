import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import LedgerError, SolverError
from fewsolves.ledger.decision import pack_decision
from fewsolves.ledger.folder_lock import network_file_system
from fewsolves.ledger.ledger import Ledger, open_ledger
from fewsolves.ledger.sqlite.charges import Charges
from fewsolves.ledger.sqlite.file import LEDGER_FILE, LedgerFile
from fewsolves.ledger.sqlite.migrate import VERSION
from fewsolves.ledger.sqlite.rows import Call, PendingCall, checksum, columns_of, short, value_of
from fewsolves.oracle import Oracle, SolveConfig
from problems_of_users import NEWSVENDOR, demand_table, pick, price

_, Y = demand_table(20)
ALL = np.arange(20)


class Counted:
    """A problem that counts its calls."""

    def __init__(self, **more):
        self.solves = self.costs = 0
        self.problem = fs.Problem(solve=self.solve, cost=self.cost, name="counted", **more)

    def solve(self, y_hat):
        self.solves += 1
        return pick(y_hat)

    def cost(self, y, z):
        self.costs += 1
        return price(y, z)


def opened(folder, counted, run="a", **options):
    ledger = open_ledger(Path(folder), counted.problem, Y, identity=run, **options)
    return Oracle(counted.problem, Y, ledger=ledger)


def test_ledger_a_run_that_is_started_again_pays_for_nothing_and_counts_the_same(tmp_path):
    first, second = Counted(), Counted()
    rng = np.random.default_rng(0)
    points = [Y + rng.normal(size=Y.shape) for _ in range(3)]
    results = []
    for counted in (first, second):
        oracle = opened(tmp_path, counted)
        results.append([oracle.regret(ALL, y_hat, phase="online") for y_hat in points])
        results.append(oracle.calls)
        oracle.ledger.close()
    assert first.solves == 20 + 60
    assert second.solves == second.costs == 0
    assert np.array_equal(results[0], results[2])
    assert results[1].counts == results[3].counts
    assert results[1].seconds == pytest.approx(results[3].seconds)
    assert (results[1].replayed["solve"], results[3].replayed["solve"]) == (0, 80)


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (sqlite3.SQLITE_BUSY, r"another program has it open\).*: end that program, then start the same run"),
        (sqlite3.SQLITE_FULL, r"bytes are free there\).*: make room, or check the disk, then start"),
        (sqlite3.SQLITE_CANTOPEN, "raise the limit of open files"),
    ],
)
def test_ledger_that_cannot_be_written_comes_with_advice_for_its_cause(code, advice, tmp_path, monkeypatch):
    def fail(kind, number):
        error = sqlite3.OperationalError("it cannot")
        error.sqlite_errorcode = code
        raise error

    ledger = open_ledger(tmp_path, NEWSVENDOR, demand_table(12)[1], identity="a")
    monkeypatch.setattr(ledger._charges, "begin", fail)
    with pytest.raises(LedgerError, match=advice):
        ledger.charge("solve", 1)
    ledger.close()


def test_ledger_another_run_takes_the_same_points_by_content(tmp_path):
    first, second = Counted(), Counted()
    for name, counted in {"a": first, "b": second}.items():
        oracle = opened(tmp_path, counted, run=name)
        oracle.regret(ALL, Y + 1, phase="pre-training" if name == "a" else "online")
        oracle.ledger.close()
    assert (first.solves, second.solves) == (40, 0)
    assert oracle.calls.counts["solve"]["online"] == 20, "it counts as asked for"
    assert oracle.calls.shared["solve"] == 40
    assert oracle.calls.seconds == 0.0, "and as paid by the other"


def test_ledger_position_forgives_last_bits_and_content_does_not(tmp_path):
    first, second, third = Counted(), Counted(), Counted()
    y_hat = Y + np.random.default_rng(1).normal(size=Y.shape)
    for run, counted, predictions in (
        ("a", first, y_hat),
        ("a", second, y_hat * (1 + 1e-12)),
        ("b", third, y_hat * (1 + 1e-12)),
    ):
        oracle = opened(tmp_path, counted, run=run)
        oracle.regret(ALL, predictions, phase="online")
        oracle.ledger.close()
    assert (first.solves, second.solves, third.solves) == (40, 0, 20)


def test_ledger_a_position_with_another_question_is_paid(tmp_path):
    first, second = Counted(), Counted()
    for counted, shift in ((first, 1.01), (second, 1.02)):
        oracle = opened(tmp_path, counted)
        oracle.regret(ALL, Y * shift, phase="online")
        oracle.ledger.close()
    assert second.solves == 20


def test_ledger_the_probe_asks_the_solver_itself_but_not_twice_in_one_run(tmp_path):
    for run, expected in (("a", 1), ("a", 0), ("b", 1)):
        counted = Counted()
        oracle = opened(tmp_path, counted, run=run)
        oracle.labels(ALL)
        counted.solves = 0
        oracle.solve(ALL[:1], Y[:1], phase="probe", recompute=True)
        oracle.ledger.close()
        assert counted.solves == expected


def test_ledger_a_noisy_solver_is_called_by_every_run_but_not_again_by_the_same(tmp_path):
    solved = []
    for run in ("a", "a", "b"):
        counted = Counted(noisy="both")
        oracle = opened(tmp_path, counted, run=run)
        for _ in range(2):
            oracle.regret(ALL, Y, phase="online")
        oracle.ledger.close()
        solved.append(counted.solves)
    assert solved == [60, 0, 40]


def test_ledger_decisions_come_back_as_they_were(tmp_path):
    kinds = [
        np.arange(3),
        np.array([True, False]),
        np.float32([1.5]),
        np.array(2.0),
        np.zeros((2, 0)),
        np.array([-0.0]),
    ]
    turn = iter(kinds)
    problem = fs.Problem(solve=lambda y: next(turn), cost=lambda y, z: 0.0)
    for again in (False, True):
        ledger = open_ledger(tmp_path, problem, Y, identity="a")
        oracle = Oracle(problem, Y, ledger=ledger)
        for k, (z, expected) in enumerate(zip(oracle.labels(ALL[: len(kinds)]), kinds, strict=True)):
            assert z.dtype == expected.dtype, (again, k)
            assert z.tobytes() == expected.tobytes()
            assert z.shape == expected.shape
        ledger.close()


def test_ledger_failures_are_answers_of_their_run_where_the_policy_takes_them(tmp_path):
    def fails(y_hat):
        called.append(1)
        raise ValueError("no licence \x1b[31m" + "x" * 9000)

    called, problem = [], fs.Problem(solve=fails, cost=lambda y, z: 0.0)
    skip = SolveConfig(on_failure="skip")
    for run, replays, expected in (("a", True, 2), ("a", True, 0), ("a", False, 2), ("b", True, 2)):
        called.clear()
        ledger = open_ledger(tmp_path, problem, Y, identity=run, replays_failures=replays)
        oracle = Oracle(problem, Y, solving=skip, ledger=ledger)
        assert np.isnan(oracle.regret(ALL[:2], Y[:2] + 1, phase="online")).all()
        ledger.close()
        assert len(called) == 2 * expected, "labels and points"
    file = LedgerFile(tmp_path / LEDGER_FILE, write=False)
    (message,) = file.query("SELECT DISTINCT message FROM calls WHERE row = 0")[0]
    file.close()
    assert "no licence" in message
    assert len(message) <= 4096
    assert "\x1b" not in message


def test_ledger_what_landed_before_an_error_is_on_record(tmp_path):
    def third_fails(y_hat):
        called.append(1)
        if len(called) == 3:
            raise ValueError("no licence")
        return y_hat

    called, problem = [], fs.Problem(solve=third_fails, cost=lambda y, z: 0.0)
    for expected in (3, 18):
        ledger = open_ledger(tmp_path, problem, Y, identity="a")
        before = len(called)
        try:
            Oracle(problem, Y, ledger=ledger).labels(ALL)
        except SolverError as error:
            assert error.row == 2
        ledger.close()
        assert len(called) - before == expected


def test_ledger_an_evaluation_is_a_solve_and_a_cost_and_how_it_was_drawn(tmp_path):
    oracle = opened(tmp_path, Counted())
    y_hat = Y + 1
    oracle.regret(ALL, y_hat, phase="online", drawn=(Y, np.full(3, 0.5)))
    oracle.ledger.close()
    file = LedgerFile(tmp_path / LEDGER_FILE, write=False)
    pairs = file.query("SELECT solve, cost, example FROM pairs ORDER BY solve")
    calls = {call.seq: call for call in file.calls()}
    drawn = [(calls[s], calls[c], example) for s, c, example in pairs if calls[s].phase == "online"]
    assert sorted(example for *_, example in drawn) == list(range(20))
    for solve, cost, example in drawn:
        assert np.allclose(np.frombuffer(solve.y_hat), y_hat[example])
        assert np.array_equal(np.frombuffer(solve.centre), Y[example])
        assert np.array_equal(np.frombuffer(solve.sigma), [0.5] * 3)
        assert cost.value == pytest.approx(price(Y[example], value_of(solve).array()))
    file.close()


def test_ledger_a_remembered_cost_still_makes_an_evaluation(tmp_path):
    oracle = opened(tmp_path, Counted())
    oracle.regret(ALL, Y * 1.0001, phase="online")  # the decisions of the labels again: no new cost call
    assert oracle.calls.counts["cost"]["online"] == 0
    oracle.ledger.close()
    file = LedgerFile(tmp_path / LEDGER_FILE, write=False)
    assert len(file.query("SELECT * FROM pairs p JOIN calls c ON c.seq = p.solve WHERE c.phase = 'online'")) == 20
    file.close()


def test_ledger_files_are_private_and_synced(tmp_path):
    folder = tmp_path / "a/run"
    oracle = opened(folder, Counted())
    oracle.labels(ALL)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    connection = oracle.ledger.file.connection
    pragmas = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode")}
    assert pragmas == {"synchronous": 2, "journal_mode": "wal"}
    oracle.ledger.close()


def test_ledger_nothing_is_answered_before_it_is_durable(tmp_path, monkeypatch):
    """Another process sees every row that the oracle has returned."""
    counted = Counted()
    oracle = opened(tmp_path, counted)
    for k in range(1, 6):
        oracle.regret(ALL, Y + k, phase="online")
        file = LedgerFile(tmp_path / LEDGER_FILE, write=False)
        assert file.query("SELECT count(*) FROM calls WHERE kind = 'solve'")[0][0] == 20 + 20 * k
        file.close()
    oracle.ledger.close()


def test_ledger_a_second_process_is_refused_with_the_name_of_the_first(tmp_path):
    oracle = opened(tmp_path, Counted())
    with pytest.raises(LedgerError, match=rf"in use by process {os.getpid()} on .*, started \d{{4}}-"):
        opened(tmp_path, Counted())
    oracle.ledger.close()
    opened(tmp_path, Counted()).ledger.close()


def test_ledger_a_damaged_page_at_the_first_write_of_a_start_raises_one_sentence(tmp_path, monkeypatch):
    opened(tmp_path, Counted()).ledger.close()

    def malformed(*arguments, **options):
        raise sqlite3.DatabaseError("database disk image is malformed")

    with monkeypatch.context() as damaged:
        damaged.setattr(Charges, "missing", lambda self: {"solve": 1})  # as after a kill
        damaged.setattr(LedgerFile, "change", malformed)
        with pytest.raises(LedgerError, match="cannot be used: database disk image is malformed"):
            opened(tmp_path, Counted())
    opened(tmp_path, Counted()).ledger.close()


def test_ledger_a_start_that_fails_as_it_looks_for_losses_lets_others_in(tmp_path):
    opened(tmp_path, Counted()).ledger.close()
    older = (tmp_path / LEDGER_FILE).read_bytes()
    oracle = opened(tmp_path, Counted())
    oracle.regret(ALL, Y + 1, phase="online")
    oracle.ledger.close()
    (tmp_path / LEDGER_FILE).write_bytes(older)
    with pytest.raises(UserWarning, match="has lost 60 rows"):  # a warning, which these tests make an error
        opened(tmp_path, Counted())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened(tmp_path, Counted()).ledger.close()


def test_ledger_the_lock_of_a_dead_process_is_taken_over(tmp_path):
    code = (
        "import os, sys, time; from pathlib import Path; from fewsolves.ledger.folder_lock import FolderLock\n"
        "lock = FolderLock(Path(sys.argv[1])); print('locked', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "locked\n"
    with pytest.raises(LedgerError, match=f"in use by process {holder.pid} "):
        opened(tmp_path, Counted())
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert json.loads((tmp_path / "lock").read_text())["pid"] == holder.pid
    opened(tmp_path, Counted()).ledger.close()


def test_ledger_a_network_file_system_is_refused(tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nserver:/home {tmp_path} nfs4 rw 0 0\n")
    assert network_file_system(tmp_path / "deep/er", mounts) == "nfs4"
    assert network_file_system(Path("/usr"), mounts) is None
    assert network_file_system(Path("/usr"), tmp_path / "missing") is None
    monkeypatch.setattr("fewsolves.ledger.opening.network_file_system", lambda folder: "nfs4")
    with pytest.raises(LedgerError, match=r"network file system \(nfs4\).*local disk"):
        opened(tmp_path / "run", Counted())


def test_ledger_answers_in_the_background_too(tmp_path):
    oracle, errors = opened(tmp_path, Counted()), []

    def ask(k):
        try:
            oracle.ledger.barrier()
            (call,) = oracle.ledger.pending("cost", "online", ALL[:1], [b"k" * 16])
            oracle.ledger.find(call, content=True)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    oracle.regret(ALL, Y + 1, phase="online")
    for thread in threads:
        thread.join()
    oracle.ledger.close()
    assert errors == []


def test_ledger_an_oracle_with_a_closed_ledger_answers_from_memory_and_pays_for_the_rest(tmp_path):
    counted = Counted()
    oracle = opened(tmp_path, counted)
    oracle.regret(ALL, Y + 1, phase="online")
    oracle.ledger.close()
    oracle.regret(ALL, Y + 1, phase="test")
    assert counted.solves == 40
    oracle.regret(ALL, Y + 2, phase="test")
    assert counted.solves == 60


def solved(z):
    """The row of a solve."""
    pending = PendingCall("solve", "online", 3, 4, b"k" * 16)
    return Call(1, 2, *pending.position, pending.key, "ok")._replace(**columns_of(pending, pack_decision(z)))


def test_ledger_every_column_is_under_the_checksum():
    call = solved(np.ones(2))._replace(y_hat=b"y" * 8, sigma=b"s" * 8)
    seen = {checksum(call)}
    for name, value in call._asdict().items():
        other = value + value[:1] if isinstance(value, bytes | str) else (value or 0) + 1
        seen.add(checksum(call._replace(**{name: other})))
    seen.add(checksum(call._replace(y_hat=b"y" * 7, decision=b"y" + call.decision)))
    assert len(seen) == len(call) + 2


@pytest.mark.parametrize(
    "columns",
    [
        {"shape": "[1000000000000]"},
        {"shape": "[-2, -1]"},
        {"shape": "[true, 2]"},
        {"dtype": "|O"},
        {"dtype": "no"},
        {"shape": "{}"},
        {"decision": None},
        {"status": "fine"},
        {"phase": "moon"},
    ],
)
def test_ledger_a_row_that_makes_no_sense_is_no_answer(columns):
    call = solved(np.ones(2))._replace(**columns)
    with pytest.raises((ValueError, TypeError)):
        value_of(call)


def test_ledger_messages_are_short_and_plain():
    assert short("a\x1b[31mb\x00c\nd") == "a?[31mb?c\nd"
    assert len(short("ü" * 5000).encode()) <= 4096


def test_ledger_a_database_of_another_program_is_left_alone(tmp_path):
    with sqlite3.connect(tmp_path / LEDGER_FILE) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    connection.close()
    content = (tmp_path / LEDGER_FILE).read_bytes()
    with pytest.raises(LedgerError, match="database of another program"):
        opened(tmp_path, Counted())
    assert (tmp_path / LEDGER_FILE).read_bytes() == content


def test_ledger_a_later_format_is_refused(tmp_path):
    opened(tmp_path, Counted()).ledger.close()
    connection = sqlite3.connect(tmp_path / LEDGER_FILE)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    refused = f"format 99, and this version of fewsolves reads up to {VERSION}: a newer one wrote it"
    with pytest.raises(LedgerError, match=refused):
        opened(tmp_path, Counted())


def test_ledger_that_does_not_open_leaves_no_lock(tmp_path):
    (tmp_path / LEDGER_FILE).write_bytes(b"not a database at all" * 100)
    for _ in range(2):
        with pytest.raises(LedgerError, match="cannot be used: file is not a database"):
            Ledger(tmp_path, {}, [], 3, identity="a")


def test_ledger_that_is_refused_is_not_left_open(tmp_path, monkeypatch):
    opened(tmp_path, Counted()).ledger.close()
    closed = []
    close = LedgerFile.close
    monkeypatch.setattr(LedgerFile, "close", lambda file: closed.append(file.path) or close(file))
    with pytest.raises(LedgerError, match="another problem"):
        open_ledger(tmp_path, Counted().problem, Y + 1, identity="a")
    assert closed == [tmp_path / LEDGER_FILE]


def test_ledger_without_a_thread_leaves_its_folder_unlocked(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(LedgerError, match="none can be started"):
            open_ledger(tmp_path, NEWSVENDOR, Y, identity="a")
    open_ledger(tmp_path, NEWSVENDOR, Y, identity="a").close()


def no_thread(self):
    raise RuntimeError("can't start new thread")
