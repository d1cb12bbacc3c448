"""The guard of one worker process: it leaves no process of the worker alive.

The trainer starts this file as a script of its own, `python -I -S guard.py`; it imports nothing of the library and
stays as small as Python can be. The guard starts the worker as its child and

- ends the worker with everything that it started when the trainer says so (time limit), when the trainer dies, even by
  kill -9, or when the worker itself dies and leaves children behind;
- drains what solvers print, keeping the last words, so that a solver that prints gigabytes neither blocks nor fills a
  disk;
- reports to the trainer how the worker ended.

Why a process of its own, and why not a pool library: concurrent.futures, loky and pebble leave solvers running after a
kill -9 of the trainer, pebble leaves a solver's children running after a timeout, and one segmentation fault among
twenty solves loses fifteen of them in concurrent.futures and loky. A guard is the nearest *subreaper* (Linux): whatever
a solver starts, by setsid or by a double fork, becomes the guard's child when its parent dies, so the tree is found.
Elsewhere the worker's process group is all that can be ended, and what left the group lives on. So it is where /proc is
missing or that of another PID namespace (`unshare --pid` without a /proc of its own): its numbers mean other processes
here.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import sys
import time

LINUX = sys.platform == "linux"
LAST_WORDS = 2048  # bytes of the solver's output that are kept
PARENT_CHECK = 5.0  # seconds between checks of the trainer, without a signal at its death
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
REPORT = struct.Struct("<i")  # wait status of the worker; the last words follow


def main(trainer: int, control: int, command: list[str]) -> None:
    """Serve until the worker is gone; `control` is a socket to the trainer, whose end means: end the worker."""
    wakeup, waker = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGUSR1, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # they only wake the loop: what to do is seen there
    if sees_processes():
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
    if LINUX:
        _prctl(PR_SET_PDEATHSIG, signal.SIGUSR1)  # also sent when only the thread ends that started the guard
    if os.getppid() != trainer:
        return  # it died before it could be watched
    output, words_in = os.pipe()
    os.set_inheritable(control, False)
    guard = os.getpid()
    worker = os.fork()  # safe: this process has one thread
    if worker == 0:
        _become_worker(guard, words_in, command)
    os.close(words_in)
    status, words = _watch(worker, trainer, control, wakeup, output)
    ended = end_everything(worker)
    words = (words + _rest(output))[-LAST_WORDS:]
    with contextlib.suppress(OSError):
        os.write(control, REPORT.pack(ended if status is None else status) + words)


def _watch(worker: int, trainer: int, control: int, wakeup: socket.socket, output: int) -> tuple[int | None, bytes]:
    """Wait for the end of the worker, or for the reason to end it: its wait status, else None; and its last words."""
    words, status, watched = b"", None, select.poll()
    for file in (control, wakeup.fileno(), output):
        watched.register(file, select.POLLIN)
    while status is None:
        readable = {file for file, _ in watched.poll(1000 * PARENT_CHECK)}
        if output in readable:
            heard = os.read(output, 65536)
            words = (words + heard)[-LAST_WORDS:]
            if not heard:  # the solver closed its output
                watched.unregister(output)
        if wakeup.fileno() in readable:
            wakeup.recv(4096)
        status = _reap(worker)
        if status is None and (control in readable or os.getppid() != trainer):
            break
    return status, words


def end_everything(worker: int) -> int:
    """Kill the worker and all that descends from this process, until nothing is left; the worker's wait status.

    All are stopped before any is killed, so that none can start another or notice and run.
    """
    status, pause, seen = -1, 0.001, sees_processes()
    while True:
        if seen:
            kill_below(os.getpid())
        else:
            _send(-worker, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, ended = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                status = ended if pid == worker else status
            time.sleep(pause)
            pause = min(2 * pause, 0.1)
            continue
        return status


def sees_processes() -> bool:
    """Whether /proc has the processes of this PID namespace, by their numbers here (Linux)."""
    try:
        return LINUX and os.readlink("/proc/self") == str(os.getpid())  # noqa: PTH115
    except OSError:
        return False


def kill_below(root: int) -> None:
    """Kill all that descends from `root` now, where `sees_processes`."""
    stopped: set[int] = set()
    while new := descendants(root) - stopped:
        for pid in new:
            _send(pid, signal.SIGSTOP)
        stopped |= new
    for pid in stopped:
        _send(pid, signal.SIGKILL)


def descendants(root: int) -> set[int]:
    """All living processes below `root`, where `sees_processes`."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 (pathlib is not worth its start-up time here)
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except OSError:
                continue  # it ended meanwhile
            if state not in b"ZX":
                children.setdefault(int(parent), []).append(int(name))
    found, frontier = set(), [root]
    while frontier:
        below = children.get(frontier.pop(), [])
        found.update(below)
        frontier += below
    return found


def _reap(worker: int) -> int | None:
    """Collects what ended; the wait status of the worker if it is among that."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == worker:
                return status
    return None


def _rest(output: int) -> bytes:
    os.set_blocking(output, False)
    words = b""
    with contextlib.suppress(OSError):
        while more := os.read(output, 65536):
            words = (words + more)[-LAST_WORDS:]
    return words


def _become_worker(guard: int, words_in: int, command: list[str]) -> None:
    try:
        os.setsid()  # a Ctrl-C in the terminal is the trainer's to answer
        if LINUX:
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # in case the guard is killed
        if os.getppid() == guard:
            os.dup2(words_in, 1)
            os.dup2(words_in, 2)
            os.execv(command[0], command)
    finally:
        os._exit(127)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _prctl(option: int, value: int) -> None:
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(option, int(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
