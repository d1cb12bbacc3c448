"""One worker process with its guard, seen from the trainer: start it, send it a chunk, read its answers, end it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fewsolves.execution import guard
from fewsolves.execution.dispatch import Chunk, now
from fewsolves.execution.records import Record, unpack

KILLED = 5.0  # seconds that what was killed may take to end, on a busy machine
BOOT = """
import json, sys
sys.path[:] = json.loads(sys.argv[3])
from fewsolves.execution.worker import main
main(int(sys.argv[1]), int(sys.argv[2]))
"""


class WorkerProcess:
    """Owns two pipes to the worker and a socket to its guard; never blocks but in `gone`."""

    def __init__(self, problem: bytes, deadline: float) -> None:
        requests, self._requests = os.pipe()
        self.answers, answers = os.pipe()
        self.control, control = socket.socketpair()
        os.set_blocking(self._requests, False)
        os.set_blocking(self.answers, False)
        worker = [
            sys.executable,
            "-c",
            BOOT,
            str(requests),
            str(answers),
            json.dumps([str(entry) for entry in sys.path]),
        ]
        arguments = [sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), str(control.fileno()), *worker]
        try:
            self._guard = subprocess.Popen(
                arguments,
                pass_fds=(requests, answers, control.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        finally:
            os.close(requests)
            os.close(answers)
            control.close()
        self.ready = False  # it has loaded the problem
        self.chunk: Chunk | None = None  # until all its rows are answered
        self.answered = 0  # rows of it; they are answered in order
        self.since, self.deadline = now(), deadline  # of the row in work
        self.ending: str | None = None  # why it is being ended
        self._outgoing, self._incoming = memoryview(b""), bytearray()
        self._report = b""
        self._oom_kills = oom_kills()
        self._closed = False
        self._send(problem)

    def begin(self, chunk: Chunk, task: bytes, allowed: float) -> None:
        """Send a chunk; what is in work at a time, one row or a batch, has `allowed` seconds."""
        self.chunk, self.answered = chunk, 0
        self.expect(allowed)
        self._send(task)

    def row_is_answered(self) -> None:
        """The row in work is; the next one, if any, is in work now."""
        assert self.chunk is not None
        self.answered += 1
        if self.answered == len(self.chunk.numbers):
            self.chunk = None

    @property
    def number(self) -> int | None:
        """Of the row in work."""
        return None if self.chunk is None else self.chunk.numbers[self.answered]

    @property
    def row(self) -> int:
        """In the user's table, of the row in work."""
        assert self.chunk is not None
        return int(self.chunk.rows[self.answered])

    @property
    def rows_left(self) -> int:
        """Rows that it still has, the one in work included."""
        return 0 if self.chunk is None else len(self.chunk.numbers) - self.answered

    def expect(self, allowed: float) -> None:
        """Expect an answer within `allowed` seconds, if a row is in work."""
        if self.ending is None:
            self.since = now()
            self.deadline = self.since + allowed if self.chunk is not None else float("inf")

    def _send(self, message: bytes) -> None:
        self._outgoing = memoryview(b"".join((self._outgoing, len(message).to_bytes(8, "little"), message)))
        self.flush()

    @property
    def unsent(self) -> int | None:
        """The descriptor to wait for before `flush` can go on, or None where all is written."""
        return self._requests if self._outgoing else None

    def flush(self) -> None:
        """Write what the pipe takes."""
        try:
            while self._outgoing:
                self._outgoing = self._outgoing[os.write(self._requests, self._outgoing) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._outgoing = memoryview(b"")  # it is dying; its guard will say so

    def read(self) -> list[Record]:
        """The records that have arrived; raises Garbled."""
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self.answers, 2**18):
                self._incoming += part
                if len(part) < 2**16:
                    break
        return unpack(self._incoming)

    def end(self, why: str, deadline: float = float("inf")) -> None:
        """Have the guard end the worker and all that it started, which should be done by the deadline."""
        if self.ending is None:
            self.ending, self.deadline = why, deadline
            with contextlib.suppress(OSError):
                self.control.shutdown(socket.SHUT_WR)

    def has_gone(self) -> bool:
        """Read the guard's report; True once the worker and all that it started are gone."""
        with contextlib.suppress(BlockingIOError, ConnectionError):
            while part := self.control.recv(2**16, socket.MSG_DONTWAIT):
                self._report += part
        return bool(self._report) or self._guard.poll() is not None

    def report(self) -> tuple[int, str]:
        """Wait status of the worker that has gone (-1: unknown), and what it printed last."""
        if len(self._report) < guard.REPORT.size:
            return -1, ""
        (status,) = guard.REPORT.unpack_from(self._report)
        return status, self._report[guard.REPORT.size :].decode("utf-8", "replace").strip()

    @property
    def out_of_memory(self) -> bool:
        """Whether the kernel has killed something for want of memory since this worker started."""
        return oom_kills() > self._oom_kills

    def close(self, patience: float = 5.0) -> None:
        """End it if it lives, and let go of everything; once."""
        if self._closed:
            return
        self._closed = True
        self.end("closed")
        try:
            self._guard.wait(patience)
        except subprocess.TimeoutExpired:  # the guard was stopped, or something hangs in a dead network drive
            if guard.sees_processes():
                guard.kill_below(self._guard.pid)
                given_up = time.monotonic() + KILLED
                while guard.descendants(self._guard.pid) and time.monotonic() < given_up:
                    time.sleep(0.005)  # what is killed takes a moment to end
            self._guard.kill()
            self._guard.wait()
        self.has_gone()  # what the guard reported last can still be read
        os.close(self._requests)
        os.close(self.answers)
        self.control.close()


def close_all(workers: Sequence[WorkerProcess]) -> None:
    """End them side by side."""
    for worker in workers:
        worker.end("closed")
    for worker in workers:
        worker.close()


def describe_end(status: int) -> tuple[bool, str]:
    """Whether the process was killed from outside (SIGKILL), and the words for a wait status."""
    if status == -1:
        return True, "was lost together with its guard"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        return number == signal.SIGKILL, f"died of {name}"
    return False, f"exited with code {os.WEXITSTATUS(status)} without an answer"


def oom_kills() -> int:
    """How often the kernel has run out of memory and killed; 0 where that cannot be seen."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
