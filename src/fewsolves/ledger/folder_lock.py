"""A lock file: one process at a time in a folder, and the file names its owner.

The operating system releases the lock when its process ends, however it ends, so the file of a dead process is taken
over. Forked children do not inherit the lock: a solver's child that outlives the trainer blocks no later run. Such
locks cannot distinguish two holders in one process, so `_HELD` lists those.

An owner writes its name just after it has the lock. A process that is refused meanwhile finds no name, or that of a
dead owner, and waits up to `NAMING_SECONDS` for the right one; then the operating system gives the number. Only the
owner in a container that is not visible from here, and that has not written its name, stays without one.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from pathlib import Path

from fewsolves._internal.platform import lock_at_once, lock_owner, open_private, read_at, write_at
from fewsolves.errors import LedgerError

NAMING_SECONDS = 1.0
_BUSY = (BlockingIOError, PermissionError)  # EAGAIN or EACCES: another process holds the lock
_HELD: dict[Path, bytes] = {}  # by this process, with what the file says; to open it would let go of the lock


class FolderLock:
    """Held from construction to `close`."""

    def __init__(self, folder: Path) -> None:
        self.path = folder.resolve() / "lock"
        if self.path in _HELD:
            holder = _named(_HELD[self.path])
            raise LedgerError(f"{folder} is in use by {holder}, this one; end that run first, or give another folder")
        self._file = open_private(self.path)
        try:
            owner = self._lock_or_owner()
        except BaseException:
            os.close(self._file)
            raise
        if owner is not None:
            os.close(self._file)
            raise LedgerError(f"{folder} is in use by {owner}; wait until it ends, or give another folder")
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime())
        this = {"pid": os.getpid(), "host": socket.gethostname(), "start": started}
        os.ftruncate(self._file, 0)
        _HELD[self.path] = json.dumps(this).encode() + b"\n"
        write_at(self._file, _HELD[self.path], 0)

    def _lock_or_owner(self) -> str | None:
        """Lock the file and return None, or return the name of the process that has locked it."""
        last = time.monotonic() + NAMING_SECONDS
        while True:
            try:
                lock_at_once(self._file)
            except _BUSY:
                content, pid = read_at(self._file, 1000, 0), lock_owner(self._file)
                if _is_named(content, pid):
                    return _named(content)
                if time.monotonic() > last:
                    return f"process {pid}" if pid else _named(content)
                time.sleep(0.01)
            else:
                return None

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            _HELD.pop(self.path, None)


def lock_folder(folder: Path) -> FolderLock:
    """The lock of a folder; LedgerError where it cannot be had, whatever the reason."""
    try:
        return FolderLock(folder)
    except LedgerError:
        raise
    except OSError as error:
        raise LedgerError(f"{folder} cannot be written to: {error.strerror}; give another folder") from error


def _is_named(content: bytes, pid: int) -> bool:
    """Whether the file names the process `pid`, or one of another machine; 0 is any process."""
    try:
        owner = json.loads(content)
        return pid in (0, owner["pid"]) or owner["host"] != socket.gethostname()
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _named(content: bytes) -> str:
    try:
        owner = json.loads(content)
        return f"process {int(owner['pid'])} on {str(owner['host'])[:100]!r}, started {str(owner['start'])[:30]}"
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return "another process"


NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "lustre", "gpfs", "beegfs", "ceph", "afs", "9p", "ocfs2", "gfs2"}
NETWORK |= {"orangefs", "wekafs", "panfs", "coda", "ncpfs", "davfs", "vboxsf", "prl_fs", "virtiofs"}
NETWORK |= {f"fuse.{name}" for name in ("sshfs", "s3fs", "glusterfs", "ceph", "gcsfuse", "rclone", "davfs2", "juicefs")}
NETWORK |= {f"fuse.{name}" for name in ("blobfuse2", "mount-s3", "goofys", "mfs", "grpcfuse", "vmhgfs-fuse", "osxfs")}
ESCAPED = re.compile(r"\\([0-7]{3})")  # white space and backslashes in /proc/mounts


def network_file_system(folder: Path, mounts: Path = Path("/proc/mounts")) -> str | None:
    """The kind of network file system that `folder` lies on, if the system reports it; else None."""
    try:
        lines = [line.split() for line in mounts.read_text().splitlines()]
    except OSError:
        return None
    place = folder.resolve()
    named = ((ESCAPED.sub(lambda found: chr(int(found[1], 8)), one[1]), one[2]) for one in lines if len(one) > 2)
    points = {Path(point): kind for point, kind in named}
    kind = next((points[above] for above in (place, *place.parents) if above in points), None)
    return kind if kind in NETWORK else None
