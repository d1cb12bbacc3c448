"""Workers in a container: 64 MB of shared memory, and process numbers of its own."""

import shutil
import subprocess
import sys

import pytest

RUN = """
import os, sys
import numpy as np
import fewsolves as fs
def solve(y): return np.ceil(y)
def cost(y, z): return float(abs(y - z).sum())
Y = np.random.default_rng(0).normal(size=(40, 5000))
oracle = fs.Oracle(fs.Problem(solve=solve, cost=cost), Y, solving=fs.SolveConfig(workers=2))
regret = oracle.regret(np.arange(40), Y + 0.25, phase="online")
oracle.close()
print(os.getpid() < 100, os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize, regret.shape[0])
"""
INSIDE = "mount -t tmpfs -o size=64m none /dev/shm && exec {python} -c '{run}'"


NAMESPACES = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork"]


def contained(run):
    command = INSIDE.format(python=sys.executable, run=run.replace("'", '"'))
    return [*NAMESPACES, "--mount-proc", "sh", "-c", command]


def can_contain():
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(contained("print(1)"), capture_output=True, check=False, timeout=60).returncode == 0


needs_namespaces = pytest.mark.skipif(not can_contain(), reason="needs the right to make namespaces")


@needs_namespaces
def test_containers_workers_need_neither_shared_memory_nor_the_process_numbers_of_the_host():
    done = subprocess.run(contained(RUN), capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout.split() == ["True", str(64 << 20), "40"], done.stderr[-2000:]


HANGS = """
import subprocess, sys, time
import numpy as np
import fewsolves as fs
from fewsolves.execution import guard
from fewsolves.execution.processes import Processes
def solve(y):
    if y[0] == 3:
        subprocess.Popen(["sleep", "1000"])
        time.sleep(1000)
    return y
bystanders = [subprocess.Popen(["sleep", "1000"]) for _ in range(20)]  # numbers that mean other processes outside
began = time.monotonic()
workers = Processes(fs.Problem(solve=solve, cost=max), 2, time_limit=1.0)
answers = [one for some in workers.solve(np.arange(8), np.arange(8.0)[:, None]) for one in some.values]
workers.close()
failed = [one.status for one in answers if not isinstance(one, np.ndarray)]
alive = sum(one.poll() is None for one in bystanders)
print(guard.sees_processes(), failed, alive, time.monotonic() - began < 15)
for one in bystanders:
    one.kill()
"""


@needs_namespaces
@pytest.mark.parametrize("own_proc", [True, False])
def test_containers_a_solver_that_hangs_is_ended_also_where_proc_has_the_processes_of_the_host(own_proc):
    """In a PID namespace of its own with the /proc of the host, numbers there mean other processes."""
    command = [*NAMESPACES, *(["--mount-proc"] if own_proc else []), sys.executable, "-c", HANGS]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.stdout.strip() == f"{own_proc} ['timeout'] 20 True", done.stderr[-2000:]
