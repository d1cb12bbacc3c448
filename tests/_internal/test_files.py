from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from fewsolves._internal.files import memory_bytes, write_whole


def test_files_a_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path):
    path = tmp_path / "new" / "folder" / "a.txt"
    write_whole(path, "one\n")
    write_whole(path, "zwei ü\n")
    assert path.read_bytes() == "zwei ü\n".encode()
    write_whole(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert list(path.parent.iterdir()) == [path]


def test_files_what_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "half \ud800")

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_files_a_private_file_is_the_users_alone(tmp_path):
    write_whole(tmp_path / "a", "x", private=True)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_files_a_link_that_lies_in_the_way_is_not_followed(tmp_path):
    (tmp_path / "victim").write_text("kept")
    for name in ("a", f".a.{os.getpid()}.part"):
        (tmp_path / name).symlink_to(tmp_path / "victim")
    write_whole(tmp_path / "a", "new")
    assert (tmp_path / "victim").read_text() == "kept"
    assert (tmp_path / "a").read_text() == "new"


def test_files_memory_is_that_of_the_container_where_it_has_less(tmp_path):
    limit = tmp_path / "memory.max"
    whole = memory_bytes([limit])
    limit.write_text("max\n")
    assert memory_bytes([limit]) == whole
    limit.write_text("1048576\n")
    assert memory_bytes([limit]) == 1 << 20


@pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="there are no such devices")
def test_files_a_device_is_not_replaced(tmp_path):
    """A report to /dev/full, written by root, replaced it."""
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    for path in (Path("/dev/null"), link):
        with pytest.raises(OSError, match="it is a device, not a file"):
            write_whole(path, "lost")
    assert Path("/dev/null").is_char_device()
