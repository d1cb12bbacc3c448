"""Chunked dispatch to workers: rows go out in chunks and come back in any order, and each is accepted once.

    request  the rows of one call of `solve` or `cost`, each waiting, in work at one worker, or landed
    chunk    rows that a worker gets at a time: one if a solve is slow, many if it is quick and communication is not
    number   identifies a row that is sent; never used twice, so that no answer is taken for that of another row
    event    a message from a worker: `Ready`, `Landed`, `Noticed`, `Gone`, `FailedStart`

An execution with workers (`processes`, `ray`) starts and stops them, sends a chunk and yields events. When a worker is
lost, its rows in work have failed, and the rest of its chunk waits again. A row that may have begun is not sent again
here: the caller decides, and pays. If several rows were in work, each of them is sent alone the next time.

Rows whose last call took longest are sent first, so that at the end of a request no worker has long to wait for another
("longest processing time first"). The order changes when an answer lands, and no answer.
"""

from __future__ import annotations

import itertools
import time
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from fewsolves.errors import FewsolvesError, SolverError
from fewsolves.execution.base import KINDS, Answers, Failure, Kind, OnSend, no_charge
from fewsolves.problem import Array, Problem

MAX_CHUNK_ROWS = 1000  # rows in a chunk
PACE_MEMORY = 0.8  # weight of the past in the mean time of a call
CHUNKS_PER_WORKER = 4  # of a request by the batched form; the smallest chunk is this part of a full one
START_ATTEMPTS = 3  # workers in a row that may be lost before they are ready

WAIT_SECONDS = 1.0  # without an event, after which `on_wait` is called

W = TypeVar("W")


def now() -> float:
    """The clock of all deadlines; it does not jump."""
    return time.monotonic()


def _keep_waiting() -> None:
    pass


class Chunk(NamedTuple):
    """Rows for one worker."""

    numbers: range
    kind: Kind
    rows: Array
    columns: list[Any]
    batched: bool  # one call of the batched form answers all

    @property
    def in_work(self) -> int:
        """Number of rows in work at a time."""
        return len(self.numbers) if self.batched else 1


class Ready(NamedTuple):
    """A worker has loaded the problem; these of its functions have a batched form."""

    worker: Any
    batched: Iterable[str] = ()


class Landed(NamedTuple):
    """One row is answered."""

    worker: Any
    number: int
    value: Any  # a decision, a cost, or a Failure
    seconds: float


class Noticed(NamedTuple):
    """A message for the user; the work continues."""

    said: str


class Gone(NamedTuple):
    """A worker has ended, with `in_work` rows in work; `failure` is their answer, None if none had begun."""

    worker: Any
    failure: Failure | None = None
    seconds: float = 0.0
    in_work: int = 1


class FailedStart(NamedTuple):
    """A worker has ended before it was ready."""

    worker: Any
    said: str
    counts: bool = True  # False if it never ran: its machine was lost, and another can take over


Event = Ready | Landed | Noticed | Gone | FailedStart


