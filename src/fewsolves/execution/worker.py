"""A worker process, seen from inside: loads the problem once, then answers chunks of rows until it is ended.

Chunks come from the trainer as pickles, answers go back as the records of `execution.records`, each as soon as it is
computed: a crash costs the row in work and no other. Both pipes have high numbers and are not inherited, so that a
solver that prints, or closes the usual descriptors, does not touch them. A process that a solver forks has them all the
same: where it returns from the solver too, it is ended (`execution.forked`).
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import struct
from pathlib import Path
from typing import Any

import cloudpickle

from fewsolves._internal.platform import LINUX, POSIX
from fewsolves.execution.base import KINDS, Failure
from fewsolves.execution.forked import end_here
from fewsolves.execution.records import pack, pack_answer
from fewsolves.execution.serial import Serial, words_of

if POSIX:  # nothing of this runs elsewhere, but the registry reads every module of this folder
    import fcntl
    import resource

LENGTH = struct.Struct("<Q")
LEAK = 300 * 2**20  # bytes by which a worker may grow after its first chunk before it makes way for a fresh one
OUT_OF_THE_WAY = 200  # lowest number of the descriptors of the pipes


def main(requests: int, answers: int) -> None:
    """Serve until the trainer closes the pipe or ends this process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # the trainer decides; a handler, not SIG_IGN, which children inherit
    requests, pipe = _move_out_of_the_way(requests), _AnswerPipe(_move_out_of_the_way(answers))
    try:
        problem, memory_limit = cloudpickle.loads(_receive(requests))
        serial = Serial(problem, hand_on=0.0)
        serial.on_fork = pipe.note_fork
        loaded = serial.load()
        _limit_memory(memory_limit)
    except BaseException as error:
        pipe.write(pack("unusable", message=words_of(error)))
        return
    batched = [name for name in KINDS if getattr(loaded, f"{name}_batch") is not None]
    pipe.write(pack("ready", message=" ".join(batched)))
    with contextlib.suppress(EOFError, BrokenPipeError):
        reference = None
        while _answer(serial, pipe, *cloudpickle.loads(_receive(requests))):
            reference = reference or _resident()
            if _has_grown(reference):
                break
        pipe.write(pack("leaving"))


def _answer(serial: Serial, pipe: _AnswerPipe, first: int, kind: str, rows: Any, columns: Any) -> bool:
    """Answer one chunk, whose rows are numbered from `first`; False if memory ran out.

    The process must then not be used any more.
    """
    for landed in getattr(serial, kind)(rows, *columns):
        for at, value, seconds in zip(landed.at, landed.values, landed.seconds, strict=True):
            number = first + int(at)
            pipe.write_fork_notice(number)
            pipe.write(pack_answer(number, int(rows[at]), seconds, value))
            if isinstance(value, Failure) and value.status == "out-of-memory":
                return False
    return True


class _AnswerPipe:
    """The pipe to the trainer, for the process that made this object alone."""

    def __init__(self, pipe: int) -> None:
        self._pipe, self._process, self._forked = pipe, os.getpid(), False

    def write(self, record: bytes) -> None:
        if os.getpid() != self._process:
            end_here()
        left = memoryview(record)
        while left:
            left = left[os.write(self._pipe, left) :]

    def note_fork(self, name: str) -> None:
        """Note that the user's function forked; the next answer reports it."""
        self._forked = True

    def write_fork_notice(self, number: int) -> None:
        """Report a fork, with the number of the row in work."""
        if self._forked:
            self._forked = False
            self.write(pack("forked", number))


def _has_grown(reference: int) -> bool:
    if _resident() <= reference + LEAK:
        return False
    gc.collect()
    return _resident() > reference + LEAK


def _receive(pipe: int) -> bytes:
    (length,) = LENGTH.unpack(_exactly(pipe, LENGTH.size))
    return _exactly(pipe, length)


def _exactly(pipe: int, n: int) -> bytes:
    parts = []
    while n:
        part = os.read(pipe, min(n, 2**20))
        if not part:
            raise EOFError
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def _move_out_of_the_way(pipe: int) -> int:
    try:
        moved = fcntl.fcntl(pipe, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY)
    except OSError:  # few descriptors are allowed here
        os.set_inheritable(pipe, False)
        return pipe
    os.close(pipe)
    return moved


def _limit_memory(limit: int | None) -> None:
    """Limit the address space to `limit` bytes beyond the present use, with the problem loaded."""
    if limit is not None:
        most = _pages(0) + limit
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _resident() -> int:
    return _pages(1)


def _pages(column: int) -> int:
    """Bytes of address space (0) or of memory (1) of this process; 0 where it cannot be seen."""
    if not LINUX:
        return 0
    return int(Path("/proc/self/statm").read_bytes().split()[column]) * resource.getpagesize()
