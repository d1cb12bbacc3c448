"""What runs where there is no Linux: here, with a Linux that says it is something else and lacks what that has not."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from fewsolves._internal import platform
from fewsolves._internal.platform import LINUX, POSIX, open_private, read_at, write_at
from fewsolves.errors import InputError, NotSupportedError
from problems_of_users import NEWSVENDOR, demand_table

pytestmark = pytest.mark.portable
ELSEWHERE = Path(__file__).parents[1] / "elsewhere.py"
X, Y = demand_table(40)


def fitted(settings, **options):
    options = {"method": "sfge", "predictor": "linear", "settings": settings, "verbose": False} | options
    return fs.DecisionRegressor(NEWSVENDOR, **options).fit(X, Y)


def test_platform_a_fit_by_the_default_needs_nothing_of_linux():
    model = fs.DecisionRegressor(NEWSVENDOR, predictor="linear", verbose=False).fit(X, Y)
    assert model.decide(X[:2]).shape == (2, 3)


def test_platform_a_fit_with_a_folder_goes_on_from_its_ledger(tmp_path, quick):
    first, again = (fitted(quick, folder=tmp_path) for _ in range(2))
    assert np.array_equal(first.predict(X), again.predict(X))
    assert (tmp_path / "ledger.sqlite").exists()


def test_platform_a_model_is_saved_and_loaded(tmp_path, quick):
    model = fitted(quick)
    model.save(tmp_path / "model")
    assert np.array_equal(fs.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.skipif(POSIX, reason="here are worker processes")
@pytest.mark.parametrize("solving", [{"workers": 2}, {"time_limit": 1.0}])
def test_platform_without_posix_worker_processes_are_refused_with_what_to_do(quick, solving):
    with pytest.raises(NotSupportedError, match="workers=1 without limits"):
        fitted(quick, **solving)


@pytest.mark.skipif(LINUX, reason="here memory can be limited")
def test_platform_without_linux_memory_is_not_limited(quick):
    with pytest.raises(InputError, match="Linux"):
        fitted(quick, memory_limit=10**9)


def test_platform_reads_and_writes_in_place_whether_or_not_there_is_pread(tmp_path, monkeypatch):
    file = open_private(tmp_path / "a")
    for content in (b"first\nline", b"other\nline"):
        write_at(file, content, 5)
        assert read_at(file, 100, 5) == content
        assert read_at(file, 3, 0) == bytes(3)
        monkeypatch.delattr(os, "pread", raising=False)
        monkeypatch.delattr(os, "pwrite", raising=False)
    os.close(file)


def test_platform_tells_cores_and_load_whatever_the_system_knows(monkeypatch):
    assert platform.cores() >= 1
    assert platform.load() >= 0
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.delattr(os, "getloadavg", raising=False)
    assert platform.cores() >= 1
    assert platform.load() == 0.0


@pytest.mark.skipif(not LINUX, reason="it is there already")
def test_platform_portable_tests_pass_where_linux_is_hidden():
    few = ["tests/_internal/test_platform.py", "tests/ledger/test_tally.py", "tests/ledger/test_folder_lock.py"]
    done = subprocess.run(
        [sys.executable, ELSEWHERE, "darwin", "win32", "-p", "no:cacheprovider", *few],
        cwd=ELSEWHERE.parents[1],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.count(" passed") == 2
