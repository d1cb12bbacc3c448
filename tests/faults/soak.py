"""Hours of training while workers die, calls are slow, the disk is full for a while, and the run itself is killed.

    python tests/faults/soak.py --seconds 7200

Each round trains the same run in one folder, in a process that is killed at a random moment, until it has ended. Its
solver dies in a worker, sleeps, or answers. The folder is on a small file system of its own, which is filled at random
moments and has room again some seconds later; where none can be mounted (that needs root), the disk is never full.
Where Ray is installed, some rounds solve on a cluster of it, a head and two nodes on this machine, of which nodes are
lost at random moments and replaced.

What must hold: no call of the solver beyond the budget in all starts together, no damaged row, no end by a signal that
is not ours, no traceback that is not an error of ours, and an end after some starts. Prints a line of JSON for each
round, and counts at the end; these are written to `--out` after each round (results/faults/soak.json). The exit code is
1 if something does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fewsolves.ledger.reading import open_to_read, verify

ROOT = Path(__file__).parents[2]
OUT = ROOT / "results" / "faults" / "soak.json"
BUDGET = 400
ROOM = "6m"  # of the file system; a run takes about half of it
MOST_STARTS = 60  # of one run; about three are usual
ON_RAY = 15  # one of this many rounds
CLOSED = {  # as fewsolves sets up a cluster of its own: for this machine and with a token
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}
HELD = {"traceback", "signal", "stuck", "over", "damaged"}  # what must not happen
RUN = """
import os, random, sys, time, warnings
import numpy as np
import fewsolves as fs
warnings.simplefilter("ignore")
NOTES = sys.argv[2]
SLOWER = 1 if sys.argv[3] == "processes" else 6  # a cluster takes seconds to start
def note(what):
    with open(os.path.join(NOTES, what), "a") as file:
        file.write("x")
def solve(y_hat):
    note("calls")
    chance = random.Random(time.perf_counter_ns()).random()
    if chance < 0.002:
        note("deaths")
        os._exit(9)
    if chance < 0.2:
        time.sleep(chance * SLOWER)
    return np.ceil(y_hat)
def cost(y, z):
    return float(np.sum(z + 9 * np.maximum(y - z, 0)))
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2)); Y = 10 + X + rng.gamma(1.0, 2.0, size=(60, 2))
solving = fs.SolveConfig(workers=2, on_failure="skip", execution=sys.argv[3])
try:
    plan = fs.Plan(fs.Problem(solve=solve, cost=cost, version="soak"), X, Y, method="sfge", predictor="linear",
        settings={"max_epochs": 4, "start_epochs": 5}, folder=sys.argv[1], solving=solving,
        budget=fs.Budget(solves=BUDGET))
    fs.fit(plan)
    print("ended")
except fs.FewsolvesError as error:
    print("ours", type(error).__name__, error)
""".replace("BUDGET", str(BUDGET))


@contextmanager
def small_disk() -> Iterator[tuple[Path, bool]]:
    """A folder, and whether it is a small file system of its own."""
    with tempfile.TemporaryDirectory() as place:
        command = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", place]
        mounted = shutil.which("mount") is not None and subprocess.run(command, capture_output=True).returncode == 0
        try:
            yield Path(place), mounted
        finally:
            if mounted:
                subprocess.run(["umount", "--lazy", place], check=True)


@contextmanager
def cluster() -> Iterator[Any]:
    """A head of Ray that solves nothing, and two nodes that solve one row at a time each."""
    os.environ.update(CLOSED)
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # Ray reads it once in a process
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 80_000_000, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **small})
    try:
        for _ in range(2):
            made.add_node(num_cpus=1, **small)
        yield made
    finally:
        made.shutdown()


def fill(disk: Path) -> None:
    """Take all room that is left."""
    with (disk / "filler").open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                continue


def attempt(
    disk: Path, notes: Path, chance: random.Random, nodes: Any, *, may_fill: bool, patience: float
) -> tuple[str, str, dict[str, int]]:
    """Start the run once: how it ended (the exit code, or "killed"), all that it said, and what was done to it."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(disk / "run"), str(notes), nodes.address if nodes else "processes"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    began, done = time.monotonic(), {"disk full": 0, "nodes of Ray lost": 0}
    ends = began + patience * (chance.uniform(15.0, 60.0) if nodes else chance.uniform(0.5, 8.0))
    loses = began + chance.uniform(2.0, 12.0) if nodes else float("inf")
    fills = began + chance.uniform(0.2, 2.0) if may_fill and chance.random() < 0.5 else float("inf")
    frees = fills + chance.uniform(0.05, 1.5)
    try:
        while time.monotonic() < ends:
            if fills <= time.monotonic() < frees and process.poll() is None:
                fill(disk)
                done["disk full"], fills = 1, float("inf")
            if time.monotonic() >= frees:
                (disk / "filler").unlink(missing_ok=True)
            if time.monotonic() >= loses and process.poll() is None:
                replace_node(nodes, chance)
                done["nodes of Ray lost"] += 1
                loses = time.monotonic() + chance.uniform(2.0, 12.0)
            try:
                output, _ = process.communicate(timeout=0.05)
                return str(process.returncode), output, done
            except subprocess.TimeoutExpired:
                continue
        process.kill()
        return "killed", process.communicate()[0], done
    finally:
        process.kill()  # where the soak itself is ended
        (disk / "filler").unlink(missing_ok=True)  # the next attempt has room


