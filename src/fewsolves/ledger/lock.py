"""A lock file: one process at a time in a folder, and the file names who is there.

The lock ends with the process that holds it, however it ends, so that what a dead one left behind is taken over.
"""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path

from fewsolves.errors import LedgerError

try:
    import fcntl
except ImportError:  # not on Windows: there nothing is locked
    fcntl = None  # type: ignore[assignment]


class FolderLock:
    """Held from construction to `close`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "lock"
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _named(os.pread(self._file, 1000, 0))
            os.close(self._file)
            if not isinstance(error, BlockingIOError):
                raise
            raise LedgerError(f"{folder} is in use by {holder}; wait until it ends, or give another folder") from None
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime())
        who = {"pid": os.getpid(), "host": socket.gethostname(), "start": started}
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, json.dumps(who).encode() + b"\n", 0)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _named(content: bytes) -> str:
    try:
        who = json.loads(content)
        return f"process {int(who['pid'])} on {str(who['host'])[:100]!r}, started {str(who['start'])[:30]}"
    except (ValueError, KeyError, TypeError):
        return "another process"


NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "lustre", "gpfs", "beegfs", "ceph", "afs", "9p", "fuse.sshfs"}


def network_file_system(folder: Path, mounts: Path = Path("/proc/mounts")) -> str | None:
    """The kind of network file system that `folder` lies on, as far as the system tells; else None."""
    try:
        lines = [line.split() for line in mounts.read_text().splitlines()]
    except OSError:
        return None
    place = folder.resolve()
    points = {Path(fields[1].replace("\\040", " ")): fields[2] for fields in lines if len(fields) > 2}
    kind = next((points[above] for above in (place, *place.parents) if above in points), None)
    return kind if kind in NETWORK else None
