"""A cluster that `ray start` has started, with a token, reached by its address; code that travels along.

The jobs of docs/cluster.md for SLURM and Kubernetes run with Ray itself, and with stand-ins for `srun` and `kubectl`.
"""

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
from shutil import which

import pytest
from tests.test_cluster_pages import COMMANDS, KUBECTL, MANIFEST, SLURM, STAND_INS, stand_ins

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
def test_ray_start_a_cluster_of_ray_start_solves_with_its_token_and_with_code_that_travels(started, how, tmp_path):
    address, environment = started
    (tmp_path / "plant.py").write_text(PLANT)
    (tmp_path / "train.py").write_text(TRAIN)
    command = [sys.executable, "-W", "ignore", "train.py", address, how]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400)
    assert done.stdout.endswith("solved\n"), done.stderr[-2000:]


def test_ray_start_who_has_another_token_is_not_let_in(started, tmp_path):
    address, environment = started
    (tmp_path / "plant.py").write_text(PLANT)
    (tmp_path / "train.py").write_text(TRAIN)
    command = [sys.executable, "-W", "ignore", "train.py", address, "address"]
    stranger = environment | {"RAY_AUTH_TOKEN": secrets.token_hex(32)}
    done = subprocess.run(command, cwd=tmp_path, env=stranger, capture_output=True, text=True, timeout=400)
    assert done.returncode != 0
    assert "solved" not in done.stdout


ON_A_CLUSTER = """
import os, sys, numpy as np, fewsolves as fs

def solve(y_hat):
    with open("{log}", "a") as log:
        log.write(f"{{os.getpid()}}\\n")
    return y_hat

problem = fs.Problem(solve=solve, cost=lambda y, z: float(np.sum(z + 9 * np.maximum(y - z, 0))))
X = np.random.default_rng(0).normal(size=(30, 2))
options = {{"method": "sfge", "predictor": "linear", "settings": {{"max_epochs": 2}}, "verbose": False}}
model = fs.DecisionRegressor(problem, workers=2, execution={execution}, folder="{folder}", **options).fit(X, 9 + X)
pids = open("{log}").read().split()
assert str(os.getpid()) not in pids, "the solves were elsewhere"
print("paid", model.calls_.total("solve") == len(pids), flush=True)
"""


def test_ray_start_the_job_for_kubernetes_trains_on_the_cluster_that_the_operator_names(started, tmp_path):
    address, environment = started
    log, folder = tmp_path / "solves", tmp_path / "ledger"
    (tmp_path / "job.yaml").write_text(MANIFEST)
    (tmp_path / "train.py").write_text(ON_A_CLUSTER.format(log=log, folder=folder, execution="'ray'"))
    given = environment | stand_ins(tmp_path, {"kubectl": KUBECTL}) | {"APP": str(tmp_path), "CLUSTER": address}
    given = given | {name: environment[name] for name in ("RAY_AUTH_TOKEN", "PYTHONPATH", TOKEN)}
    command = ["bash", "-ec", COMMANDS]
    done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "said").read_text() == "paid True\n", done.stderr[-2000:]


APART = ["unshare", "--pid", "--fork", "--mount-proc", "--net", "--kill-child"]  # `ray stop` ends all that it can see
APART += [] if os.geteuid() == 0 else ["--map-root-user"]
UP = "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh14x', b'lo', 0x1 | 0x40))"


@pytest.mark.skipif(
    which("unshare") is None or subprocess.run([*APART, "true"], capture_output=True).returncode != 0,
    reason="no namespace of processes can be made here",
)
def test_ray_start_the_job_for_slurm_trains_on_the_cluster_that_it_starts(tmp_path):
    """With one node in place of four, two processors in place of 32."""
    log, folder = tmp_path / "solves", tmp_path / "ledger"
    execution = "os.environ['HEAD']"
    (tmp_path / "train.py").write_text(ON_A_CLUSTER.format(log=log, folder=folder, execution=execution))
    (tmp_path / "job.sh").write_text(
        SLURM.replace("--min-nodes 4", "--min-nodes 1").replace("--num-cpus 32", "--num-cpus 2")
    )
    here = {"scontrol": STAND_INS["scontrol"].replace("node1", "127.0.0.1"), "srun": STAND_INS["srun"]}
    given = stand_ins(tmp_path, here) | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    given["PATH"] = f"{tmp_path}:{RAY.parent}:{given['PATH']}"
    script = f'{sys.executable} -c "{UP}" && ray get-auth-token --generate > token && exec bash job.sh'
    command = [*APART, "bash", "-ec", script]
    done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, timeout=400)
    assert "paid True\n" in done.stdout, done.stdout[-1000:] + done.stderr[-2000:]
