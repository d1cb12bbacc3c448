"""Many processes on one folder, little memory, prefixes of what was written, and the version before this one."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.reading import open_to_read, verify
from fewsolves.ledger.sqlite.file import LEDGER_FILE
from fewsolves.ledger.tally import TALLY
from fewsolves.oracle import Oracle

from .test_storage import PROBLEM, Y

ROOT = Path(__file__).parents[2]
LOG_HEADER, FRAME_HEADER = 32, 24  # bytes of a write-ahead log of SQLite
SHARING = """
import json, sys
import numpy as np
import fewsolves as fs
def solve(y): return np.ceil(y)
def cost(y, z): return float(abs(y - z).sum())
Y = np.arange(20.0).reshape(10, 2) + 0.5
problem = fs.Problem(solve=solve, cost=cost, remember=sys.argv[1])
oracle = fs.Oracle(problem, Y)
found = oracle.regret(np.arange(10), Y + 0.25, phase="online")
oracle.close()
print(json.dumps(found.tolist()))
"""
OWNING = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from faults.test_storage import PROBLEM, Y
from fewsolves.errors import LedgerError
from fewsolves.ledger.ledger import open_ledger
from fewsolves.oracle import Oracle
import numpy as np
try:
    ledger = open_ledger(Path(sys.argv[1]), PROBLEM, Y, identity="a")
except LedgerError as error:
    print("refused" if "in use by process" in str(error) else error)
else:
    Oracle(PROBLEM, Y, ledger=ledger).optimum(np.arange(len(Y)))
    time.sleep(0.2)
    ledger.close()
    print("paid")
"""


def started(text: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", text.replace("{tests!r}", repr(str(ROOT / "tests"))), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said(processes: list[subprocess.Popen[str]]) -> list[str]:
    found = [one.communicate(timeout=500) for one in processes]
    assert [errors for _, errors in found if "Traceback" in errors] == []
    return [output.strip() for output, _ in found]


@pytest.mark.parametrize("number", [3, pytest.param(20, marks=pytest.mark.faults)])
def test_many_processes_share_one_folder_of_remembered_answers(number, tmp_path):
    answers = said([started(SHARING, str(tmp_path)) for _ in range(number)])
    assert len(set(answers)) == 1
    assert len(json.loads(answers[0])) == 10


@pytest.mark.parametrize("number", [3, pytest.param(20, marks=pytest.mark.faults)])
def test_many_processes_have_one_ledger_one_after_the_other(number, tmp_path):
    answers = said([started(OWNING, str(tmp_path / "run")) for _ in range(number)])
    assert set(answers) <= {"paid", "refused"}
    assert "paid" in answers
    assert not verify(open_to_read(tmp_path / "run")).damaged


def cuts(log: bytes) -> list[int]:
    """Lengths to cut a log to: after each frame, and in the header, after it and in the page of each."""
    frame = FRAME_HEADER + int.from_bytes(log[8:12], "big")
    starts = range(LOG_HEADER, len(log), frame)
    assert starts[-1] + frame == len(log), "a log of whole frames"
    within = (1, FRAME_HEADER // 2, FRAME_HEADER, frame // 2, frame - 1)
    return [0, 1, LOG_HEADER - 1, *(start + k for start in starts for k in (0, *within)), len(log)]


@pytest.mark.slow
def test_many_prefixes_of_the_log_each_open_with_the_answers_of_whole_commits(tmp_path):
    ledger = open_ledger(tmp_path / "run", PROBLEM, Y, identity="a")
    oracle = Oracle(PROBLEM, Y, ledger=ledger)
    for row in range(len(Y)):
        oracle.optimum(np.array([row]))
    log = (tmp_path / "run" / f"{LEDGER_FILE}-wal").read_bytes()
    main, before = (tmp_path / "run" / LEDGER_FILE).read_bytes(), -1
    tally = (tmp_path / "run" / TALLY).read_bytes()
    ledger.close()
    again = open_ledger(tmp_path / "run", PROBLEM, Y, identity="a")
    ended = again.opened_with
    again.close()
    assert ended > 0
    for length in cuts(log):
        folder = tmp_path / "cut"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / LEDGER_FILE).write_bytes(main)
        (folder / f"{LEDGER_FILE}-wal").write_bytes(log[:length])
        (folder / TALLY).write_bytes(tally)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            again = open_ledger(folder, PROBLEM, Y, identity="a")
        found = again.opened_with
        again.close()
        assert ["was removed or cut" in str(one.message) for one in caught] == [True] * (found < ended)
        assert found >= before, "a longer prefix has no less"
        before = found
        assert not verify(open_to_read(folder)).damaged
    assert before == ended, "the whole log has all of it"


MEMORY = """
import resource, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
import numpy as np
from faults.test_storage import PROBLEM, Y
from fewsolves.errors import FewsolvesError
from fewsolves.ledger.ledger import open_ledger
from fewsolves.oracle import Oracle
used = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[2]),) * 2)
try:
    ledger = open_ledger(Path(sys.argv[1]), PROBLEM, Y, identity="a")
    oracle = Oracle(PROBLEM, Y, ledger=ledger)
    for row in range(len(Y)):
        oracle.optimum(np.array([row]))
        print(row, flush=True)
    ledger.close()
except (MemoryError, FewsolvesError) as error:
    print(type(error).__name__, flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("room", [0, 1 << 20, *(pytest.param(k << 18, marks=pytest.mark.faults) for k in range(1, 64))])
def test_many_memory_limits_lose_nothing_that_was_acknowledged(room, tmp_path):
    assert resource.RLIMIT_AS is not None
    process = started(MEMORY, str(tmp_path / "run"), str(room))
    output, errors = process.communicate(timeout=300)
    acknowledged = [line for line in output.split() if line.isdigit()]
    assert process.returncode == 0, errors
    if (tmp_path / "run" / LEDGER_FILE).exists():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ledger = open_ledger(tmp_path / "run", PROBLEM, Y, identity="a")
        assert ledger.opened_with >= len(acknowledged)
        ledger.close()


RELEASE, SCHEMA_BEFORE, SAME_SCHEMA = "e118d38", "d01bea9^", "5e10b34"  # the first one is version 0.1.0
FIT = """
import sys, warnings
import numpy as np
import fewsolves as fs
warnings.simplefilter("ignore")
def solve(y):
    return np.ceil(y)
def cost(y, z):
    return float(np.sum(z + 9 * np.maximum(y - z, 0)))
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2)); Y = 10 + X + rng.gamma(1.0, 2.0, size=(30, 2))
settings = {"max_epochs": 2, "start_epochs": 5}
options = {"predictor": "linear", "settings": settings, "random_state": int(sys.argv[2]), "folder": sys.argv[1]}
try:
    model = fs.DecisionRegressor(fs.Problem(solve=solve, cost=cost), "sfge", verbose=False, **options).fit(X, Y)
    print("paid", model.calls_.total("solve"), model.calls_.shared["solve"])
