"""C1, C2, C3, C5, C7: a Ray cluster of two nodes on this machine, of which workers, nodes or the driver are killed."""

import contextlib
import ctypes
import os
import secrets
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import InputError, SolverError
from fewsolves.execution.ray import Cluster
from fewsolves.oracle import Oracle, SolveConfig
from fewsolves.testing import APART_CHECKS, EXECUTION_CHECKS

from .misbehaviour import TOKEN, Log, kill_ray_worker, survivors, survivors_after

pytestmark = [
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed, though 'fewsolves[dev]' asks for it"),
    pytest.mark.skipif(sys.platform != "linux", reason="processes are counted by /proc"),
    pytest.mark.filterwarnings("ignore"),  # of Ray's own
    pytest.mark.slow,
    pytest.mark.xdist_group("ray"),  # one process starts the cluster and runs all of these
]
OURS = b"fewsolves"  # in the command lines of guards and workers; Ray's own processes may take longer to end
ON_TWO = SolveConfig(workers=2, execution="ray")
CLOSED = {  # as fewsolves sets up a cluster of its own: for this machine and with a token
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}


@pytest.fixture
def alone(monkeypatch):
    """A solve of 0.2 s is longer than a chunk, so that each is sent alone: a loss costs the row in work."""
    monkeypatch.setattr("fewsolves.execution.ray.RAY_CHUNK_SECONDS", 0.1)


@pytest.fixture(scope="module")
def nodes():
    """Two nodes that solve one row at a time each."""
    mark = uuid.uuid4().hex
    with pytest.MonkeyPatch.context() as environment:
        for name, value in {TOKEN: mark, "RAY_AUTH_TOKEN": secrets.token_hex(32), **CLOSED}.items():
            environment.setenv(name, value)
        import ray
        from ray.cluster_utils import Cluster as Nodes

        made = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            made.add_node(num_cpus=1)
            ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
            yield made
        finally:
            ray.shutdown()
            made.shutdown()
    assert survivors_after(mark, 60.0, OURS) == {}


@pytest.mark.parametrize("check", (*EXECUTION_CHECKS, *APART_CHECKS), ids=lambda check: check.__name__)
def test_cluster_ray_keeps_the_contract_of_an_execution(nodes, check):
    check("ray", 2)


def table(n):
    return np.arange(n), np.arange(float(n))[:, None]


def run(problem, n):
    """All answers; each row is answered once."""
    rows, Y = table(n)
    cluster = Cluster(problem, 2)
    landed = {}
    try:
        for answers in cluster.solve(rows, Y):
            for k, value in zip(answers.at.tolist(), answers.values, strict=True):
                assert k not in landed
                landed[k] = value
    finally:
        cluster.close()
    assert sorted(landed) == rows.tolist()
    return landed


def test_cluster_c1_c5_killed_and_crashed_workers_cost_their_own_row_once_more_and_nothing_that_landed(
    nodes, alone, tmp_path
):
    log, lost, crashed = Log(tmp_path / "log"), tmp_path / "lost", tmp_path / "crashed"

    def solve(y):
        log.write(y[0])
        if y[0] == 7 and not lost.exists():
            lost.touch()
            kill_ray_worker()
            time.sleep(60)
        if y[0] == 3 and not crashed.exists():
            crashed.touch()
            ctypes.string_at(0)
        time.sleep(0.3)
        return y * 2

    oracle = Oracle(fs.Problem(solve=solve, cost=lambda y, z: 0.0), table(12)[1], solving=ON_TWO)
    try:
        decisions = oracle.labels(np.arange(12))
    finally:
        oracle.close()
    assert np.array_equal(np.stack(decisions), 2 * table(12)[1])
    assert log.counts() == Counter(range(12)) + Counter([3, 7])
    assert oracle.calls.counts["solve"]["labels"] == 14
    assert oracle.failures.failed == []


def test_cluster_an_unusable_problem_is_reported(nodes):
    def build():
        raise ImportError("no solver here")  # what may pass is tried again, after pauses

    with pytest.raises(InputError, match="ImportError: no solver here"):
        run(fs.Problem(factory=build), 3)


PROGRAM = """
import sys, numpy as np, fewsolves as fs
from fewsolves.oracle import Oracle, SolveConfig

problem = fs.Problem(solve=lambda y: 2 * y, cost=lambda y, z: 0.0)
oracle = Oracle(problem, np.ones((1, 1)), solving=SolveConfig(execution=sys.argv[1]))
assert oracle.labels(np.arange(1))[0] == 2
print("solved", flush=True)
input()
oracle.close()
"""


def program(address):
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, address]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_cluster_with_a_token_is_joined_by_its_address(nodes):
    with program(nodes.address) as joined:
        assert joined.stdout.readline() == "solved\n"
        joined.communicate("\n")
    assert joined.returncode == 0


