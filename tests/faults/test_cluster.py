"""C1, C2, C4, C5: a Ray cluster of two nodes on this machine, of which one worker, or one node, is killed."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import InputError, SolverError
from fewsolves.execution.ray import Cluster
from fewsolves.oracle import Oracle, SolveConfig

from .misbehaviour import TOKEN, survivors, survivors_after

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="processes are counted by /proc"),
    pytest.mark.filterwarnings("ignore"),  # of Ray's own
]
OURS = b"fewsolves"  # in the command lines of guards and workers; Ray's own processes may take longer to end


@pytest.fixture(scope="module")
def nodes():
    """A head that solves nothing and two nodes that solve one row at a time."""
    from ray.cluster_utils import Cluster as Nodes

    mark = uuid.uuid4().hex
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(TOKEN, mark)
        environment.setenv("RAY_AUTH_MODE", "disabled")
        made = Nodes(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        try:
            for _ in range(2):
                made.add_node(num_cpus=1)
            ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
            yield made
        finally:
            ray.shutdown()
            made.shutdown()
    assert survivors_after(mark, 10.0, OURS) == {}


class Log:
    """What was really called, counted outside of the library."""

    def __init__(self, path):
        self.path = str(path)

    def write(self, row):
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, f"{row:.0f}\n".encode())
        os.close(file)

    def counts(self):
        return Counter(map(int, Path(self.path).read_text().split())) if Path(self.path).exists() else Counter()


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def table(n):
    return np.arange(n), np.arange(float(n))[:, None]


def run(problem, n, during=lambda landed: None, workers=2, **limits):
    """All answers; each row is answered once."""
    rows, Y = table(n)
    cluster = Cluster(problem, workers, "ray", **limits)
    landed = {}
    try:
        for answers in cluster.solve(rows, Y):
            for k, value in zip(answers.at.tolist(), answers.values, strict=True):
                assert k not in landed
                landed[k] = value
            during(landed)
    finally:
        cluster.close()
    assert sorted(landed) == rows.tolist()
    return landed


def test_the_same_answers_as_here_in_chunks(nodes, tmp_path):
    log = Log(tmp_path / "log")

    def solve(y):
        log.write(y[0])
        return y * 2

    landed = run(fs.Problem(solve=solve, cost=lambda y, z: 0.0), 300)
    assert all(z == 2 * k for k, z in landed.items())
    assert log.counts() == Counter(range(300))


def test_c1_a_killed_worker_loses_nothing_that_landed(nodes, tmp_path):
    log, once = Log(tmp_path / "log"), tmp_path / "once"

    def solve(y):
        log.write(y[0])
        if y[0] == 7 and not once.exists():
            once.touch()
            os.kill(parent_of(os.getppid()), signal.SIGKILL)  # the Ray worker, above the guard of this process
        import time

        time.sleep(0.3)
        return y * 2

    oracle = Oracle(fs.Problem(solve=solve, cost=lambda y, z: 0.0), table(12)[1], solving=ON_TWO)
    try:
        decisions = oracle.labels(np.arange(12))
    finally:
        oracle.close()
    assert np.array_equal(np.stack(decisions), 2 * table(12)[1])
    assert log.counts() == Counter(range(12)) + Counter([7])  # only its own row is paid twice
    assert oracle.calls.counts["solve"]["labels"] == 13
    assert oracle.failures.failed == []


ON_TWO = SolveConfig(workers=2, execution="ray")


def test_c1_rows_of_a_lost_chunk_are_sent_again(nodes, tmp_path):
    log, once = Log(tmp_path / "log"), tmp_path / "once"

    def solve(y):
        log.write(y[0])
        if y[0] == 150 and not once.exists():
            once.touch()
            os.kill(parent_of(os.getppid()), signal.SIGKILL)
        return y * 2

    landed = run(fs.Problem(solve=solve, cost=lambda y, z: 0.0), 300)
    assert all(z == 2 * k for k, z in landed.items())
    again = [row for row, times in log.counts().items() if times > 1]
    assert 150 in again
    assert max(log.counts().values()) == 2
    assert sorted(again) == list(range(min(again), max(again) + 1))  # what its one chunk had come to, no more


def test_c5_ray_does_not_try_again_behind_our_back(nodes, tmp_path):
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


def test_limits_hold_on_the_cluster(nodes):
    def solve(y):
        while y[0] == 3:
            pass
        return y

    landed = run(fs.Problem(solve=solve, cost=lambda y, z: 0.0), 6, time_limit=0.5)
    assert landed[3].status == "timeout"


def test_an_unusable_problem_is_told(nodes):
    def build():
        raise OSError("no licence here")

    with pytest.raises(InputError, match="OSError: no licence here"):
        run(fs.Problem(factory=build), 3)


def test_c2_a_killed_node_loses_nothing_that_landed(nodes, tmp_path):
    log = Log(tmp_path / "log")
    removed = []

    def solve(y):
        import time

        log.write(y[0])
        time.sleep(0.2)
        return y * 2

    def kill_a_node(landed):
        if len(landed) == 6 and not removed:
            removed.append(nodes.worker_nodes.copy().pop())
            nodes.remove_node(removed[0], allow_graceful=False)

    rows, Y = table(30)
    oracle = Oracle(fs.Problem(solve=solve, cost=lambda y, z: 0.0), Y, solving=ON_TWO)
    landed = []
    try:
        decisions = oracle.pay("solve", "online", rows, Y, keep=lambda k, z: (landed.append(k), kill_a_node(landed)))
    finally:
        oracle.close()
        nodes.add_node(num_cpus=1)
    assert removed
    assert np.array_equal(np.stack(decisions), 2 * Y)
    assert sorted(landed) == rows.tolist()
    again = Counter(log.counts())
    again.subtract(range(30))
    assert sum(again.values()) <= 1  # what the node had in work


def test_without_ray_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'fewsolves\[ray\]'"):
        next(Cluster(fs.Problem(solve=abs, cost=max), 1, "ray").solve(*table(1)))


def test_an_execution_that_is_no_address_is_refused():
    with pytest.raises(InputError, match="got 'kubernetes'"):
        SolveConfig(execution="kubernetes")


LOCAL = """
import numpy as np, fewsolves as fs
from fewsolves.execution.ray import Cluster

cluster = Cluster(fs.Problem(solve=lambda y: 2 * y, cost=lambda y, z: 0.0), 1, "ray")
(answers,) = cluster.solve(np.arange(1), np.ones((1, 1)))
assert answers.values[0] == 2
print("solved", flush=True)
input()
cluster.close()
"""


def listening(pids):
    """Addresses (hexadecimal, as the kernel writes them) on which these processes listen."""
    sockets = set()
    for pid in pids:
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                sockets.add(str(file.readlink()).removeprefix("socket:[").rstrip("]"))
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    return [line[1].split(":")[0] for line in lines if line[3] == "0A" and line[9] in sockets]


@pytest.mark.faults
def test_a_cluster_that_is_started_here_listens_on_the_loopback_interface_only(monkeypatch):
    mark = uuid.uuid4().hex
    monkeypatch.setenv(TOKEN, mark)
    command = [sys.executable, "-W", "ignore", "-c", LOCAL]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as trainer:
        assert trainer.stdout.readline() == "solved\n"
        found = listening(survivors(mark))
        trainer.communicate("\n")
    assert len(found) >= 3
    assert {address[-8:] for address in found} == {"0100007F"}  # 127.0.0.1, in IPv6's way of writing too
    assert trainer.returncode == 0
    assert survivors_after(mark, 10.0, OURS) == {}