except fs.FewsolvesError as error:
    print("ours:", error)
"""


def version_before(commit: str, folder: Path) -> Path:
    """The source of an older version, out of the history of the repository."""
    packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip(f"the history of the repository has no {commit}")
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed.stdout, check=True)
    return folder / "src"


@pytest.mark.faults
@pytest.mark.timeout(900)
@pytest.mark.parametrize("older_first", [True, False])
@pytest.mark.parametrize("commit", [RELEASE, SCHEMA_BEFORE, SAME_SCHEMA])
def test_many_versions_take_turns_on_one_ledger_and_lose_nothing(commit, older_first, tmp_path):
    """Each turn is a run of its own, that finds the labels of those before; a newer schema is refused in a sentence."""
    older = version_before(commit, tmp_path / "before")
    counted = []
    for turn in range(4):
        is_older = (turn % 2 == 0) == older_first
        source = older if is_older else Path(fs.__file__).parents[1]
        command = [sys.executable, "-c", FIT, str(tmp_path / "run"), str(turn)]
        environment = os.environ | {"PYTHONPATH": str(source)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        said = done.stdout.strip()
        if is_older and turn > 0 and commit != SAME_SCHEMA:
            assert said.startswith("ours:")
            assert re.search(r"it has format \d+, .*this version of fewsolves reads .*\. Nothing was paid", said), said
        else:
            assert said.startswith("paid"), said
            counted.append(int(said.split()[-1]))
    assert counted[0] == 0
    assert min(counted[1:]) >= 30, "the labels that the runs before have paid are used"
    assert not verify(open_to_read(tmp_path / "run")).damaged
