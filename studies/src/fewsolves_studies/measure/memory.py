"""What a run remembers of each paid solve, in bytes: `python -m fewsolves_studies.measure.memory [--solves 300000]`.

Evaluations (a solve and a cost call) of n_y = 50 parameters, whose decisions of 50 numbers are all different: nothing
can be shared. Each case is a process of its own, and what counts is its resident memory at the end less that at the
beginning. `ledger`: everything is on disk, too; `replayed`: the same run started again, which looks it all up;
`checkpoint`: the same, and it goes on from a checkpoint and asks for everything once more. Exit code 1
where a case is above the goal. Runs with the package of any version: `PYTHONPATH=other/src python ...`.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import fewsolves as fs
from fewsolves.oracle import Oracle

try:
    from fewsolves.ledger.ledger import open_ledger
except ImportError:  # as the ledger lay in 0.1.0
    from fewsolves.oracle.ledger import open_ledger

N_Y, ROWS, GOAL = 50, 500, 1500
KINDS = {"bool": lambda y: y > 0, "int64": lambda y: (1000 * y).astype(int), "float64": lambda y: y + 1.0}
WITH_LEDGER = ("ledger", "ledger, replayed", "ledger, checkpoint")
CASES = [(kind, "memory") for kind in KINDS] + [("float64", how) for how in WITH_LEDGER]


def resident() -> int:
    """Bytes of this process in memory."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def bytes_per_solve(kind: str, how: str, solves: int, folder: Path) -> float:
    """Of one case, in this process."""
    rng = np.random.default_rng(0)
    Y, index = rng.normal(size=(ROWS, N_Y)), np.arange(ROWS)
    problem = fs.Problem(solve_batch=KINDS[kind], cost_batch=lambda y, z: (y * z).sum(axis=1))
    ledger = None if how == "memory" else open_ledger(folder, problem, Y, identity="benchmark")
    before, oracle = resident(), Oracle(problem, Y, ledger=ledger)
    if how in WITH_LEDGER[1:]:
        ledger.close()
        before = resident()
        ledger = open_ledger(folder, problem, Y, identity="benchmark")
        oracle = Oracle(problem, Y, ledger=ledger)
    if how == "ledger, checkpoint":
        ledger.go_on_from(ledger.last)
    for _ in range(solves // ROWS):
        oracle.regret(index, Y + rng.normal(size=Y.shape), phase="online")
    found = (resident() - before) / (solves // ROWS * ROWS)
    if ledger is not None:
        ledger.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solves", type=int, default=300_000)
    parser.add_argument("--case", nargs=3, help="one case: kind, how, folder (for the processes that this one starts)")
    given = parser.parse_args()
    if given.case:
        kind, how, folder = given.case
        print(bytes_per_solve(kind, how, given.solves, Path(folder)))
        return 0
    print(f"{fs.__file__}: bytes per solve, {given.solves:,} solves, n_y = {N_Y}")
    most = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for kind, how in CASES:
            command = [sys.executable, __file__, "--solves", str(given.solves), "--case", kind, how, folder]
            found = float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
            most = max(most, found)
            print(f"{kind:8s} {how:18s} {found:7,.0f}", flush=True)
    return int(most > GOAL)


if __name__ == "__main__":
    sys.exit(main())
