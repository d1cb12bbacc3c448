"""What reads files from others, one function for each kind: bytes in, and nothing but an error of ours may come out.

Each target writes the bytes to a file where one is needed, in memory where the machine has a place for that, and reads
them as a user would. A pair of files (weights and facts) gets new digests, so that what is behind them is reached.

So that hundreds of files are tried in a second, each is looked at in one of several ways, and the digest of its bytes
says in which: a ledger is shown, verified, exported, followed, or opened for a run, and few reports are drawn. The
problem is always the same, and its fingerprint is made once.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from unittest import mock

import numpy as np

import fewsolves as fs
from fewsolves.errors import FewsolvesError
from fewsolves.fitting.checkpoint import Checkpoints, read_pair
from fewsolves.ledger import shared
from fewsolves.ledger.following import Following
from fewsolves.ledger.identity.fingerprint import fingerprint
from fewsolves.ledger.keys import solve_keys
from fewsolves.ledger.ledger import Ledger
from fewsolves.ledger.opening import ReadingOf
from fewsolves.ledger.reading import (
    decisions_of_others,
    evaluations,
    import_into,
    open_to_read,
    paid_by_others,
    summary,
    verify,
)
from fewsolves.ledger.shared import ANSWERS_FILE
from fewsolves.ledger.sqlite.file import LEDGER_FILE
from fewsolves.reporting import page
from fewsolves.reporting.figures import output
from fewsolves.tables import read_table

RESULT = Path(__file__).parent / "corpus" / "result" / "result.json"
MEMORY = Path("/dev/shm")
PROBLEM = fs.Problem(solve=np.ceil, cost=lambda y, z: float(np.sum(z + 9 * np.maximum(y - z, 0))))
IDENTITY = "a"  # of a run
ROWS = np.arange(12)
TRUTH = np.arange(24.0).reshape(12, 2)
PARTS, KEYS = fingerprint(PROBLEM, TRUTH), solve_keys(ROWS, TRUTH, own=False)
FOLDER = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
COMMON = fingerprint(PROBLEM, np.empty((0, 0)))  # of the problem of remembered answers
HELD = ReadingOf(PROBLEM, np.empty((0, 0))).held()
EMPTY_FIGURE = '<svg xmlns="http://www.w3.org/2000/svg"/>'
DRAWN, LAID_OUT = 32, 8  # of so many reports one is drawn, and of the figures of one all but the picture is made


def _pair(data: bytes, numbers: str, facts: str) -> None:
    """The first two bytes say how long the weights are; the rest is the content of the facts."""
    length = int.from_bytes(data[:2], "little")
    packed, text = data[2 : 2 + length], data[2 + length :].decode("utf-8", "replace")
    whole = {"sha256": sha256(packed).hexdigest(), "content_sha256": sha256(text.encode()).hexdigest(), "content": text}
    (FOLDER / numbers).write_bytes(packed)
    (FOLDER / facts).write_text(json.dumps(whole))


def chosen(data: bytes, number: int) -> int:
    """One of `number` ways to look at these bytes, always the same one."""
    return zlib.crc32(data) % number


def _read(look: Callable[..., object]) -> Callable[[], object]:
    def looked() -> object:
        with contextlib.closing(open_to_read(FOLDER)) as file:
            return look(file)

    return looked


def _follow() -> None:
    with contextlib.closing(Following(FOLDER)) as following:
        following.refresh()


def _opened() -> contextlib.closing[Ledger]:
    return contextlib.closing(Ledger(FOLDER, PARTS, KEYS, TRUTH.shape[1], identity=IDENTITY, adopt=True))


def _open_for_a_run() -> None:
    with _opened() as ledger:
        ledger.note_start({})
        ledger.sample_paid(9, seed=0)
        paid_by_others(ledger)
        decisions_of_others(ledger)


def _use_for_a_run() -> None:
    with _opened() as ledger:
        fs.Oracle(PROBLEM, TRUTH, ledger=ledger).regret(ROWS, TRUTH + 0.25, phase="online")


def _import() -> None:
    import_into(FOLDER, rows=ROWS, y_hat=TRUTH + 0.5, decisions=list(TRUTH), cost=np.ones(len(ROWS)))


LOOKS: tuple[Callable[[], object], ...] = (
    *(_read(look) for look in (summary, verify, lambda file: list(evaluations(file)))),
    *(_follow, _open_for_a_run, _use_for_a_run, _import),
)


def ledger(data: bytes) -> None:
    """A ledger that is shown, verified, exported, followed, or opened and used for a run."""
    for path in FOLDER.glob(f"{LEDGER_FILE}*"):  # with its log
        path.unlink()
    (FOLDER / LEDGER_FILE).write_bytes(data)
    LOOKS[chosen(data, len(LOOKS))]()


@contextlib.contextmanager
def _known_problem() -> Iterator[None]:
    with (
        mock.patch.object(shared, "fingerprint", lambda *_: COMMON),
        mock.patch.object(ReadingOf, "held", lambda *_: dict(HELD)),
    ):
        yield


def answers(data: bytes) -> None:
    """A folder of remembered answers, which are looked up and added to."""
    for path in FOLDER.glob(f"{ANSWERS_FILE}*"):  # with its log
        path.unlink()
    (FOLDER / ANSWERS_FILE).write_bytes(data)
    with _known_problem(), contextlib.closing(fs.Oracle(replace(PROBLEM, remember=FOLDER), TRUTH)) as oracle:
        oracle.regret(ROWS, TRUTH + 0.25, phase="online")


def model(data: bytes) -> None:
    """A model that is loaded, that is shown, and that predicts."""
    _pair(data, "model.safetensors", "model.json")
    loaded = fs.load(FOLDER)
    repr(loaded)
    loaded.predict([[1.0, 2.0]])


def checkpoint(data: bytes) -> None:
    """A checkpoint of a run."""
    _pair(data, "checkpoint-0.safetensors", "checkpoint-0.json")
    Checkpoints(FOLDER, "call").load()
    with contextlib.suppress(ValueError):  # what it promises
        read_pair(FOLDER / "checkpoint-0.safetensors", FOLDER / "checkpoint-0.json")


def _run(result: bytes, history: bytes) -> None:
    """A run that is read, and that a report shows."""
    (FOLDER / "result.json").write_bytes(result)
    (FOLDER / "history.csv").write_bytes(history)
    with contextlib.ExitStack() as left_out:
        if chosen(result + history, LAID_OUT):
            left_out.enter_context(mock.patch.object(page, "_pictures", lambda *_: []))
        elif chosen(result + history, DRAWN):
            left_out.enter_context(mock.patch.object(output, "_render", lambda *_: EMPTY_FIGURE))
        page.report(FOLDER, FOLDER / "report.html")


def result(data: bytes) -> None:
    """A result that a report reads; it has no history."""
    _run(data, b"stage,epoch\nstart,0\n")


def history(data: bytes) -> None:
    """A history that a report reads and draws."""
    _run(RESULT.read_bytes(), data)


def _table(data: bytes, end: str) -> None:
    """A table of which all columns are used, each in every way that the command line has."""
    path = FOLDER / f"t.{end}"
    path.write_bytes(data)
    table = read_table(path)
    names = table.names("*")
    table.records(names)
    for name in names[:5]:
        for use in (lambda name: table.matrix([name]), table.order, table.marked):
            with contextlib.suppress(FewsolvesError):
                use(name)


def csv_table(data: bytes) -> None:
    """A table."""
    _table(data, "csv")


def npz_table(data: bytes) -> None:
    """A table."""
    _table(data, "npz")


def parquet_table(data: bytes) -> None:
    """A table."""
    _table(data, "parquet")


TARGETS: dict[str, Callable[[bytes], None]] = {
    one.__name__: one
    for one in (ledger, answers, model, checkpoint, result, history, csv_table, npz_table, parquet_table)
}


def run(name: str, data: bytes) -> None:
    """One execution; what escapes is a fault."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(FewsolvesError):
            TARGETS[name](data)
