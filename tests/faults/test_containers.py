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


def contained(run):
    command = INSIDE.format(python=sys.executable, run=run.replace("'", '"'))
    return ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", command]


def can_contain():
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(contained("print(1)"), capture_output=True, check=False, timeout=60).returncode == 0


@pytest.mark.skipif(not can_contain(), reason="needs the right to make namespaces")
def test_containers_workers_need_neither_shared_memory_nor_the_process_numbers_of_the_host():
    done = subprocess.run(contained(RUN), capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout.split() == ["True", str(64 << 20), "40"], done.stderr[-2000:]