def replace_node(nodes: Any, chance: random.Random) -> None:
    """Kill a node with all that runs on it; another one comes in its place."""
    nodes.remove_node(chance.choice(sorted(nodes.worker_nodes, key=lambda node: node.unique_id)), allow_graceful=False)
    nodes.add_node(num_cpus=1, object_store_memory=80_000_000)


def one_round(disk: Path, notes: Path, chance: random.Random, nodes: Any, *, may_fill: bool) -> dict[str, object]:
    """Train until the run has ended, with kills on the way."""
    counts: Counter[str] = Counter({"starts": 0, "kills": 0, "disk full": 0, "nodes of Ray lost": 0})
    counts["errors of ours"] = 0
    while True:
        patience = 1.2 ** counts["kills"]  # on a busy machine a start alone takes longer than a kill leaves it
        ended, said, done = attempt(disk, notes, chance, nodes, may_fill=may_fill, patience=patience)
        counts["starts"] += 1
        counts.update(done)
        if ended == "killed":
            counts["kills"] += 1
        elif "Traceback" in said:
            return {**counts, "traceback": said[-2000:]}
        elif int(ended) < 0:
            return {**counts, "signal": ended, "said": said[-2000:]}
        elif said.rstrip().endswith("ended"):
            counts["solves"], counts["workers that died"] = _noted(notes, "calls"), _noted(notes, "deaths")
            damaged = len(verify(open_to_read(disk / "run")).damaged)
            return {**counts, "over": counts["solves"] > BUDGET, "damaged": damaged}
        else:
            counts["errors of ours"] += 1
        if counts["starts"] >= MOST_STARTS:
            return {**counts, "stuck": said[-2000:]}


def _noted(notes: Path, what: str) -> int:
    """How often the solver, in any of the starts, has noted this."""
    file = notes / what
    return file.stat().st_size if file.exists() else 0


def written(out: Path, counts: Counter[str], seconds: float) -> None:
    """What has come of it so far, for tests/faults/table.py."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    command = f"python tests/faults/soak.py --seconds {seconds:.0f}"
    found = {"command": command, "commit": commit.stdout.strip(), "day": time.strftime("%Y-%m-%d"), "counts": counts}
    out.write_text(json.dumps(found, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=7200.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=OUT)
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the file system is unmounted
    began, chance, failed = time.monotonic(), random.Random(chosen.seed), False
    counts: Counter[str] = Counter(
        {"rounds": 0, "over a budget": 0, "damaged rows": 0, "tracebacks": 0, "signals": 0, "stuck": 0}
    )
    begun = 0
    while time.monotonic() < began + chosen.seconds:
        on_ray = find_spec("ray") is not None and begun % ON_RAY == 1
        begun += 1
        try:
            with (
                small_disk() as (disk, mounted),
                tempfile.TemporaryDirectory() as other,
                cluster() if on_ray else nullcontext() as nodes,
            ):
                found = one_round(disk, Path(other), chance, nodes, may_fill=mounted)
        except Exception as error:
            if not on_ray:
                raise
            print(json.dumps({"Ray": repr(error)}), flush=True)
            counts["clusters that Ray did not start or end"] += 1
            continue
        counts["rounds"] += 1
        counts["rounds on Ray"] += on_ray
        print(json.dumps({"round": counts["rounds"], **found}), flush=True)
        failed |= any(found.get(name) for name in HELD)
        counts["over a budget"] += bool(found.pop("over", 0))
        counts["damaged rows"] += int(str(found.pop("damaged", 0)))
        counts["tracebacks"] += "traceback" in found
        counts["signals"] += "signal" in found
        counts["stuck"] += "stuck" in found
        counts.update({name: value for name, value in found.items() if isinstance(value, int)})
        counts["seconds"] = round(time.monotonic() - began)
        written(chosen.out, counts, chosen.seconds)
    print(json.dumps(counts), flush=True)
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
