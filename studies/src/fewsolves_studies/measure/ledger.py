"""How fast solves become durable: `python -m fewsolves_studies.measure.ledger [folder]`; the folder says which disk.

Rows of n_y = 512 parameters, a decision of the same length, and how they were drawn. Each group is on disk before the
next begins. Exit code 1 where groups of 32 stay below 3,000 rows per second in the best of the rounds, since a shared
machine can only make it slower; beside it stands the rate of bare syncs of a file, which bounds the number of groups.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from fewsolves.ledger.decision import pack_decision
from fewsolves.ledger.keys import solve_keys
from fewsolves.ledger.ledger import Ledger

N_Y, GOAL, ROUNDS = 512, 3000, 5


def rate(ledger: Ledger, group: int, n: int, drawn: bool) -> float:
    """Rows per second."""
    y_hat = np.random.default_rng(0).normal(size=(n, N_Y))
    began = time.perf_counter()
    for first in range(0, n, group):
        points, rows = y_hat[first : first + group], np.arange(group)
        keys = solve_keys(rows, points, own=False)
        how = (points, np.ones(N_Y)) if drawn else None
        calls = ledger.pending("solve", "online", rows, keys, y_hat=points, drawn=how)
        ledger.made(calls, {})
        ledger.record(calls, [pack_decision(z) for z in points], [0.1] * group, [1] * group)
        ledger.barrier()
    return n / (time.perf_counter() - began)


def syncs(folder: Path, n: int = 200) -> float:
    """Bare syncs of 4 KiB per second."""
    file = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT)
    began = time.perf_counter()
    for _ in range(n):
        os.write(file, bytes(4096))
        os.fdatasync(file)
    seconds = time.perf_counter() - began
    os.close(file)
    return n / seconds


def main(folder: Path) -> int:
    ledger = Ledger(folder / "ledger", {}, [], N_Y, identity="benchmark")
    grouped, drawn = [], []
    for _ in range(ROUNDS):
        bare, one = syncs(folder), rate(ledger, 1, 100, drawn=False)
        grouped.append(rate(ledger, 32, 1600, drawn=False))
        drawn.append(rate(ledger, 32, 1600, drawn=True))
        rates = f"{bare:6.0f} syncs/s {one:6.0f} single rows/s {grouped[-1]:6.0f} rows/s by 32"
        print(f"{rates} {drawn[-1]:6.0f} with draws")
    n = ledger.last
    ledger.close()
    began = time.perf_counter()
    ledger = Ledger(folder / "ledger", {}, [], N_Y, identity="benchmark")
    print(f"opened {n:,} rows in {time.perf_counter() - began:.2f} s; best {max(grouped):,.0f} rows/s, goal {GOAL:,}")
    ledger.close()
    return int(max(grouped) < GOAL)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as place:
        sys.exit(main(Path(place)))
