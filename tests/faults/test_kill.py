"""A1, A3: kill -9 at random times, also soon after a restart. What is acknowledged is never lost nor paid twice."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .killing import on_record

KILLING = Path(__file__).parent / "killing.py"


def killed(*options, kills):
    command = [sys.executable, str(KILLING), "--kills", str(kills), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    print(result)
    assert result["kills"] == kills
    assert result["acknowledged_and_lost"] == result["survivors"] == 0
    assert result["differing_results"] == 0
    assert result["runs_that_paid_for_more_than_what_was_in_flight"] == 0
    return result


@pytest.mark.parametrize("run", [("toy-64", "sfge", "1"), ("user", "staged", "2")], ids="-".join)
def test_kill_a_few_kills(run):
    result = killed("--benchmark", run[0], "--method", run[1], "--workers", run[2], kills=3)
    assert result["in_flight_at_the_most"] <= 32


def test_kill_a_few_kills_without_checkpoints():
    killed("--benchmark", "wsmc-10-50", "--method", "gp-surrogate", "--checkpoints", "1e9", kills=2)


@pytest.mark.faults
@pytest.mark.timeout(1600)
@pytest.mark.parametrize(
    ("benchmark", "method"),
    [("toy-64", "sfge"), ("kp-weights", "gp-surrogate"), ("wsmc-10-50", "gp-surrogate"), ("user", "staged")],
)
def test_kill_a_hundred_kills(benchmark, method, record_property):
    result = killed("--benchmark", benchmark, "--method", method, "--seed", "1", kills=25)
    record_property("kills of the trainer", result["kills"])
    record_property("acknowledged and lost", result["acknowledged_and_lost"])


OTHER_KERNELS = {"ATEN_CPU_CAPABILITY": "default", "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F"}
CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from killing import Path, train; place = Path(sys.argv[2])\n"
    "folder = place / 'run' if sys.argv[3] == 'folder' else None\n"
    "train('kp-weights', 'sfge', folder, place / 'log', place / 'digest', seconds=0.005)"
)


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_kill_a_resume_with_other_kernels_pays_for_nothing_twice(tmp_path):
    """A12: another machine computes other last bits; what was paid is found by its position in the run."""

    def started(place, how, **more):
        (tmp_path / place).mkdir(exist_ok=True)
        command = [sys.executable, "-c", CODE, str(KILLING.parent), str(tmp_path / place), how]
        return subprocess.Popen(command, env=os.environ | more, stderr=subprocess.PIPE)

    def solves(place):
        log = tmp_path / place / "log"
        return len(log.read_text().splitlines()) if log.exists() else 0

    for place, kernels in {"here": {}, "there": OTHER_KERNELS}.items():
        started(place, "none", **kernels).communicate()
    if (tmp_path / "here/digest").read_text() == (tmp_path / "there/digest").read_text():
        pytest.skip("both sets of kernels give the same bits on this machine")
    process = started("both", "folder")
    while solves("both") < 220 and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert 220 <= solves("both") < solves("here")
    in_flight = solves("both") - len(on_record(tmp_path / "both" / "run"))
    started("both", "folder", **OTHER_KERNELS).communicate()
    assert solves("both") == solves("here") + in_flight
