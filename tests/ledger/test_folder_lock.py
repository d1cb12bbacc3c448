import json
import os
import socket
import subprocess
import sys
import threading

import pytest

from fewsolves.errors import LedgerError
from fewsolves.ledger.folder_lock import NETWORK, FolderLock, lock_folder, network_file_system

pytestmark = pytest.mark.portable


def test_folder_lock_says_who_holds_it_and_lets_go(tmp_path):
    lock = lock_folder(tmp_path)
    who = json.loads((tmp_path / "lock").read_bytes())
    assert (who["pid"], who["host"]) == (os.getpid(), socket.gethostname())
    lock.close()
    lock.close()
    lock_folder(tmp_path).close()


def test_folder_lock_is_not_given_twice_in_one_process_whatever_the_folder_is_called(tmp_path):
    lock = FolderLock(tmp_path)
    for folder in (tmp_path, tmp_path / "x" / ".."):
        with pytest.raises(LedgerError, match=f"in use by process {os.getpid()} .*, this one"):
            FolderLock(folder)
    lock.close()


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is locked on Windows")
def test_folder_lock_of_another_process_is_refused_with_its_name(tmp_path):
    holds = (
        "import sys; from pathlib import Path; from fewsolves.ledger.folder_lock import FolderLock; "
        "lock = FolderLock(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holds, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        with pytest.raises(LedgerError, match=f"in use by process {other.pid} on .*; wait until it ends"):
            lock_folder(tmp_path)
        other.stdin.close()
        other.wait()
        lock_folder(tmp_path).close()


LOCKED = (
    "import fcntl, os, sys, time\n"
    "file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
    "fcntl.lockf(file, fcntl.LOCK_EX)\n"
    "print('held', flush=True)\n"
    "sys.stdin.readline()\n"
    "os.ftruncate(file, 0)\n"
    "os.pwrite(file, sys.argv[2].replace('PID', str(os.getpid())).encode(), 0)\n"
    "sys.stdin.read()"
)
DEAD = {"pid": 999_999_999, "host": socket.gethostname(), "start": "2026-01-01 00:00:00"}


@pytest.mark.skipif(sys.platform != "linux", reason="the number of an owner is known on Linux")
@pytest.mark.parametrize("before", [b"", json.dumps(DEAD).encode()])
@pytest.mark.parametrize("names_itself", [True, False])
def test_folder_lock_of_a_process_that_has_not_written_its_name_yet_is_refused_with_it(tmp_path, before, names_itself):
    (tmp_path / "lock").write_bytes(before)
    owner = json.dumps(DEAD | {"pid": 0}).replace('"pid": 0', '"pid": PID')
    command = [sys.executable, "-c", LOCKED, tmp_path / "lock", owner]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        if names_itself:
            threading.Timer(0.2, lambda: (other.stdin.write(b"\n"), other.stdin.flush())).start()
        details = " on .*, started 2026-01-01 00:00:00" if names_itself else ""
        with pytest.raises(LedgerError, match=f"in use by process {other.pid}{details}; wait until it ends"):
            lock_folder(tmp_path)
        other.stdin.close()
        other.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is locked on Windows")
def test_folder_lock_of_a_process_that_ends_without_its_name_is_had(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", LOCKED, tmp_path / "lock", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        threading.Timer(0.2, other.stdin.close).start()
        lock_folder(tmp_path).close()
        other.wait()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x", "host": 1, "start": 2}', b"\xff"])
def test_folder_lock_overwrites_whatever_a_dead_process_left(tmp_path, content):
    (tmp_path / "lock").write_bytes(content * 100)
    lock_folder(tmp_path).close()
    assert json.loads((tmp_path / "lock").read_bytes())["pid"] == os.getpid()


def test_folder_lock_of_a_folder_that_is_not_there_is_an_error_with_what_to_do(tmp_path):
    with pytest.raises(LedgerError, match=r"cannot be written to: .*; give another folder"):
        lock_folder(tmp_path / "none")


@pytest.mark.parametrize("kind", ["ext4", "tmpfs", *sorted(NETWORK)])
def test_folder_lock_network_file_systems_are_known_by_the_nearest_mount(tmp_path, kind):
    mounts, place = tmp_path / "mounts", tmp_path.resolve() / "a b\\c"
    escaped = str(place).replace("\\", "\\134").replace(" ", "\\040")
    mounts.write_text(f"dev / nfs rw 0 0\ndev {escaped} {kind} rw 0 0\nodd line\n")
    assert network_file_system(place / "c", mounts) == (kind if kind in NETWORK else None)


def test_folder_lock_where_the_system_tells_nothing_a_folder_is_local(tmp_path):
    assert network_file_system(tmp_path, tmp_path / "none") is None
