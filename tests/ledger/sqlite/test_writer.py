import sqlite3
import threading

import pytest

from fewsolves.errors import LedgerError
from fewsolves.ledger.sqlite.writer import MAX_TRANSACTION_ROWS, Writer

pytestmark = pytest.mark.portable

INSERT = "INSERT INTO t VALUES (?)"


@pytest.fixture
def connection(tmp_path):
    connection = sqlite3.connect(tmp_path / "t.sqlite", isolation_level=None, check_same_thread=False)
    connection.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    yield connection
    connection.close()


def rows_of(connection):
    return [a for (a,) in connection.execute("SELECT a FROM t ORDER BY a")]


def test_writer_has_everything_on_disk_after_a_barrier(connection):
    seen = []
    writer = Writer(connection, threading.Lock(), INSERT, seen.append)
    writer.barrier()  # of nothing
    for first in (0, 10):
        writer.put([(k,) for k in range(first, first + 10)])
        writer.barrier()
        assert rows_of(connection) == list(range(first + 10))
        assert seen[-1] == (first + 9,), "listeners are called before the barrier opens"
    writer.close()


def test_writer_commits_what_is_left_when_it_is_closed(connection):
    seen = []
    writer = Writer(connection, threading.Lock(), INSERT, seen.append)
    n = 2 * MAX_TRANSACTION_ROWS + 1
    writer.put([(k,) for k in range(n)])
    writer.close()
    assert len(rows_of(connection)) == n
    assert len(seen) >= 3, "a transaction has a largest size"


def test_writer_goes_on_while_a_commit_waits_and_shares_the_next_one(connection):
    lock, commits = threading.Lock(), []
    writer = Writer(connection, lock, INSERT, commits.append)
    with lock:
        for k in range(50):
            writer.put([(k,)])
    writer.barrier()
    assert len(rows_of(connection)) == 50
    assert len(commits) <= 2, "one that waited for the lock, and one for all that came meanwhile"
    writer.close()


@pytest.mark.parametrize("bad", [(1,), (2**70,), ("text",)])
def test_writer_ends_with_the_first_error_and_says_so_each_time(connection, bad):
    connection.execute("INSERT INTO t VALUES (1)")
    writer = Writer(connection, threading.Lock(), INSERT, lambda _: None)
    writer.put([bad])
    for _ in range(2):
        with pytest.raises(sqlite3.Error):
            writer.barrier()
        writer.put([(7,)])
    writer.close()
    assert isinstance(writer.error, sqlite3.Error)
    assert 7 not in rows_of(connection), "after an error nothing is written any more"


def test_writer_without_a_thread_is_an_error_of_ours(connection, monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    with pytest.raises(LedgerError, match=r"none can be started \(can't start new thread\).*ulimit"):
        Writer(connection, threading.Lock(), INSERT, print)


def no_thread(self):
    raise RuntimeError("can't start new thread")


def test_writer_that_runs_out_of_memory_keeps_no_barrier_waiting(connection):
    def full(row):
        raise MemoryError

    writer = Writer(connection, threading.Lock(), INSERT, full)
    writer.put([(1,)])
    with pytest.raises(sqlite3.Error, match="MemoryError"):
        writer.barrier()
    writer.close()
