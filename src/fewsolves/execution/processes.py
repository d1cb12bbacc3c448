"""Execution in worker processes, which live on between solves, can be ended with all their children, and lose one row
when they crash.

Each worker holds the problem, sent once, and gets chunks of rows; answers come back one by one. When a worker dies the
row in work has failed, and the rest of its chunk goes to another. `execution.guard` says why this is no pool library.
"""

from __future__ import annotations

import pickle
import select
from collections.abc import Iterator, Sequence
from typing import Any

import cloudpickle
import numpy as np

from fewsolves._internal.platform import LINUX, POSIX
from fewsolves.errors import InputError, NotSupportedError, SolverError
from fewsolves.execution.base import Failure, Resources
from fewsolves.execution.dispatch import (
    WAIT_SECONDS,
    Chunk,
    Event,
    FailedStart,
    Gone,
    Landed,
    Noticed,
    Ready,
    WorkerExecution,
    now,
)
from fewsolves.execution.forked import FORKED_MESSAGE
from fewsolves.execution.process import WorkerProcess, close_all, describe_end
from fewsolves.execution.records import Garbled, Record
from fewsolves.execution.registry import register
from fewsolves.problem import Problem

START_LIMIT = 600.0  # seconds in which a worker must have loaded the problem
END_LIMIT = 5.0  # seconds after which a worker that cannot be killed is given up
CHUNK_SECONDS = 0.05  # answers come one by one all the same


