"""Hours of training while workers die, calls are slow, and the run itself is killed.

    python tests/faults/soak.py --seconds 7200

Each round trains the same run in one folder, in a process that is killed at a random moment, until it has ended. Its
solver dies in a worker, sleeps, or answers. What must hold: no call beyond the budget, no damaged row, and no traceback
that is not an error of ours. Prints a line of JSON for each round; the exit code is 1 if something does not hold.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fewsolves.ledger.reading import open_to_read, verify

BUDGET = 400
RUN = """
import os, random, sys, time, warnings
import numpy as np
import fewsolves as fs
warnings.simplefilter("ignore")
def solve(y_hat):
    chance = random.Random(time.perf_counter_ns()).random()
    if chance < 0.002:
        os._exit(9)
    if chance < 0.05:
        time.sleep(0.02)
    return np.ceil(y_hat)
def cost(y, z):
    return float(np.sum(z + 9 * np.maximum(y - z, 0)))
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2)); Y = 10 + X + rng.gamma(1.0, 2.0, size=(60, 2))
solving = fs.SolveConfig(workers=2, on_failure="skip")
plan = fs.Plan(fs.Problem(solve=solve, cost=cost, version="soak"), X, Y, method="sfge", predictor="linear",
    settings={"max_epochs": 4, "start_epochs": 5}, folder=sys.argv[1], solving=solving, budget=fs.Budget(solves=BUDGET))
try:
    fit = fs.fit(plan)
    print("ended", fit.oracle.calls.total("solve") + fit.oracle.calls.unanswered["solve"])
except fs.FewsolvesError as error:
    print("ours", type(error).__name__)
""".replace("BUDGET", str(BUDGET))


def one_round(folder: Path, chance: random.Random) -> dict[str, object]:
    """Train until the run has ended, with kills on the way."""
    kills = errors = 0
    while True:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            output, said = process.communicate(timeout=chance.uniform(1.0, 15.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
            continue
        if "Traceback" in said:
            return {"traceback": said[-2000:]}
        if output.startswith("ended"):
            paid = int(output.split()[1])
            damaged = len(verify(open_to_read(folder)).damaged)
            return {"kills": kills, "errors": errors, "paid": paid, "over": paid > BUDGET, "damaged": damaged}
        errors += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=7200.0)
    chosen = parser.parse_args()
    ends, chance, number = time.monotonic() + chosen.seconds, random.Random(0), 0
    while time.monotonic() < ends:
        number += 1
        with tempfile.TemporaryDirectory() as folder:
            found = one_round(Path(folder) / "run", chance)
        print(json.dumps({"round": number, **found}), flush=True)
        if "traceback" in found or found.get("over") or found.get("damaged"):
            sys.exit(1)


if __name__ == "__main__":
    main()
