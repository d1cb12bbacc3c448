"""Solves in worker processes, which live on between solves, can be ended with all their children, and lose one row when
they crash.

Each worker holds the problem, sent once, and gets chunks of rows; answers come back one by one. When a worker dies the
row in work has failed, and the rest of its chunk goes to another. `execution.guard` says why this is no pool library.
"""

from __future__ import annotations

import pickle
import select
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import cloudpickle
import numpy as np

from fewsolves.errors import InputError, SolverError
from fewsolves.execution.base import Answers, Failure
from fewsolves.execution.dispatch import Pace, batch_size
from fewsolves.execution.process import WorkerProcess, close_all, how_it_ended, now
from fewsolves.execution.records import Garbled, Record
from fewsolves.problem import Array, Problem

START_LIMIT = 600.0  # seconds in which a worker must have loaded the problem
START_ATTEMPTS = 3  # workers in a row that may die while they load it
END_LIMIT = 5.0  # seconds after which a worker that cannot be killed is given up
CHUNK_SECONDS = 0.05  # answers come one by one all the same


class Processes:
    """`workers` processes; `time_limit` in seconds per solve, `memory_limit` in bytes per worker."""

    def __init__(
        self, problem: Problem, workers: int, *, time_limit: float | None = None, memory_limit: int | None = None
    ) -> None:
        self.problem, self.workers, self.time_limit, self.memory_limit = problem, workers, time_limit, memory_limit
        self.alive: list[WorkerProcess] = []
        self.pace = Pace(CHUNK_SECONDS)
        self.failed_starts = 0  # in a row
        self.batched = {kind for kind in ("solve", "cost") if getattr(problem, f"{kind}_batch") is not None}
        self._pickled = b""

    def solve(self, rows: Array, y_hat: Array) -> Iterator[Answers]:
        return _Request(self, "solve", rows, (y_hat,)).answers()

    def cost(self, rows: Array, y: Array, z: Sequence[Array]) -> Iterator[Answers]:
        return _Request(self, "cost", rows, (y, z)).answers()

    def close(self) -> None:
        self.dismiss(self.alive)

    def hire(self) -> WorkerProcess:
        """A new worker, which begins to load the problem."""
        if not self._pickled:
            try:
                self._pickled = cloudpickle.dumps((self.problem, self.memory_limit))
            except Exception as error:
                raise InputError(
                    f"{self.problem!r} cannot be sent to worker processes ({type(error).__name__}: {error}); "
                    "give Problem(factory=), a function that builds it there"
                ) from error
        self.alive.append(WorkerProcess(self._pickled, now() + START_LIMIT))
        return self.alive[-1]

    def dismiss(self, workers: Sequence[WorkerProcess]) -> None:
        """End these workers, whatever they do."""
        close_all(workers)
        self.alive = [worker for worker in self.alive if worker not in workers]


