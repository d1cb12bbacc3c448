"""The long tier of fault injection: kills and mutated files by the thousand, in rounds that can be stopped and go on.

    python tests/faults/campaign.py --out runs/faults.jsonl --kills 1000 --mutations 100000

Each round appends a line to the file; started again, the campaign does what is missing. It ends with a table of counts,
and with exit code 1 where anything was lost, differed, was wrong, or ended in a traceback.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
KILLED_RUNS = (
    ["--benchmark", "user", "--method", "staged"],
    ["--benchmark", "user", "--method", "staged", "--workers", "2"],
    ["--benchmark", "kp-weights", "--method", "staged"],
    ["--benchmark", "wsmc-10-50", "--method", "staged"],
    ["--benchmark", "toy-64", "--method", "sfge"],
    ["--benchmark", "user", "--method", "gp-surrogate"],
    ["--benchmark", "kp-weights", "--method", "gp-surrogate"],
    ["--benchmark", "toy-64", "--method", "sfge", "--workers", "2"],
    ["--benchmark", "wsmc-10-50", "--method", "gp-surrogate"],
    ["--benchmark", "user", "--method", "gp-surrogate", "--asynchronous"],
    ["--benchmark", "user", "--method", "gp-surrogate", "--workers", "2"],
)
IN_A_ROUND = {"kills": 25, "mutations": 2500}
FAULTS = (
    "acknowledged_and_lost",
    "differing_results",
    "runs_that_paid_for_more_than_what_was_in_flight",
    "survivors",
    "wrong",
    "tracebacks",
    "slow",
    "failed_rounds",
)


def one_round(kind, number, seed):
    killed = KILLED_RUNS[seed % len(KILLED_RUNS)]
    script = ["mutations.py", "--number"] if kind == "mutations" else ["killing.py", *killed, "--kills"]
    command = [sys.executable, str(HERE / script[0]), *script[1:], str(number), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.replace(f"{HERE.parents[1]}/", "").splitlines()[-30:]
        return {"failed_rounds": 1, "said": said, "command": [script[0], *command[2:]]}
    return json.loads(done.stdout)


def read(out):
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def table(rounds):
    counts = Counter()
    for one in rounds:
        counts.update({name: n for name, n in one.items() if name in (*IN_A_ROUND, *FAULTS)})
    most = max((one.get("in_flight_at_the_most", 0) for one in rounds), default=0)
    lines = ["| what | number |", "|---|---|", *(f"| {name} | {counts[name]:,} |" for name in (*IN_A_ROUND, *FAULTS))]
    return counts, "\n".join([*lines, f"| in flight at a kill, at the most | {most:,} |"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("runs/faults.jsonl"))
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--mutations", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first round: others try other places")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no round begins after so long")
    given = parser.parse_args()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    wanted = {"kills": given.kills, "mutations": given.mutations}
    while True:
        rounds = read(given.out)
        counts, _ = table(rounds)
        left = {kind: wanted[kind] - counts[kind] for kind in wanted if counts[kind] < wanted[kind]}
        if not left or counts["failed_rounds"] > 3 or time.monotonic() - began > given.seconds:
            break
        kind = max(left, key=lambda kind: left[kind] / wanted[kind])  # both go on side by side
        seed = given.first + sum(kind in one for one in rounds)  # so that all kinds of runs have their turn
        outcome = one_round(kind, min(IN_A_ROUND[kind], left[kind]), seed)
        with given.out.open("a") as file:
            file.write(json.dumps(outcome) + "\n")
    counts, text = table(rounds)
    print(text)
    sys.exit(any(counts[fault] for fault in FAULTS))


if __name__ == "__main__":
    main()
