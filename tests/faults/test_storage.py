"""A5 to A9: disks that are full, broken or not writable, and files that were damaged."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import LedgerError
from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.reading import verify
from fewsolves.ledger.sqlite.file import LEDGER_FILE, LedgerFile
from fewsolves.oracle import Oracle
from problems_of_users import demand_table, order, shortage_cost

_, Y = demand_table(30, n_y=40)
ALL = np.arange(len(Y))
PROBLEM = fs.Problem(solve=order, cost=shortage_cost)


def paid(folder, rounds=3, problem=PROBLEM):
    """Pay for some points; the oracle, whose ledger is closed."""
    ledger = open_ledger(Path(folder), problem, Y, identity="a")
    try:
        oracle = Oracle(problem, Y, ledger=ledger)
        for k in range(1, rounds + 1):
            oracle.regret(ALL, Y + k, phase="online")
    finally:
        ledger.close()
    return oracle


def never(*arguments):
    raise AssertionError("the solver was called")


def test_storage_a_folder_that_cannot_be_written_fails_before_the_first_solve(tmp_path):
    problem = fs.Problem(solve=never, cost=never)
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file/below"):
        with pytest.raises(LedgerError, match=f"{place} cannot be used as a folder"):
            paid(place, problem=problem)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / LEDGER_FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LedgerError, match="cannot be used"):
        paid(tmp_path / "link", problem=problem)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="to become somebody else one must be root")
def test_storage_a_folder_without_permission_fails_before_the_first_solve(tmp_path):
    code = (
        "import os, sys; sys.path[:0] = sys.argv[2:]; from test_storage import *\n"
        "os.setuid(65534)\n"
        "try: paid(sys.argv[1], problem=fs.Problem(solve=never, cost=never))\n"
        "except LedgerError as error: print(error)"
    )
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(0o755)
    done = _python(code, closed)
    assert f"{closed} cannot be " in done.stdout, done.stderr
    assert "Permission denied" in done.stdout


def test_storage_a_full_disk_stops_the_run_and_what_was_used_is_there(tmp_path):
    """RLIMIT_FSIZE makes writes fail as a quota does."""
    code = (
        "import resource, signal, sys; sys.path[:0] = sys.argv[2:]; from test_storage import *\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))\n"
        "ledger = open_ledger(Path(sys.argv[1]), PROBLEM, Y, identity='a')\n"
        "oracle, used = Oracle(PROBLEM, Y, ledger=ledger), 0\n"
        "try:\n"
        "    for used in range(100): oracle.regret(ALL, Y + used + 1, phase='online')\n"
        "except LedgerError as error: print(used, error)"
    )
    done = _python(code, tmp_path)
    used = int(done.stdout.split()[0])
    assert 0 < used < 99
    assert f"{tmp_path / LEDGER_FILE} cannot be written" in done.stdout
    assert "bytes are free there" in done.stdout
    assert "start the same run with the same folder again" in done.stdout
    oracle = paid(tmp_path, rounds=used)
    assert oracle.calls.counts["solve"]["online"] == len(Y) * used
    assert oracle.calls.replayed["solve"] == len(Y) * (used + 1), "labels too"


@pytest.fixture
def whole(tmp_path):
    paid(tmp_path / "whole")
    return tmp_path / "whole"


def damaged(whole, tmp_path, harm):
    """A copy of the ledger with some bytes changed; the answers that a run then gets, and how many it paid again."""
    folder = tmp_path / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    content = bytearray((folder / LEDGER_FILE).read_bytes())
    harm(content)
    (folder / LEDGER_FILE).write_bytes(content)
    return folder


def replayed(folder, rounds=3):
    """Answers are right whatever is in the file; (True, number paid again), or (False, why it was refused)."""
    solved = []

    def solve(y_hat):
        solved.append(1)
        return order(y_hat)

    try:
        ledger = open_ledger(folder, fs.Problem(solve=solve, cost=shortage_cost), Y, identity="a", adopt=True)
    except LedgerError as error:
        return False, str(error)
    try:
        oracle = Oracle(PROBLEM, Y, ledger=ledger)
        oracle.account.execution = Oracle(fs.Problem(solve=solve, cost=shortage_cost), Y).account.execution
        for k in range(1, rounds + 1):
            regret = oracle.regret(ALL, Y + k, phase="online")
            assert np.array_equal(regret, [shortage_cost(y, y + k) - shortage_cost(y, y) for y in Y])
    finally:
        ledger.close()
    return True, len(solved)


@pytest.mark.filterwarnings("ignore:row .* is damaged")
def test_storage_flipped_bits_are_never_taken_for_an_answer(whole, tmp_path):
    """A8: one bit costs the rows of at most one page, or the ledger is refused; nothing wrong is accepted."""
    rng = np.random.default_rng(0)
    size, lost = (whole / LEDGER_FILE).stat().st_size, []
    for place in rng.integers(4096, size, size=25):

        def flip(content, place=place):
            content[place] ^= 1 << int(rng.integers(8))

        ok, outcome = replayed(damaged(whole, tmp_path, flip))
        lost.append(outcome if ok else None)
    known = [n for n in lost if n is not None]
    assert len(known) >= 20
    assert sum(n <= 4 for n in known) >= len(known) - 2, lost


@pytest.mark.filterwarnings("ignore:row .* is damaged")
def test_storage_a_zeroed_page_costs_its_rows(whole, tmp_path):
    pages = (whole / LEDGER_FILE).stat().st_size // 4096
    outcomes = []
    for page in (pages // 3, pages // 2, 2 * pages // 3):

        def zero(content, page=page):
            content[page * 4096 : (page + 1) * 4096] = bytes(4096)

        outcomes.append(replayed(damaged(whole, tmp_path, zero)))
    assert all(ok and again < 30 for ok, again in outcomes), outcomes


def test_storage_foreign_bytes_and_short_files_are_refused_and_an_empty_one_is_replaced(whole, tmp_path):
    for harm in (lambda c: c.__setitem__(slice(0, 100), b"x" * 100), lambda c: c.__delitem__(slice(50, None))):
        ok, why = replayed(damaged(whole, tmp_path, harm))
        assert not ok
        assert "cannot be used" in why
    with pytest.warns(UserWarning, match="has lost 240 rows that were on record"):
        ok, again = replayed(damaged(whole, tmp_path, lambda content: content.clear()))
    assert ok
    assert again == 4 * len(Y)


def test_storage_a_damaged_row_is_named_skipped_and_paid_again(whole, tmp_path):
    folder = tmp_path / "one"
    shutil.copytree(whole, folder)
    connection = sqlite3.connect(folder / LEDGER_FILE)
    (seq,) = connection.execute("SELECT max(seq) FROM calls WHERE kind = 'solve'").fetchone()
    connection.execute("UPDATE calls SET decision = zeroblob(320) WHERE seq = ?", (seq,))
    connection.commit()
    connection.close()
    file = LedgerFile(folder / LEDGER_FILE, write=False)
    assert verify(file).damaged == [seq]
    file.close()
    with pytest.warns(UserWarning, match=f"row {seq} of .* is damaged; that call is made again"):
        assert replayed(folder) == (True, 1)


def test_storage_a_torn_log_loses_at_most_its_last_commits(tmp_path):
    """The write-ahead log cut at any place: what is there is a prefix of what was paid, and the rest is paid again."""
    ledger = open_ledger(tmp_path / "a", PROBLEM, Y, identity="a")
    oracle = Oracle(PROBLEM, Y, ledger=ledger)
    for k in range(1, 4):
        oracle.regret(ALL, Y + k, phase="online")
    log = (tmp_path / "a" / f"{LEDGER_FILE}-wal").read_bytes()
    again = []
    for share in (0.999, 0.9, 0.7, 0.5, 0.3):
        folder = tmp_path / f"{share}"
        shutil.copytree(tmp_path / "a", folder)
        (folder / f"{LEDGER_FILE}-shm").unlink()
        (folder / f"{LEDGER_FILE}-wal").write_bytes(log[: int(share * len(log))])
        with pytest.warns(UserWarning, match=r"has lost \d+ rows that were on record"):
            ok, paid_again = replayed(folder)
        assert ok
        again.append(paid_again)
    ledger.close()
    assert again == sorted(again)
    assert again[0] <= len(Y)


STRACE = shutil.which("strace")


ROUNDS = (
    "import sys; sys.path[:0] = sys.argv[2:]; from test_storage import *\n"
    "ledger = open_ledger(Path(sys.argv[1]), PROBLEM, Y, identity='a')\n"
    "oracle = Oracle(PROBLEM, Y, ledger=ledger)\n"
    "print('open', flush=True)\n"
    "try:\n"
    "    for k in range(1, 7): oracle.regret(ALL, Y + k, phase='online'); print('used', flush=True)\n"
    "except LedgerError as error: print(error, flush=True); os._exit(3)\n"
    "os._exit(0)"
)


AT_OPENING = 10  # writes: the lock, the pages that SQLite shares among processes, the tally


def injected(fault, folder, *, new=False):
    """Whether a fault of the system calls struck a run, and what the run said. What it has used must be on record.

    strace counts calls by thread: the trainer's, which writes what is charged before a solve begins, and that which
    writes answers. The ledger is there already, unless `new`, and opening it syncs nothing and writes `AT_OPENING`
    times: so later numbers are those of charges and answers, and with `new` the first ones are those that make the
    file.
    """
    if not new:
        paid(folder, rounds=0)
    log = folder.with_suffix(".strace")
    call = fault.partition(":")[0]
    before = [STRACE, "-f", "-qq", "-o", str(log), "-e", f"trace={call}", "-e", f"inject={fault}"]
    done = _python(ROUNDS, folder, before=before)
    struck = done.returncode == -signal.SIGKILL or "INJECTED" in log.read_text()
    assert struck or done.returncode == 0, (fault, done.stdout, done.stderr)
    used = done.stdout.count("used\n")
    if used:
        oracle = paid(folder, rounds=used)
        assert oracle.calls.counts["solve"]["online"] == len(Y) * used
        assert oracle.calls.replayed["solve"] == len(Y) * (used + 1), "labels too"
    assert replayed(folder)[0]
    return struck, done


@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
@pytest.mark.parametrize(
    "fault", ["pwrite64:error=ENOSPC:when=30+", "fdatasync:error=EIO:when=3+", "fdatasync:error=EIO:when=3"]
)
def test_storage_errors_of_the_disk_end_the_run_and_lose_nothing(fault, tmp_path):
    """A5, A6. The last fails once: the kernel may have dropped what it could not write, so there is no second try."""
    struck, done = injected(fault, tmp_path / "run")
    assert struck
    assert "open\n" in done.stdout
    assert f"{tmp_path / 'run' / LEDGER_FILE} cannot be written" in done.stdout, (done.stdout, done.stderr)
    assert done.stdout.count("used\n") < 6


@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
def test_storage_a_kill_at_a_sync_loses_nothing(tmp_path):
    """A2."""
    struck, done = injected("fdatasync:signal=SIGKILL:when=5", tmp_path / "run")
    assert struck
    assert "open\n" in done.stdout


@pytest.mark.faults
@pytest.mark.timeout(3000)
@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
@pytest.mark.parametrize("new", [True, False], ids=["making the file", "writing answers"])
@pytest.mark.parametrize(
    ("fault", "step"),
    [
        ("fdatasync:signal=SIGKILL", 1),
        ("fdatasync:error=EIO", 1),
        ("pwrite64:signal=SIGKILL", 6),
        ("pwrite64:error=ENOSPC", 6),
    ],
)
def test_storage_a_kill_or_an_error_at_each_write_or_sync(fault, step, new, tmp_path, record_property):
    """A2, A5, A6: at each such call in turn, until one comes too late to strike; every sixth of the many writes."""
    struck = []
    first = 1 if new or "fdatasync" in fault else AT_OPENING + 1
    for number in range(first, 2000, step):  # charges and answers are 600 writes of the thread that has the most
        hit, done = injected(f"{fault}:when={number}", tmp_path / str(number), new=new)
        if not hit:
            break
        struck.append("open\n" in done.stdout)
    kind = "kills at" if "SIGKILL" in fault else "errors of"
    record_property(f"{kind} {'syncs' if 'fdatasync' in fault else 'writes'}", len(struck))
    assert not hit, "the run ended before the last number"
    assert len(struck) >= 6
    assert (sum(struck) == len(struck)) if not new else (sum(struck) < len(struck))


def _python(code, folder, before=()):
    where = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
    command = [*before, sys.executable, "-c", code, str(folder), *where]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)