class _Request:
    """One request: each of its rows is waiting, in work at a worker, or answered."""

    def __init__(self, pool: Processes, kind: str, rows: Array, columns: Sequence[Any]) -> None:
        self.pool, self.kind, self.rows, self.columns = pool, kind, rows, columns
        self.waiting = deque(range(len(rows)))
        self.alone: set[int] = set()  # rows of batches that died: one of them is at fault
        self.landed: list[tuple[int, Any, float]] = []  # position, value, seconds

    def answers(self) -> Iterator[Answers]:
        try:
            while self.waiting or any(worker.chunk for worker in self.pool.alive):
                self._hand_out()
                self._wait()
                if self.landed:
                    at, values, seconds = (list(part) for part in zip(*self.landed, strict=True))
                    self.landed = []
                    self.pool.pace.saw(self.kind, seconds)
                    yield Answers(np.array(at), values, seconds)
        finally:  # whoever asked has had enough: what is in work is given up
            self.pool.dismiss([worker for worker in self.pool.alive if worker.chunk])

    def _hand_out(self) -> None:
        idle = [worker for worker in self.pool.alive if not worker.chunk and worker.ending is None]
        while self.waiting and (idle or len(self.pool.alive) < self.pool.workers):
            worker = idle.pop() if idle else self.pool.hire()
            chunk = [self.waiting.popleft() for _ in range(self._size())]
            columns = [column[chunk] if isinstance(column, np.ndarray) else [column[k] for k in chunk]
                       for column in self.columns]  # fmt: skip
            task = pickle.dumps((self.kind, self.rows[chunk], columns), protocol=5)
            worker.begin(chunk, task, self._allowed(len(chunk)))

    def _size(self) -> int:
        if self.waiting[0] in self.alone:
            return 1
        if self.kind in self.pool.batched:
            return min(len(self.waiting), batch_size(len(self.rows), self.pool.workers))
        return self.pool.pace.size(self.kind, len(self.waiting), self.pool.workers)

    def _allowed(self, left: int) -> float:
        """Seconds for the row in work, or for a whole batch."""
        return (self.pool.time_limit or float("inf")) * (left if self.kind in self.pool.batched else 1)

    def _wait(self) -> None:
        """Until something happens: an answer, a death, a deadline."""
        alive, poll = list(self.pool.alive), select.poll()
        for worker in alive:
            poll.register(worker.answers, select.POLLIN)
            poll.register(worker.control, select.POLLIN)
            if worker.unsent is not None:
                poll.register(worker.unsent, select.POLLOUT)
        wake = min(worker.deadline for worker in alive)
        poll.poll(None if wake == float("inf") else max(0.0, 1000 * (wake - now())))
        for worker in alive:
            worker.flush()
            gone = worker.has_gone()  # asked first: what it wrote before its death is there to be read
            self._read(worker)
            if gone:
                self._bury(worker)
            elif now() > worker.deadline:
                if worker.ending is None:
                    worker.end("timeout", now() + END_LIMIT)
                else:
                    self._bury(worker)

    def _read(self, worker: WorkerProcess) -> None:
        try:
            while records := worker.read():
                for record in records:
                    self._take(worker, record)
        except Garbled:
            worker.end("garbled", now() + END_LIMIT)

    def _take(self, worker: WorkerProcess, record: Record) -> None:
        if record.status == "ready":
            worker.ready, self.pool.failed_starts = True, 0
            self.pool.batched.update(record.message.split())  # a factory's are known only now
        elif record.status == "unusable":
            raise InputError(f"{self.pool.problem!r} could not be loaded in a worker process: {record.message}")
        elif record.status == "retired":
            worker.end("retired", now() + END_LIMIT)
            return
        elif not worker.chunk or record.at != worker.size - len(worker.chunk):
            raise Garbled
        else:
            self.landed.append((worker.chunk.popleft(), self._value(record), record.seconds))
            if worker.ending == "timeout":
                worker.ending = "retired"  # just in time: the row that is now in work is not at fault
        worker.expect(self._allowed(len(worker.chunk)))

    def _value(self, record: Record) -> Any:
        if record.status != "answer":
            return Failure(record.status, record.message)  # type: ignore[arg-type]
        if record.value is None or (self.kind == "cost" and record.value.size != 1):
            raise Garbled
        return float(record.value.item()) if self.kind == "cost" else record.value

    def _bury(self, worker: WorkerProcess) -> None:
        """Sort out whose fault it was; rows without fault wait again."""
        self.pool.dismiss([worker])
        chunk, status, words = list(worker.chunk), *worker.obituary()
        if not worker.ready and worker.ending != "retired":
            self.pool.failed_starts += 1
            if self.pool.failed_starts >= START_ATTEMPTS:
                how = how_it_ended(status)[1]
                said = f"worker processes end while they load {self.pool.problem!r}: the last {how}. {words}"
                raise SolverError(said, row=int(self.rows[chunk[0]]) if chunk else -1)
        elif chunk and worker.ending != "retired":
            if self.kind in self.pool.batched and len(chunk) > 1:
                self.alone.update(chunk)
            else:
                position = chunk.pop(0)
                failure = self._failure(worker, int(self.rows[position]), status, words)
                self.landed.append((position, failure, now() - worker.since))
        self.waiting.extendleft(reversed(chunk))

    def _failure(self, worker: WorkerProcess, row: int, status: int, words: str) -> Failure:
        said = f"; it last printed: {words[-400:]}" if words else ""
        if worker.ending == "timeout":
            limit = f"time_limit={self.pool.time_limit:g} seconds"
            return Failure("timeout", f"`{self.kind}` took longer than {limit} at row {row}{said}")
        if worker.ending == "garbled":
            return Failure("crash", f"`{self.kind}` wrote into the pipe of its answers at row {row}{said}")
        from_outside, how = how_it_ended(status)
        if from_outside and worker.out_of_memory:
            said = "; the machine is out of memory: fewer workers, or memory_limit="
            return Failure("out-of-memory", f"the process of `{self.kind}` {how} at row {row}{said}")
        return Failure("lost" if from_outside else "crash", f"the process of `{self.kind}` {how} at row {row}{said}")
