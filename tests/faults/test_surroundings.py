"""Surroundings that a program does not choose: rights, HOME, temporary files, clocks, locks, notebooks."""

import errno
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import LedgerError
from fewsolves.execution.processes import Processes
from fewsolves.ledger import folder_lock, opening
from fewsolves.ledger import ledger as ledger_module
from fewsolves.ledger.ledger import open_ledger
from fewsolves.oracle import Oracle
from fewsolves.reporting import watch
from problems_of_users import NEWSVENDOR, QUICK, demand_table

X, Y = demand_table(12)
SOURCE = Path(fs.__file__).parent
WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="rights cannot be given up here")
@pytest.mark.parametrize("home", ["/proc", ""], ids=["not to be written", "none"])
def test_surroundings_without_rights_and_without_a_home_machine_code_is_compiled_again_with_a_warning(home, tmp_path):
    package = tmp_path / "src" / "fewsolves"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        folder.chmod(0o555)
    given = os.environ | {"HOME": home, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    if not home:
        del given["HOME"]  # then that of the list of users, in place of which stands:
        given["XDG_CACHE_HOME"] = "/proc"
    code = "import fewsolves\nfrom fewsolves.methods.gp_surrogate.gp import fit, processes\nprint(fewsolves.__file__)"
    done = subprocess.run(
        [*WITHOUT_RIGHTS, sys.executable, "-c", code], env=given, capture_output=True, text=True, timeout=200
    )
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(package / "__init__.py")
    assert "set NUMBA_CACHE_DIR" in done.stderr


@pytest.mark.parametrize("place", ["/dev/full", "/proc"])
def test_surroundings_a_folder_for_temporary_files_that_cannot_be_used_is_not_needed(place, tmp_path, monkeypatch):
    for name in ("TMPDIR", "TEMP", "TMP", "SQLITE_TMPDIR"):
        monkeypatch.setenv(name, place)
    ledger = open_ledger(tmp_path, NEWSVENDOR, Y, identity="a")
    workers = Processes(NEWSVENDOR, 1)
    try:
        Oracle(NEWSVENDOR, Y, ledger=ledger).regret(np.arange(12), Y, phase="online")
        assert sum(len(answers.values) for answers in workers.solve(np.arange(12), Y)) == 12
    finally:
        workers.close()
        ledger.close()


FULL = "mount -t tmpfs -o size=4k none {0} && head -c 9k /dev/zero > {0}/full 2> {0}/full; exec {1} -c "
ITS_OWN = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
WITH_A_FULL_TMPDIR = """
import sys, pytest, fewsolves as fs
from pathlib import Path
from fewsolves.errors import LedgerError
from fewsolves.ledger.reading import open_to_read
from problems_of_users import NEWSVENDOR, demand_table

options = {"method": "sfge", "predictor": "linear", "workers": 2, "settings": {"max_epochs": 1}, "verbose": False}
fitted = fs.DecisionRegressor(NEWSVENDOR, folder=sys.argv[1] + "/run", **options).fit(*demand_table(20))
fitted.save(sys.argv[1] + "/model")
open_to_read(Path(sys.argv[1], "run")).close()
with pytest.raises(LedgerError, match="no room for a temporary copy.*set SQLITE_TMPDIR"):
    open_to_read(Path(sys.argv[2]))
print("all as expected")
"""


@pytest.mark.skipif(
    shutil.which("unshare") is None or subprocess.run([*ITS_OWN, "true"], capture_output=True).returncode != 0,
    reason="no file system can be mounted here",
)
def test_surroundings_a_full_folder_for_temporary_files_is_needed_only_to_read_an_older_ledger(tmp_path):
    full, tests = tmp_path / "full", Path(__file__).parents[1]
    full.mkdir()
    older = shutil.copytree(tests / "ledger/written_by/0.1.0-e118d38/finished", tmp_path / "older")
    given = shlex.join([WITH_A_FULL_TMPDIR, str(tmp_path), str(older)])
    program = FULL.format(full, f"{sys.executable} -W ignore") + given
    environment = os.environ | {"TMPDIR": str(full), "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])}
    done = subprocess.run([*ITS_OWN, "sh", "-c", program], env=environment, capture_output=True, text=True, timeout=250)
    assert done.stdout == "all as expected\n", done.stderr


def test_surroundings_a_clock_that_jumps_ends_no_solve_and_starts_none_late(monkeypatch):
    jumps = iter(range(10**9))
    monkeypatch.setattr(time, "time", lambda: (-1) ** next(jumps) * 86_400.0)
    workers = Processes(fs.Problem(solve=lambda y: y, cost=max), 1, time_limit=20.0)
    try:
        assert sum(len(answers.values) for answers in workers.solve(np.arange(12), Y)) == 12
    finally:
        workers.close()
    used = [path for path in SOURCE.rglob("*.py") if "time.time()" in path.read_text()]
    assert {path.parent.name for path in used} <= {"reporting", "training", "runs"}, "deadlines are monotonic"


def test_surroundings_a_clock_that_steps_changes_neither_a_run_nor_what_is_shown_of_it(tmp_path, monkeypatch):
    """Back by a day and forth at every reading: in the run, in one that is started again, and while it is watched."""
    options = {"method": "sfge", "predictor": "linear", "settings": QUICK, "verbose": False}
    still = fs.DecisionRegressor(NEWSVENDOR, folder=tmp_path / "still", **options).fit(X, Y)
    steps = itertools.count()
    for module in (opening, ledger_module, watch):
        monkeypatch.setattr(module, "now", lambda: 1.8e9 + (-1) ** next(steps) * 86_400.0)
    for _ in range(2):
        stepped = fs.DecisionRegressor(NEWSVENDOR, folder=tmp_path / "stepped", **options).fit(X, Y)
        assert np.array_equal(stepped.predict(X), still.predict(X))
        assert stepped.calls_.counts == still.calls_.counts
        for _ in range(2):
            page = watch.Watch(tmp_path / "stepped").page()
            assert re.search(r"-\d+(\.\d+)? (s|min|h|days?)\b", page) is None, "no negative durations"
    assert next(steps) > 20


def test_surroundings_a_network_file_system_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "network_file_system", lambda folder: "nfs4")
    with pytest.raises(LedgerError, match=r"is on a network file system \(nfs4\).*give one on a local disk"):
        open_ledger(tmp_path, NEWSVENDOR, Y, identity="a")


def test_surroundings_a_file_system_without_locks_is_reported(tmp_path, monkeypatch):
    def refused(file):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(folder_lock, "lock_at_once", refused)
    with pytest.raises(LedgerError, match="cannot be written to: No locks available; give another folder"):
        open_ledger(tmp_path, NEWSVENDOR, Y, identity="a")


def test_surroundings_a_notebook_runs_in_a_thread_that_hears_no_signals(tmp_path):
    """As in Jupyter: a running event loop, and a thread other than the main one."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    def fitted():
        options = {"method": "pfl", "predictor": "linear", "verbose": False, "folder": tmp_path}
        return fs.DecisionRegressor(NEWSVENDOR, **options).fit(X, Y)

    async def cell():
        in_the_loop = fitted()
        with ThreadPoolExecutor(1) as pool:
            in_a_thread = await asyncio.get_running_loop().run_in_executor(pool, fitted)
        return in_the_loop, in_a_thread

    one, other = asyncio.run(cell())
    assert np.array_equal(one.predict(X), other.predict(X))
