"""Solvers that hang, crash, print, and worse; every process they start carries TOKEN in its environment.

Workers import this module, so it imports little.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

TOKEN = "FEWSOLVES_TEST_TOKEN"
ACTS = ("answer", "raise", "crash", "hang", "nearly hang", "kill")
LIMIT = 0.03  # seconds; a solver that hangs takes ten times as long, one that nearly does just this


def hang_in_python():
    while True:
        time.sleep(0.01)


def hang_in_c():
    ctypes.PyDLL(None).sleep(3600)  # holds the interpreter's lock: no signal handler of Python's runs


def hang_with_child():
    subprocess.run(["sleep", "3600"])


def hang_with_child_of_its_own_session():
    subprocess.Popen(["sleep", "3600"], start_new_session=True)
    hang_in_python()


def hang_and_ignore_signals():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    hang_in_python()


def hang_after_double_fork():
    code = "import os, time; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); time.sleep(3600)"
    subprocess.run([sys.executable, "-c", code])
    hang_in_python()


def hang_stopped():
    os.kill(os.getpid(), signal.SIGSTOP)


def hang_while_starting_children():
    while True:
        subprocess.Popen(["sleep", "3600"], start_new_session=True)
        time.sleep(0.05)


HANGS = {
    function.__name__: function
    for function in (
        hang_in_python,
        hang_in_c,
        hang_with_child,
        hang_with_child_of_its_own_session,
        hang_and_ignore_signals,
        hang_after_double_fork,
        hang_stopped,
        hang_while_starting_children,
    )
}

CRASHES = {
    "segfault": lambda: ctypes.string_at(0),
    "abort": os.abort,
    "os._exit(0)": lambda: os._exit(0),
    "exit of C": lambda: ctypes.CDLL(None).exit(0),
    "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
}


def survivors(token, command=b""):
    """Processes, other than this one, that carry the token, as pid: command line; only those with `command` in it."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with contextlib.suppress(OSError):
                if f"{TOKEN}={token}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
    return {pid: line[:80] for pid, line in found.items() if command in line}


def survivors_after(token, seconds, command=b""):
    """The processes that are left after these seconds; returns as soon as there are none."""
    until = time.monotonic() + seconds
    while (left := survivors(token, command)) and time.monotonic() < until:
        time.sleep(0.1)  # to look at every process of the machine takes a while
    return left


class Log:
    """What was really called, counted outside of the library."""

    def __init__(self, path):
        self.path = str(path)

    def write(self, row):
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, f"{row:.0f}\n".encode())
        os.close(file)

    def counts(self):
        return Counter(map(int, Path(self.path).read_text().split())) if Path(self.path).exists() else Counter()


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def kill_ray_worker():
    """From a solver: the Ray worker is above the guard of the solver's process."""
    os.kill(parent_of(os.getppid()), signal.SIGKILL)


class Misbehaving:
    """A solver that acts by a seed and the number of calls so far, which outlive it."""

    def __init__(self, log, weights, seed, trainer):
        self.log, self.weights, self.seed, self.trainer = str(log), weights, seed, trainer

    def note(self, kind, rows):
        file = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, kind.encode() * rows)
        called = os.fstat(file).st_size
        os.close(file)
        return called

    def act(self, rows):
        called = self.note("s", rows)
        act = np.random.default_rng([self.seed, called]).choice(ACTS, p=self.weights)
        if act == "raise":
            raise ValueError("infeasible")
        if act == "crash" and os.getpid() != self.trainer:
            os._exit(3)
        if act == "kill":
            os.kill(self.trainer, signal.SIGKILL)
            time.sleep(0.2)
        if act in ("hang", "nearly hang"):
            time.sleep(10 * LIMIT if act == "hang" else LIMIT)

    def solve(self, y_hat):
        self.act(1)
        return y_hat

    def solve_batch(self, y_hat):
        self.act(len(y_hat))
        return y_hat

    def cost(self, y, z):
        self.note("c", 1)
        return float(abs(y - z).sum())