class Processes(WorkerExecution[WorkerProcess]):
    """`workers` processes; `time_limit` in seconds per solve, `memory_limit` in bytes per worker."""

    def __init__(
        self,
        problem: Problem,
        workers: int,
        *,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        chunk_seconds: float = CHUNK_SECONDS,
        end_limit: float = END_LIMIT,
    ) -> None:
        super().__init__(problem, workers, chunk_seconds)
        self.time_limit, self.memory_limit, self._end_limit = time_limit, memory_limit, end_limit
        self.alive: list[WorkerProcess] = []
        self._pickled = b""

    def start_worker(self) -> WorkerProcess:
        """A new process, which begins to load the problem."""
        if not self._pickled:
            try:
                self._pickled = cloudpickle.dumps((self.problem, self.memory_limit))
            except Exception as error:
                raise InputError(
                    f"{self.problem!r} cannot be sent to worker processes ({type(error).__name__}: {error}); "
                    "give Problem(factory=), a function that builds it there"
                ) from error
        try:
            self.alive.append(WorkerProcess(self._pickled, now() + START_LIMIT))
        except OSError as error:
            raise SolverError(
                f"no worker process can be started: {error.strerror}; use fewer workers, or raise `ulimit -n` (files) "
                f"or `ulimit -u` (processes). The same call then continues the run",
                row=-1,
            ) from error
        return self.alive[-1]

    def send(self, worker: WorkerProcess, chunk: Chunk) -> None:
        task = pickle.dumps((chunk.numbers[0], chunk.kind, chunk.rows, chunk.columns), protocol=5)
        worker.begin(chunk, task, self._allowed(chunk, len(chunk.numbers)))

    def stop_workers(self, workers: Sequence[WorkerProcess]) -> None:
        close_all(workers)
        self.alive = [worker for worker in self.alive if worker not in workers]

    def wait(self) -> Iterator[Event]:
        """Until something happens: an answer, a death, a deadline."""
        alive, poll = list(self.alive), select.poll()
        for worker in alive:
            poll.register(worker.answers, select.POLLIN)
            poll.register(worker.control, select.POLLIN)
            if worker.unsent is not None:
                poll.register(worker.unsent, select.POLLOUT)
        wake = min(self.until, now() + WAIT_SECONDS, *(worker.deadline for worker in alive))
        poll.poll(max(0.0, 1000 * (wake - now())))
        for worker in alive:
            worker.flush()
            gone = worker.has_gone()  # checked first: what it wrote before its end can still be read
            yield from self._read(worker)
            if worker.ending is not None and worker.chunk is None:
                gone = True  # no row is in work
            if gone or (worker.ending is not None and now() > worker.deadline):
                yield self._ended(worker)
            elif now() > worker.deadline:
                worker.end("timeout", now() + self._end_limit)

    def _read(self, worker: WorkerProcess) -> Iterator[Event]:
        try:
            while records := worker.read():
                for record in records:
                    event = self._event(worker, record)
                    if event is not None:
                        yield event
        except Garbled:
            worker.end("garbled", now() + self._end_limit)

    def _event(self, worker: WorkerProcess, record: Record) -> Event | None:
        if record.status == "leaving":
            worker.end("leaving", now() + self._end_limit)
            return None
        if not worker.ready:
            return self._loaded(worker, record)
        if worker.chunk is None or record.number != worker.number or record.status in ("ready", "unusable"):
            raise Garbled
        if record.status == "forked":
            return Noticed(FORKED_MESSAGE.format(worker.chunk.kind))
        value = _value(worker.chunk, record)
        worker.row_is_answered()
        if worker.ending == "timeout":
            worker.ending = "in time"  # the row that is now in work is not at fault
        worker.expect(self._allowed(worker.chunk, worker.rows_left))
        return Landed(worker, record.number, value, record.seconds)

    def _loaded(self, worker: WorkerProcess, record: Record) -> Event:
        if record.status == "unusable":
            raise InputError(f"{self.problem!r} could not be loaded in a worker process: {record.message}")
        if record.status != "ready":
            raise Garbled
        worker.ready = True
        worker.expect(float("inf"))
        return Ready(worker, record.message.split())

    def _allowed(self, chunk: Chunk | None, rows: int) -> float:
        """Seconds allowed for the row in work, or for a batch of `rows`."""
        return (self.time_limit or float("inf")) * (rows if chunk is not None and chunk.batched else 1)

    def _ended(self, worker: WorkerProcess) -> Event:
        """The event for a worker that has ended, with the cause."""
        self.stop_workers([worker])
        status, words = worker.report()
        if not worker.ready and worker.ending != "leaving":
            how = describe_end(status)[1]
            return FailedStart(
                worker, f"worker processes end while they load {self.problem!r}: the last {how}. {words}"
            )
        if worker.chunk is None or worker.ending == "leaving":
            return Gone(worker)
        failure = self._failure(worker, worker.chunk, status, words)
        return Gone(worker, failure, now() - worker.since, worker.chunk.in_work)

    def _failure(self, worker: WorkerProcess, chunk: Chunk, status: int, words: str) -> Failure:
        row, said = worker.row, f"; it last printed: {words[-400:]}" if words else ""
        if worker.ending == "timeout":
            limit = f"time_limit={self.time_limit:g} seconds"
            return Failure("timeout", f"`{chunk.kind}` took longer than {limit} at row {row}{said}")
        if worker.ending == "in time":
            said = "by its time limit, while the answer of the row before arrived"
            return Failure("lost", f"the process of `{chunk.kind}` was ended at row {row} {said}")
        if worker.ending == "garbled":
            return Failure("crash", f"`{chunk.kind}` wrote into the pipe of its answers at row {row}{said}")
        from_outside, how = describe_end(status)
        if from_outside and worker.out_of_memory:
            said = "; the machine is out of memory: fewer workers, or memory_limit="
            return Failure("out-of-memory", f"the process of `{chunk.kind}` {how} at row {row}{said}")
        return Failure("lost" if from_outside else "crash", f"the process of `{chunk.kind}` {how} at row {row}{said}")


def _value(chunk: Chunk, record: Record) -> Any:
    if record.status != "answer":
        return Failure(record.status, record.message)  # type: ignore[arg-type]
    if record.value is None:
        raise Garbled
    if chunk.kind == "solve":
        return record.value
    if not isinstance(record.value, np.ndarray) or record.value.size != 1:
        raise Garbled
    return float(record.value.item())


def start(problem: Problem, resources: Resources) -> Processes:
    """For the registry."""
    if not POSIX:
        raise NotSupportedError(
            "worker processes need Linux or macOS; use workers=1 without limits, or execution='ray'"
        )
    if resources.memory_limit is not None and not LINUX:
        raise NotSupportedError(
            "memory_limit= needs Linux: leave it out, or solve on a Linux machine (execution='ray')"
        )
    return Processes(problem, resources.workers, time_limit=resources.time_limit, memory_limit=resources.memory_limit)


register("processes", start)
