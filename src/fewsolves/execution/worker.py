"""A worker process, seen from inside: loads the problem once, then answers chunks of rows until it is ended.

Chunks come from the trainer as pickles, answers go back as the records of `execution.records`, each as soon as it is
there: a crash costs the row in work and no other. Both pipes have high numbers and are not inherited, so that a solver
that prints, or closes the usual descriptors, does not touch them.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import resource
import signal
import struct
import sys
from pathlib import Path
from typing import Any

import cloudpickle

from fewsolves.execution.base import Failure
from fewsolves.execution.records import pack, pack_answer
from fewsolves.execution.serial import Serial, words_of

LENGTH = struct.Struct("<Q")
LEAK = 300 * 2**20  # bytes by which a worker may grow after its first chunk before it makes way for a fresh one
OUT_OF_THE_WAY = 200  # lowest number of the descriptors of the pipes


def main(requests: int, answers: int) -> None:
    """Serve until the trainer closes the pipe or ends this process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # the trainer decides; a handler, not SIG_IGN, which children inherit
    requests, answers = _hide(requests), _hide(answers)
    try:
        problem, memory_limit = cloudpickle.loads(_receive(requests))
        serial = Serial(problem, hand_on=0.0)
        loaded = serial.load()
        _limit_memory(memory_limit)
    except BaseException as error:
        _send(answers, pack("unusable", message=words_of(error)))
        return
    batched = [name for name in ("solve", "cost") if getattr(loaded, f"{name}_batch") is not None]
    _send(answers, pack("ready", message=" ".join(batched)))
    reference = None
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            kind, rows, columns = cloudpickle.loads(_receive(requests))
            if not _answer(serial, answers, kind, rows, columns):
                break  # what is left of it after running out of memory is not to be trusted
            reference = reference or _resident()
            if _resident() > reference + LEAK:
                gc.collect()
                if _resident() > reference + LEAK:
                    break
        _send(answers, pack("retired"))


def _answer(serial: Serial, answers: int, kind: str, rows: Any, columns: Any) -> bool:
    """Answers one chunk; False where memory ran out."""
    for landed in getattr(serial, kind)(rows, *columns):
        for at, value, seconds in zip(landed.at, landed.values, landed.seconds, strict=True):
            _send(answers, pack_answer(int(at), int(rows[at]), seconds, value))
            if isinstance(value, Failure) and value.status == "out-of-memory":
                return False
    return True


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


def _send(pipe: int, record: bytes) -> None:
    left = memoryview(record)
    while left:
        left = left[os.write(pipe, left) :]


def _hide(pipe: int) -> int:
    try:
        hidden = fcntl.fcntl(pipe, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY)
    except OSError:  # few descriptors are allowed here
        os.set_inheritable(pipe, False)
        return pipe
    os.close(pipe)
    return hidden


def _limit_memory(limit: int | None) -> None:
    """So much address space beyond what is taken now, with the problem loaded."""
    if limit is not None:
        most = _pages(0) + limit
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _resident() -> int:
    return _pages(1)


def _pages(column: int) -> int:
    """Bytes of address space (0) or of memory (1) of this process; 0 where it cannot be seen."""
    if sys.platform != "linux":
        return 0
    return int(Path("/proc/self/statm").read_bytes().split()[column]) * resource.getpagesize()