class WorkerExecution(ABC, Generic[W]):
    """An execution by at most `workers` workers, with chunks of about `chunk_seconds`."""

    def __init__(self, problem: Problem, workers: int, chunk_seconds: float) -> None:
        self.problem, self.workers = problem, workers
        self.pace = Pace(chunk_seconds)
        self.batched: set[str] = {kind for kind in KINDS if getattr(problem, f"{kind}_batch") is not None}
        self._starting: list[W] = []
        self._idle: list[W] = []
        self._in_work: dict[W, dict[int, int]] = {}  # worker -> number and position of each row that it has, in order
        self._failed_starts = 0  # in a row
        self._next_number = 0
        self._noticed: set[str] = set()
        self._alone: set[tuple[Kind, int]] = set()  # rows to send alone: one of them caused the loss of a worker
        self.on_send: OnSend = no_charge
        self.on_wait: Callable[[], None] = _keep_waiting
        self.until = float("inf")  # when the request that runs ends, whatever has not landed
        self._request: _Request | None = None  # the one that runs

    @abstractmethod
    def start_worker(self) -> W:
        """A new worker; `Ready` or `FailedStart` follows."""

    @abstractmethod
    def send(self, worker: W, chunk: Chunk) -> None:
        """Give a chunk to a worker that has none; `Landed` follows for each row, or `Gone`."""

    @abstractmethod
    def wait(self) -> Iterable[Event]:
        """Wait for events and yield them; at least one worker is starting or has a chunk.

        Without an event, return when `WAIT_SECONDS` have passed, or at the time `until`.
        """

    @abstractmethod
    def stop_workers(self, workers: Sequence[W]) -> None:
        """End these workers at once; no event follows."""

    def solve(self, rows: Array, y_hat: Array, hints: Sequence[Any] | None = None) -> Iterator[Answers]:
        return self._answers("solve", rows, (y_hat,) if hints is None else (y_hat, hints))

    def cost(self, rows: Array, y: Array, z: Sequence[Array], seeds: Array | None = None) -> Iterator[Answers]:
        return self._answers("cost", rows, (y, z) if seeds is None else (y, z, seeds))

    def close(self) -> None:
        workers = [*self._starting, *self._idle, *self._in_work]
        self._starting, self._idle, self._in_work, self._request = [], [], {}, None
        self.stop_workers(workers)

    def _answers(self, kind: Kind, rows: Array, columns: Sequence[Any]) -> Iterator[Answers]:
        if self._request is not None:
            raise RuntimeError("one request at a time: close the answers of the one before")
        self._request = request = _Request(kind, rows, columns, self.pace.longest_first(kind, rows, self.workers))
        try:
            while request.left and not (request.finishing and (not self._in_work or now() > self.until)):
                if self._request is not request:
                    raise RuntimeError("closed while rows were in work")
                if not request.finishing:
                    self._start_workers(request)
                    self._hand_out(request)
                fault = self._take_events(request)
                if request.landed:  # also before a fault is raised: these rows are paid
                    yield self._hand_on(request)
                if fault is not None:
                    raise fault
                self.on_wait()
        finally:
            if self._request is request:  # the caller stopped early: rows in work are given up
                given_up, self._in_work, self._request = list(self._in_work), {}, None
                self.until = float("inf")
                self.stop_workers(given_up)

    def finish(self, seconds: float) -> None:
        """Send no more rows of the running request, and end it when rows in work have landed, or after `seconds`."""
        if self._request is not None and not self._request.finishing:
            self._request.finishing, self.until = True, now() + seconds

    def _take_events(self, request: _Request) -> FewsolvesError | None:
        try:
            for event in self.wait():
                self._take(request, event)
        except FewsolvesError as fault:
            return fault
        return None

    def _hand_on(self, request: _Request) -> Answers:
        at, values, seconds = (list(part) for part in zip(*request.landed, strict=True))
        request.landed = []
        if request.seconds:
            self.pace.saw(request.kind, request.seconds)
            request.seconds = []
        if not request.left:
            self._request = None
        return Answers(np.array(at), values, seconds)

    def _start_workers(self, request: _Request) -> None:
        there = len(self._starting) + len(self._idle)
        for _ in range(min(self.workers - len(self._in_work), len(request.waiting)) - there):
            self._starting.append(self.start_worker())

    def _hand_out(self, request: _Request) -> None:
        handed: list[tuple[W, list[int]]] = []
        while request.waiting and self._idle:
            worker = self._idle.pop()
            handed.append((worker, [request.waiting.popleft() for _ in range(self._size(request))]))
        if handed:
            self.on_send(sum(len(positions) for _, positions in handed))
        for worker, positions in handed:
            numbers = range(self._next_number, self._next_number + len(positions))
            self._next_number = numbers.stop
            self._in_work[worker] = dict(zip(numbers, positions, strict=True))
            columns = [_entries(column, positions) for column in request.columns]
            self.send(
                worker, Chunk(numbers, request.kind, request.rows[positions], columns, request.kind in self.batched)
            )

    def _size(self, request: _Request) -> int:
        if request.kind in self.batched:
            most = min(len(request.waiting), batch_size(len(request.rows), self.workers))
        else:
            most = self.pace.size(request.kind, len(request.waiting), self.workers)
        if self._alone:
            rows = (request.rows[position] for position in itertools.islice(request.waiting, most))
            alone = (k for k, row in enumerate(rows) if (request.kind, int(row)) in self._alone)
            return max(1, next(alone, most))
        return most

    def _take(self, request: _Request, event: Event) -> None:
        match event:
            case Landed():
                self._take_answer(request, event)
            case Ready():
                self._starting.remove(event.worker)
                self._idle.append(event.worker)
                self.batched.update(event.batched)  # a factory's are known only now
                self._failed_starts = 0
            case Noticed():
                if event.said not in self._noticed:
                    self._noticed.add(event.said)
                    warnings.warn(event.said, RuntimeWarning, stacklevel=2)
            case Gone():
                self._take_loss(request, event)
            case FailedStart():
                self._starting.remove(event.worker)
                self._failed_starts += event.counts
                if self._failed_starts >= START_ATTEMPTS:
                    raise SolverError(event.said, row=int(request.rows[0]))

    def _take_answer(self, request: _Request, landed: Landed) -> None:
        numbers = self._in_work.get(landed.worker, {})
        if landed.number not in numbers:
            return  # this worker does not have the row, or no longer
        position = numbers.pop(landed.number)
        self.pace.note(request.kind, int(request.rows[position]), landed.seconds)
        self._land(request, position, landed.value, landed.seconds)
        request.seconds.append(landed.seconds)
        if not numbers:
            del self._in_work[landed.worker]
            self._idle.append(landed.worker)

    def _take_loss(self, request: _Request, gone: Gone) -> None:
        if gone.worker in self._idle:
            self._idle.remove(gone.worker)
        left = list(self._in_work.pop(gone.worker, {}).values())
        if gone.failure is not None:
            begun, left = left[: gone.in_work], left[gone.in_work :]
            failure = gone.failure if len(begun) == 1 else Failure("batch", gone.failure.message)
            for position in begun:
                self._land(request, position, failure, gone.seconds / len(begun))
        request.waiting.extendleft(reversed(left))

    def _land(self, request: _Request, position: int, value: Any, seconds: float) -> None:
        row = request.kind, int(request.rows[position])
        if isinstance(value, Failure) and value.status == "batch":
            self._alone.add(row)
        else:
            self._alone.discard(row)
        request.land(position, value, seconds)