EXAMPLE = """
import runpy, sys, fewsolves as fs
small = {"rows": 20, "verbose": False, "settings": {"start_epochs": 20}, "budget": fs.Budget(solves=150)}
compared = runpy.run_path(sys.argv[1])["main"](**small)
assert len(compared.lines) == 2, "beside its start"
assert compared.lines[1].interval is not None
"""


def test_cluster_example_compares_its_model_with_prediction_alone(nodes):
    """It joins this cluster, so that none is started for it; that `execution="ray"` starts one is tried below."""
    path = Path(__file__).parents[2] / "examples" / "17_cluster_ray.py"
    environment = os.environ | {"RAY_ADDRESS": nodes.address}
    command = [sys.executable, "-c", EXAMPLE, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def listening(pids):
    """Addresses (hexadecimal, as the kernel writes them) on which these processes listen."""
    sockets = set()
    for pid in pids:
        with contextlib.suppress(OSError):  # it ended meanwhile
            for file in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    sockets.add(str(file.readlink()).removeprefix("socket:[").rstrip("]"))
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    return [line[1].split(":")[0] for line in lines if line[3] == "0A" and line[9] in sockets]


def test_cluster_that_is_started_here_listens_on_the_loopback_interface_only(monkeypatch):
    mark = uuid.uuid4().hex
    monkeypatch.setenv(TOKEN, mark)
    for name in ("RAY_ADDRESS", "RAY_AUTH_TOKEN", *CLOSED):
        monkeypatch.delenv(name, raising=False)
    with program("ray") as trainer:
        assert trainer.stdout.readline() == "solved\n"
        found = listening(survivors(mark))
        trainer.communicate("\n")
    assert len(found) >= 3
    assert {address[-8:] for address in found} == {"0100007F"}  # 127.0.0.1, in IPv6's way of writing too
    assert trainer.returncode == 0
    assert survivors_after(mark, 60.0, OURS) == {}


@pytest.mark.faults
def test_cluster_who_has_no_token_is_not_let_in(nodes, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    with program(nodes.address) as stranger:
        _, said = stranger.communicate("\n")
    assert stranger.returncode != 0
    assert "ConnectionError" in said


@pytest.mark.faults
def test_cluster_c1_rows_of_a_lost_chunk_are_sent_again(nodes, tmp_path):
    log, once = Log(tmp_path / "log"), tmp_path / "once"

    def solve(y):
        log.write(y[0])
        if y[0] == 150 and not once.exists():
            once.touch()
            kill_ray_worker()
        return y * 2

    oracle = Oracle(fs.Problem(solve=solve, cost=lambda y, z: 0.0), table(300)[1], solving=ON_TWO)
    try:
        decisions = oracle.labels(np.arange(300))
    finally:
        oracle.close()
    assert np.array_equal(np.stack(decisions), 2 * table(300)[1])
    assert log.counts().total() <= oracle.calls.total("solve"), "what was sent is paid, whether it had begun or not"
    again = [row for row, times in log.counts().items() if times > 1]
    assert 150 in again
    assert max(log.counts().values()) == 2
    assert sorted(again) == list(range(min(again), max(again) + 1))  # what its one chunk had come to, no more


@pytest.mark.faults
def test_cluster_c5_ray_does_not_try_again_behind_our_back(nodes, tmp_path):
    log = Log(tmp_path / "log")

    def solve(y):
        log.write(y[0])
        return ctypes.string_at(0) if y[0] == 3 else y

    oracle = Oracle(fs.Problem(solve=solve, cost=lambda y, z: 0.0), table(8)[1], solving=ON_TWO)
    try:
        with pytest.raises(SolverError, match="died of SIGSEGV at row 3"):
            oracle.labels(np.arange(8))
    finally:
        oracle.close()
    assert log.counts() == Counter(range(8)) + Counter([3])  # our one retry after a crash, no more
    assert oracle.calls.counts["solve"]["labels"] == 9


@pytest.mark.faults
@pytest.mark.timeout(1600)
def test_cluster_c1_fifty_killed_workers_lose_nothing_that_landed(nodes, alone, tmp_path, record_property):
    log, killed = Log(tmp_path / "log"), set(range(3, 153, 3))

    def solve(y):
        log.write(y[0])
        time.sleep(0.3)
        if y[0] in killed and not (tmp_path / f"{y[0]:.0f}").exists():
            (tmp_path / f"{y[0]:.0f}").touch()
            kill_ray_worker()
            time.sleep(60)
        return y * 2

    rows, Y = table(160)
    oracle = Oracle(fs.Problem(solve=solve, cost=lambda y, z: 0.0), Y, solving=ON_TWO)
    try:
        decisions = oracle.labels(rows)
    finally:
        oracle.close()
    record_property("workers of Ray killed", sum((tmp_path / f"{row}").exists() for row in killed))
    record_property("calls beyond those paid for", max(0, log.counts().total() - oracle.calls.total("solve")))
    assert np.array_equal(np.stack(decisions), 2 * Y)
    assert len(killed) == 50
    assert log.counts() == Counter(range(160)) + Counter(killed), "each kill costs its own row once more"
    assert oracle.calls.total("solve") == 160 + 50


@pytest.mark.faults
@pytest.mark.timeout(1600)
@pytest.mark.parametrize("kills", [1, 9])
def test_cluster_c2_killed_nodes_lose_nothing_that_landed(nodes, alone, tmp_path, kills, record_property):
    log = Log(tmp_path / "log")
    removed = []

    def solve(y):
        log.write(y[0])
        time.sleep(0.2)
        return 2 * y

    def kill_a_node_when_both_solve():
        if log.counts().total() > 20 * (len(removed) + 1) and len(removed) < kills:
            removed.append(nodes.worker_nodes.copy().pop())
            nodes.remove_node(removed[-1], allow_graceful=False)
            nodes.add_node(num_cpus=1)

    n = 40 + 30 * kills
    rows, Y = table(n)
    oracle = Oracle(fs.Problem(solve=solve, cost=lambda y, z: 0.0), Y, solving=ON_TWO)
    try:
        oracle.account.on_answer(kill_a_node_when_both_solve)
        decisions = oracle.solve(rows, Y, phase="online")
    finally:
        oracle.close()
    record_property("nodes of Ray killed", len(removed))
    record_property("calls beyond those paid for", max(0, log.counts().total() - oracle.calls.total("solve")))
    assert len(removed) == kills
    assert np.array_equal(np.stack(decisions), 2 * Y)
    again = Counter(log.counts())
    again.subtract(range(n))
    assert sum(again.values()) <= kills  # what a node had in work
    assert log.counts().total() <= oracle.calls.total("solve")


DRIVER = """
import sys, time, numpy as np, fewsolves as fs
from pathlib import Path
from fewsolves.execution import ray
from fewsolves.ledger.ledger import open_ledger
from fewsolves.oracle import Oracle, SolveConfig
from tests.faults.misbehaviour import Log

ray.RAY_CHUNK_SECONDS = 0.1  # each row is sent alone
log, Y = Log(sys.argv[2]), np.arange(30.0)[:, None]

def solve(y):
    log.write(y[0])
    time.sleep(0.3)
    return 2 * y

problem = fs.Problem(solve=solve, cost=lambda y, z: 0.0)
ledger = open_ledger(Path(sys.argv[3]), problem, Y, identity="this")
oracle = Oracle(problem, Y, solving=SolveConfig(workers=2, execution=sys.argv[1]), ledger=ledger)
assert np.array_equal(np.stack(oracle.labels(np.arange(30))), 2 * Y)
oracle.close()
ledger.close()
"""


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_cluster_c3_a_killed_driver_leaves_no_solver_and_goes_on_from_its_ledger(nodes, tmp_path, monkeypatch):
    mark, log = uuid.uuid4().hex, Log(tmp_path / "log")
    command = [sys.executable, "-W", "ignore", "-c", DRIVER, nodes.address, log.path, str(tmp_path / "run")]
    root = Path(__file__).parents[2]
    environment = os.environ | {TOKEN: mark, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    driver = subprocess.Popen(command, env=environment)
    try:
        while log.counts().total() < 10:
            assert driver.poll() is None
            time.sleep(0.05)
    finally:
        driver.kill()
        driver.wait()
    assert survivors_after(mark, 60.0, OURS) == {}
    before = log.counts().total()
    subprocess.run(command, env=environment, check=True, timeout=300)
    assert sorted(log.counts()) == list(range(30))
    assert log.counts().total() <= 30 + 2, "what was under way is paid again, nothing else"
    assert before < 30


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_cluster_c7_a_node_that_falls_silent_is_given_up_and_its_row_solved_elsewhere(nodes, alone, tmp_path):
    """As after a cut: its processes are there and say nothing. Ray takes about half a minute to believe it."""
    log, silent = Log(tmp_path / "log"), []

    def solve(y):
        log.write(y[0])
        time.sleep(0.2)
        return 2 * y

    def silence_a_node_when_both_solve():
        if log.counts().total() > 10 and not silent:
            silent.append(nodes.worker_nodes.copy().pop())
            for process in silent[0].all_processes["raylet"]:
                os.kill(process.process.pid, signal.SIGSTOP)

    rows, Y = table(40)
    oracle = Oracle(fs.Problem(solve=solve, cost=lambda y, z: 0.0), Y, solving=ON_TWO)
    try:
        oracle.account.on_answer(silence_a_node_when_both_solve)
        decisions = oracle.solve(rows, Y, phase="online")
    finally:
        oracle.close()
        nodes.remove_node(silent[0], allow_graceful=False)
        nodes.add_node(num_cpus=1)
    assert np.array_equal(np.stack(decisions), 2 * Y)
    assert log.counts().total() <= oracle.calls.total("solve") <= 40 + 2
