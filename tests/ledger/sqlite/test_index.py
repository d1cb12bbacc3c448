import pytest

from fewsolves.ledger.sqlite.file import INSERT, LEDGER_FILE, LedgerFile
from fewsolves.ledger.sqlite.index import MAX_ATTEMPTS, Index
from fewsolves.ledger.sqlite.rows import Call, PendingCall, checksum

pytestmark = pytest.mark.portable


def key(number):
    return number.to_bytes(16, "little")


def call(seq, run=1, kind="solve", phase="online", row=0, k=0, status="ok", **columns):
    return Call(seq, run, kind, phase, row, k, key(seq), status)._replace(**columns)


@pytest.fixture
def index(tmp_path):
    """Makes that of a run over some calls."""
    file = LedgerFile(tmp_path / LEDGER_FILE, write=True)

    def made(*calls, run=1):
        file.change(INSERT, [(*one, checksum(one)) for one in calls])
        return Index(file, run)

    yield made
    file.close()


def at(kind="solve", phase="online", row=0, k=0):
    return PendingCall(kind, phase, row, k, key(0))


def test_index_finds_calls_of_its_run_by_their_position(index):
    found = index(call(1), call(2, k=1), call(3, row=1), call(4, kind="cost"), call(5, phase="test"), call(6, run=2))
    positions = [at(), at(k=1), at(row=1), at(kind="cost"), at(phase="test")]
    assert [found.at_position(one) for one in positions] == [1, 2, 3, 4, 5]
    assert found.at_position(at(k=2)) is None
    assert found.at_position(at(phase="night")) is None
    assert list(found.own) == [1, 2, 3, 4, 5]


def test_index_positions_of_large_rows_do_not_collide(index):
    large = [(row, k) for row in (0, 1, 2**30) for k in (0, 1, 2**30)]
    found = index(*(call(seq, row=row, k=k) for seq, (row, k) in enumerate(large, 1)))
    assert [found.at_position(at(row=row, k=k)) for row, k in large] == list(range(1, len(large) + 1))


def test_index_of_what_was_paid_is_that_of_all_runs_and_of_answers_only(index):
    found = index(
        call(1), call(2, run=2), call(3, status="error"), call(4, status="reused", of=1), call(5, kind="cost")
    )
    assert found.paid == {"solve": {key(1): 1, key(2): 2}, "cost": {key(5): 5}}


def test_index_counts_attempts_of_its_run_but_for_the_test_and_for_what_was_reused(index):
    found = index(
        call(1, attempt=2), call(2, status="crash", attempt=3), call(3, phase="test"), call(4, status="reused"),
        call(5, run=2), call(6, kind="cost", attempt=10**9), call(7, kind="cost", attempt=-5),
    )  # fmt: skip
    assert found.attempts == {"solve": 5, "cost": MAX_ATTEMPTS + 1}


@pytest.mark.parametrize("columns", [{"row": "x"}, {"k": None}, {"kind": "price"}, {"phase": 3}, {"attempt": "many"}])
def test_index_leaves_out_what_is_damaged(index, columns):
    found = index(call(1, **columns), call(2, row=5))
    assert found.at_position(at(row=5)) == 2
    assert found.attempts["solve"] == 1


def test_index_remembers_up_to_a_checkpoint_and_counts_requests(index):
    found = index(call(1), call(2, k=1), call(3, row=1), call(4, run=2))
    assert found.remember(2) == {("solve", "online", 0): 2}
    assert found.remembered["solve"] == {key(1): 1, key(2): 2}


def test_index_counts_attempts_up_to_a_checkpoint(index):
    found = index(call(1, attempt=2), call(2, phase="test"), call(3, run=2), call(4, status="reused"), call(5), call(6))
    assert found.attempts_until(5) == {"solve": 3, "cost": 0}
