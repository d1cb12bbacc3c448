"""A lock file: one process at a time in a folder, and the file names its owner.

The operating system releases the lock when its process ends, however it ends, so the file of a dead process is taken
over. Forked children do not inherit the lock: a solver's child that outlives the trainer blocks no later run. Such
locks cannot distinguish two holders in one process, so `_HELD` lists those.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from pathlib import Path

from fewsolves._internal.platform import lock_at_once, open_private, read_at, write_at
from fewsolves.errors import LedgerError

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
            lock_at_once(self._file)
        except OSError as error:
            holder = _named(read_at(self._file, 1000, 0))
            os.close(self._file)
            if not isinstance(error, BlockingIOError | PermissionError):  # EAGAIN or EACCES: another process holds it
                raise
            raise LedgerError(f"{folder} is in use by {holder}; wait until it ends, or give another folder") from None
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime())
        owner = {"pid": os.getpid(), "host": socket.gethostname(), "start": started}
        os.ftruncate(self._file, 0)
        _HELD[self.path] = json.dumps(owner).encode() + b"\n"
        write_at(self._file, _HELD[self.path], 0)

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