class _Request:
    """The rows of one call."""

    def __init__(self, kind: Kind, rows: Array, columns: Sequence[Any], order: Iterable[int]) -> None:
        self.kind, self.rows, self.columns = kind, rows, columns
        self.left = len(rows)  # that have not landed
        self.waiting = deque(order)  # positions
        self.finishing = False  # the waiting rows are no longer wanted
        self.landed: list[tuple[int, Any, float]] = []  # position, value, seconds; not handed on yet
        self.seconds: list[float] = []  # of the calls that ended by themselves since

    def land(self, position: int, value: Any, seconds: float) -> None:
        self.landed.append((position, value, seconds))
        self.left -= 1


class Pace:
    """The mean time of calls, by kind, and the chunk that takes about `target` seconds."""

    def __init__(self, target: float) -> None:
        self.target = target
        self._mean: dict[str, float] = {}
        self._last: dict[str, dict[int, float]] = {kind: {} for kind in KINDS}  # seconds of the last call, by row

    def note(self, kind: str, row: int, seconds: float) -> None:
        """Remember how long a row took."""
        self._last[kind][row] = seconds

    def longest_first(self, kind: str, rows: Array, workers: int) -> list[int]:
        """Positions of the rows, those first whose last call took longest; rows without one are taken for average."""
        last, mean = self._last[kind], self._mean.get(kind, 0.0)
        if workers == 1 or not last:
            return list(range(len(rows)))
        expected = [last.get(row, mean) for row in rows.tolist()]
        return sorted(range(len(rows)), key=lambda position: -expected[position])

    def saw(self, kind: str, seconds: Sequence[float]) -> None:
        """Learn from calls that were answered."""
        mean = sum(seconds) / len(seconds)
        self._mean[kind] = PACE_MEMORY * self._mean.get(kind, mean) + (1 - PACE_MEMORY) * mean

    def size(self, kind: str, waiting: int, workers: int) -> int:
        """Rows for the next chunk; one while nothing is known."""
        if kind not in self._mean:
            return 1
        whole = max(1, min(MAX_CHUNK_ROWS, int(self.target / (self._mean[kind] + 1e-6))))
        if workers == 1:
            return min(waiting, whole)
        share = -(-waiting // (2 * workers))  # the last chunks are smaller, so that all workers end together
        return min(waiting, whole, max(share, -(-whole // CHUNKS_PER_WORKER)))


def batch_size(total: int, workers: int) -> int:
    """Rows for one call of a batched form."""
    return max(1, -(-total // (CHUNKS_PER_WORKER * workers)))


def _entries(column: Any, positions: list[int]) -> Any:
    return column[positions] if isinstance(column, np.ndarray) else [column[k] for k in positions]
