import sqlite3
import stat

import pytest

from fewsolves._internal.platform import POSIX
from fewsolves.errors import LedgerError
from fewsolves.ledger.sqlite.file import INSERT, LEDGER_FILE, MAX_ROW_NUMBER, DamagedError, LedgerFile
from fewsolves.ledger.sqlite.migrate import VERSION
from fewsolves.ledger.sqlite.rows import Call, checksum

pytestmark = pytest.mark.portable


def call(seq, **columns):
    return Call(seq, 1, "cost", "online", seq % 7, 0, bytes(16), "ok", value=float(seq))._replace(**columns)


def put(file, *calls):
    file.change(INSERT, [(*one, checksum(one)) for one in calls])


@pytest.fixture
def file(tmp_path):
    file = LedgerFile(tmp_path / LEDGER_FILE, write=True)
    yield file
    file.close()


def test_file_is_the_users_alone_with_a_log_that_is_synced(file):
    if POSIX:
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert file.query("PRAGMA journal_mode") == [("wal",)]
    assert file.query("PRAGMA synchronous") == [(2,)], "FULL"
    assert file.query("PRAGMA user_version") == [(VERSION,)]


def test_file_rows_come_back_one_by_one_and_together(file):
    calls = [call(seq) for seq in (1, 2, 5)]
    put(file, *calls)
    assert file.fetch(2) == calls[1]
    assert file.fetch(3) is None
    assert file.fetch_all([1, 3, 5]) == {1: calls[0], 5: calls[2]}
    assert list(file.calls()) == calls
    assert list(file.scan("seq, row", "row > 1")) == [(2, 2), (5, 5)]
    assert file.last() == 5


def test_file_a_row_with_a_wrong_checksum_is_none(file):
    put(file, call(1), call(2))
    file.change("UPDATE calls SET value = ? WHERE seq = ?", [(7.0, 1)])
    assert file.fetch(1) is None
    assert file.fetch_all([1, 2]) == {2: call(2)}
    assert list(file.calls()) == [None, call(2)]


def test_file_scans_beyond_one_batch_in_order(file):
    calls = [call(seq) for seq in range(1, 5000)]
    put(file, *calls)
    assert [seq for (seq,) in file.scan("seq")] == list(range(1, 5000))
    assert len(file.fetch_all(range(1, 5000))) == 4999


def test_file_a_transaction_is_all_or_nothing(file):
    with pytest.raises(RuntimeError), file.transaction() as connection:
        connection.execute("INSERT INTO meta VALUES ('a', 'b')")
        raise RuntimeError
    assert file.query("SELECT * FROM meta WHERE name = 'a'") == []
    with pytest.raises(sqlite3.IntegrityError):
        put(file, call(1), call(1))
    assert file.last() == 0


def test_file_to_read_must_be_there_and_is_not_written_to(tmp_path):
    with pytest.raises(LedgerError, match="there is no ledger in"):
        LedgerFile(tmp_path / LEDGER_FILE, write=False)
    assert not (tmp_path / LEDGER_FILE).exists()
    LedgerFile(tmp_path / LEDGER_FILE, write=True).close()
    reader = LedgerFile(tmp_path / LEDGER_FILE, write=False)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        put(reader, call(1))
    reader.close()


def test_file_that_is_empty_text_or_of_another_program_is_refused(tmp_path):
    (tmp_path / "empty").touch()
    with pytest.raises(LedgerError, match="nothing is in it yet"):
        LedgerFile(tmp_path / "empty", write=False)
    (tmp_path / "text").write_text("no database at all" * 100)
    with pytest.raises(LedgerError, match="cannot be used"):
        LedgerFile(tmp_path / "text", write=True)
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE theirs (a)")
    other.close()
    with pytest.raises(LedgerError, match="database of another program"):
        LedgerFile(tmp_path / "other", write=True)


def test_file_of_a_later_version_is_refused(file):
    file.connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(LedgerError, match="version"):
        LedgerFile(file.path, write=False)


def test_file_a_question_that_cannot_be_answered_says_how_to_see_what_is_whole(file):
    with pytest.raises(DamagedError, match="fewsolves ledger verify"):
        file.query("SELECT nothing FROM calls")
    with pytest.raises(DamagedError):
        file.query("SELECT ?", 2**70)


def test_file_a_number_that_no_run_writes_is_refused(file):
    put(file, call(MAX_ROW_NUMBER + 1))
    with pytest.raises(LedgerError, match="which no run writes"):
        file.last()


def test_file_with_a_schema_that_is_no_text_is_refused(file):
    file.close()
    whole = file.path.read_bytes()
    file.path.write_bytes(whole.replace(b"CREATE TABLE calls", b"CREATE \xf0\x1b[31m\xf0 calls"))
    for write in (False, True):
        with pytest.raises(LedgerError, match=r"ledger\.sqlite cannot be used: ") as caught:
            LedgerFile(file.path, write=write)
        assert "\x1b" not in str(caught.value)


def closed_with_a_zeroed_page(file, number):
    """The same ledger, to read, with one page of zeros; `number` counts from 1 as SQLite does."""
    file.close()
    size = 4096
    content = bytearray(file.path.read_bytes())
    content[(number - 1) * size : number * size] = bytes(size)
    file.path.write_bytes(content)
    return LedgerFile(file.path, write=False)


def root_page(file):
    return file.query("SELECT rootpage FROM sqlite_master WHERE name = 'calls'")[0][0]


def test_file_behind_a_damaged_page_every_other_row_is_found(file):
    put(file, *(call(seq) for seq in range(1, 3000)))
    reader = closed_with_a_zeroed_page(file, root_page(file) + 9)
    found = [seq for (seq,) in reader.scan("seq")]
    reader.close()
    missing = sorted(set(range(1, 3000)) - set(found))
    assert found == sorted(found)
    assert 10 < len(missing) < 80
    assert missing == list(range(missing[0], missing[-1] + 1)), "the rows of one page"


def test_file_where_no_row_can_be_reached_few_are_tried(file, monkeypatch):
    put(file, *(call(seq) for seq in range(1, 3000)))
    reader = closed_with_a_zeroed_page(file, root_page(file))
    tried, query = [], LedgerFile.query
    monkeypatch.setattr(LedgerFile, "query", lambda *given: tried.append(given) or query(*given))
    assert list(reader.scan("seq")) == []
    reader.close()
    assert len(tried) < 150, "not as many as the file could hold"
