"""A cluster that `ray start` has started, with a token, reached by its address; code that travels along."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import uuid
from importlib.util import find_spec
from pathlib import Path

import pytest

from .misbehaviour import TOKEN, survivors_after
from .test_cluster import CLOSED, OURS

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed, though 'fewsolves[dev]' asks for it"),
    pytest.mark.skipif(sys.platform != "linux", reason="processes are counted by /proc"),
    pytest.mark.faults,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("ray"),
]
RAY = Path(sys.executable).with_name("ray")
PLANT = """
import numpy as np

def solve(y_hat):
    return np.array([float("working_dir_files" in __file__), *y_hat])  # where Ray unpacks what travels along

def cost(y, z):
    return 0.0
"""
TRAIN = """
import sys, numpy as np, fewsolves as fs
from fewsolves.oracle import Oracle, SolveConfig

address, how = sys.argv[1:]
import plant
if how == "runtime environment":
    import ray
    ray.init(address, runtime_env={"working_dir": "."}, log_to_driver=False)
problem = fs.Problem(solve=plant.solve, cost=plant.cost)
solving = SolveConfig(workers=2, execution="ray" if how == "runtime environment" else address)
oracle = Oracle(problem, np.arange(4.0)[:, None], solving=solving)
found = np.stack(oracle.labels(np.arange(4)))
oracle.close()
assert np.array_equal(found[:, 1], np.arange(4.0))
assert (found[:, 0] == (how == "runtime environment")).all(), found
print("solved")
"""


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """The address of a cluster on the loopback interface, and the environment of who may connect to it."""
    mark = uuid.uuid4().hex
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    environment = os.environ | CLOSED | {TOKEN: mark, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    command = [str(RAY), "start", "--head", "--block", "--node-ip-address=127.0.0.1", "--num-cpus=2"]
    command += [f"--port={address.rpartition(':')[2]}", "--include-dashboard=false", "--disable-usage-stats"]
    head = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + 300
        while subprocess.run(
            [str(RAY), "status", f"--address={address}"], env=environment, capture_output=True
        ).returncode:
            assert head.poll() is None, head.stderr.read()
            assert time.monotonic() < until
            time.sleep(0.5)
        yield address, environment
    finally:
        head.send_signal(signal.SIGTERM)  # and not `ray stop`, which ends the clusters of everybody on this machine
        head.communicate(timeout=120)
    assert survivors_after(mark, 30.0, OURS) == {}


@pytest.mark.parametrize("how", ["address", "runtime environment"])
def test_a_cluster_of_ray_start_solves_with_its_token_and_with_code_that_travels(started, how, tmp_path):
    address, environment = started
    (tmp_path / "plant.py").write_text(PLANT)
    (tmp_path / "train.py").write_text(TRAIN)
    command = [sys.executable, "-W", "ignore", "train.py", address, how]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400)
    assert done.stdout.endswith("solved\n"), done.stderr[-2000:]


def test_who_has_another_token_is_not_let_in(started, tmp_path):
    address, environment = started
    (tmp_path / "plant.py").write_text(PLANT)
    (tmp_path / "train.py").write_text(TRAIN)
    command = [sys.executable, "-W", "ignore", "train.py", address, "address"]
    stranger = environment | {"RAY_AUTH_TOKEN": secrets.token_hex(32)}
    done = subprocess.run(command, cwd=tmp_path, env=stranger, capture_output=True, text=True, timeout=400)
    assert done.returncode != 0
    assert "solved" not in done.stdout
