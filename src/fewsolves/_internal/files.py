"""Files written whole or not at all, whenever that is cut short, and read only if they are what they seem."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from fewsolves._internal.platform import POSIX

CONTAINER_LIMITS = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Replace `path` by `content`, folders included: a reader finds the old file or the new one, never a part.

    Written beside, synced, renamed, and the folder synced; text is UTF-8. A `private` file is the user's alone.
    """
    check_name(path)
    if path.is_char_device() or path.is_block_device():  # which root could replace
        raise OSError(errno.EINVAL, "it is a device, not a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = content.encode() if isinstance(content, str) else content
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    beside.unlink(missing_ok=True)
    try:
        # O_EXCL: never through a link that lies there
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        with os.fdopen(file, "wb") as stream:
            stream.write(packed)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
        _sync_folder(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    if not POSIX:
        return  # a folder cannot be opened there
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def remedy(error: OSError) -> str:
    """What lets a file be written that this error kept from it, as an imperative."""
    if error.errno in (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", None)):
        return "make room"
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "raise the limit of open files (ulimit -n), or close some"
    return "remove the cause"


def check_name(path: Path) -> None:
    """Raise OSError where no file system has such a name; the system's own calls raise errors of several kinds."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise OSError(errno.EINVAL, f"its name has a character that cannot be encoded: {error.reason}") from error
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "its name has a NUL character")


def check_regular(path: Path, most: int | None = None) -> int:
    """The size of a file; OSError if it is none (a pipe, a device), or if it has more than `most` bytes.

    Without `most`, half of the memory of this machine: what is read must fit.
    """
    check_name(path)
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(f"{path} is no regular file")
    largest = memory_bytes() // 2 if most is None else most
    if found.st_size > largest:
        raise OSError(f"{path} has {found.st_size:,} bytes, at most {largest:,} are read")
    return found.st_size


def memory_bytes(limits: Sequence[Path] = CONTAINER_LIMITS) -> int:
    """The memory of this machine, or of this container where that is less; a guess where the system does not say."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        found = 8 << 30
    for path in limits:
        with contextlib.suppress(OSError, ValueError):  # "max": no limit
            found = min(found, int(path.read_text()))
    return found
