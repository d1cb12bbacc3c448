"""What the operating system offers: the one place where the library asks which one it is.

Everything is promised, and tested, on Linux. Elsewhere fits run in the process of the user (`workers=1` without
limits), with these differences:

    worker processes    need POSIX (fork, pipes, signals, select.poll): `NotSupportedError` on Windows. What a solver
                        started and that left its process group is found on Linux only (prctl, /proc:
                        `execution.guard`, which runs alone and imports nothing of this)
    memory_limit        needs Linux (/proc/self/statm, RLIMIT_AS)
    locks of folders    need fcntl: on Windows two runs in one folder are not kept apart
    network folders     are recognised on Linux only (/proc/mounts)
    links               are followed where there is no O_NOFOLLOW, as on Windows
"""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LINUX = sys.platform == "linux"
POSIX = sys.platform != "win32"
_FLOCK = "@hhqqi"  # struct flock of 64-bit Linux: type, whence, start, length, pid


def open_private(path: Path, flags: int = 0) -> int:
    """A descriptor to read and write a file that is the user's alone, made where it is missing; links are refused."""
    always = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.open(path, always | flags, 0o600)


def lock_at_once(file: int) -> None:
    """Lock a file for this process alone, or raise OSError; nothing is locked on Windows."""
    if fcntl is not None:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_owner(file: int) -> int:
    """The process that has locked a file, as this system numbers it; 0 where none has, or it cannot be seen."""
    if fcntl is None or not LINUX or struct.calcsize("P") != 8:
        return 0
    wanted = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        kind, *_, pid = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, wanted))
    except OSError:
        return 0
    return max(0, int(pid)) if kind != fcntl.F_UNLCK else 0  # negative: of another machine


def read_at(file: int, size: int, offset: int) -> bytes:
    """At most `size` bytes from `offset` on."""
    if hasattr(os, "pread"):
        return os.pread(file, size, offset)
    os.lseek(file, offset, os.SEEK_SET)
    return os.read(file, size)


def write_at(file: int, content: bytes, offset: int) -> None:
    """Write at `offset`; callers see to it that one thread at a time does."""
    if hasattr(os, "pwrite"):
        os.pwrite(file, content, offset)
    else:
        os.lseek(file, offset, os.SEEK_SET)
        os.write(file, content)


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load() -> float:
    """Processes that want to run, on average over the last minute; 0 where the system does not report it."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
