"""Coverage-guided fuzzing of every kind of file that is read; prints executions, coverage and crashes as JSON.

    pip install atheris
    python tests/faults/fuzz/run.py ledger checkpoint --seconds 3600    # all kinds where none is named

The kinds take turns of `--turn` seconds, the one that had least time first, until each has had `--seconds` of the
processor in all its runs (a busy machine gives a turn much less than its time): what was counted is written to
`--results` after each turn and adds up, in all and for each commit, so the same command continues a run that was
stopped. The corpus in `corpus/KIND` is small and made by `seeds.py`; what a turn finds of new coverage is kept in
`--out`, and the next turn begins with it. A crash is kept there too, counts, and ends the turns of its kind.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SOURCE = ROOT / "src"
RESULTS = ROOT / "results" / "faults" / "fuzz.json"
STATUS = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+)")
EXECUTED = re.compile(r"stat::number_of_executed_units: (\d+)")
TABLE = ("fewsolves.tables", "fewsolves._internal")
REPORT = ("fewsolves.reporting", "fewsolves._internal")
PAIR = ("fewsolves.fitting.checkpoint", "fewsolves._internal")
READERS = {  # the modules that read each kind: only these are instrumented
    "ledger": ("fewsolves.ledger", "fewsolves._internal"),
    "answers": ("fewsolves.ledger", "fewsolves._internal"),
    "model": ("fewsolves.loading", "fewsolves.model", "fewsolves.predictors", "fewsolves.data", *PAIR),
    "checkpoint": PAIR,
    "result": REPORT,
    "history": REPORT,
    "csv_table": TABLE,
    "npz_table": TABLE,
    "parquet_table": TABLE,
}
SUMS = ("seconds", "processor seconds", "executions", "crashes")
Counts = dict[str, Any]  # of a turn, or of all turns of a kind


def left_alone(name: str) -> list[str]:
    """All modules of the package but the readers of this kind."""
    modules = []
    for path in sorted((SOURCE / "fewsolves").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        modules.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return [one for one in modules if not any(f"{one}.".startswith(f"{reader}.") for reader in READERS[name])]


def fuzz(name: str, arguments: list[str]) -> None:
    """Hand over to libFuzzer, which ends this process."""
    import atheris

    sys.path[:0] = [str(SOURCE), str(HERE)]
    with atheris.instrument_imports(include=["fewsolves"], exclude=left_alone(name)):
        import mutators
        import targets
    own = {"custom_mutator": partial(mutators.mutate, name)} if name in mutators.CHANGES else {}
    atheris.Setup([sys.argv[0], *arguments], lambda data: targets.run(name, data), **own)
    atheris.Fuzz()


def turn(name: str, seconds: int, out: Path) -> Counts:
    """Fuzz one kind for that long, in a process of its own."""
    found = out / "corpus" / name
    found.mkdir(parents=True, exist_ok=True)
    began, used = time.monotonic(), processor_seconds()
    options = [
        f"-max_total_time={seconds}",
        f"-artifact_prefix={out}/{name}-",
        "-timeout=60",
        "-rss_limit_mb=4096",
        "-max_len=131072",
        "-print_final_stats=1",
    ]
    command = [sys.executable, __file__, name, "--inside", str(found), str(HERE / "corpus" / name), *options]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    said, executed = STATUS.findall(done.stderr), EXECUTED.search(done.stderr)
    return {
        "kind": name,
        "seconds": round(time.monotonic() - began),
        "processor seconds": round(processor_seconds() - used),
        "executions": int(executed[1]) if executed else int(said[-1][0]) if said else 0,
        "coverage": int(said[-1][1]) if said else 0,
        "features": int(said[-1][2]) if said else 0,
        "crashes": int(done.returncode != 0),
        "error": done.stderr[-3000:] if done.returncode else "",
    }


def processor_seconds() -> float:
    """Of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def counted(results: Path) -> dict[str, Counts]:
    """What all turns so far have come to, by kind."""
    kinds = json.loads(results.read_text())["kinds"] if results.exists() else []
    return {one["kind"]: one for one in kinds}


def added(before: Counts, found: Counts, commit: str) -> Counts:
    """The counts of a kind with one more turn, in all and at this commit; coverage is the most that a turn reached."""
    turn = {name: int(found[name]) for name in SUMS}
    most = {name: max(int(before.get(name, 0)), int(found[name])) for name in ("coverage", "features")}
    parts = {part["commit"]: part for part in before.get("parts", [])}
    parts[commit] = {"commit": commit, **_plus(parts.get(commit, {}), turn)}
    return {"kind": found["kind"], **_plus(before, turn), **most, "commit": commit, "parts": list(parts.values())}


def _plus(before: Counts, turn: Counts) -> Counts:
    return {"turns": before.get("turns", 0) + 1, **{name: before.get(name, 0) + turn[name] for name in SUMS}}


def keep(found: Counts, results: Path, tool: str) -> None:
    """Add a turn to the counts."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    kinds = counted(results)
    name = str(found["kind"])
    kinds[name] = added(kinds.get(name, {}), found, commit.stdout.strip())
    whole = {
        "command": "python tests/faults/fuzz/run.py KIND --seconds SECONDS",
        "with": tool,
        "kinds": [kinds[one] for one in READERS if one in kinds],
    }
    results.write_text(json.dumps(whole, indent=1) + "\n")


def seconds_of(name: str, results: Path) -> int:
    return int(counted(results).get(name, {}).get("processor seconds", 0))


def main() -> None:
    if "--inside" in sys.argv:
        fuzz(sys.argv[1], sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[*READERS, []])
    parser.add_argument("--seconds", type=int, default=3600, help="of the processor, of each kind, in all runs")
    parser.add_argument("--turn", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("runs/fuzz"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    kinds = list(given.kinds or READERS)
    while kinds := [one for one in kinds if seconds_of(one, given.results) < given.seconds]:
        name = min(kinds, key=lambda one: seconds_of(one, given.results))
        left = given.seconds - seconds_of(name, given.results)
        found = turn(name, max(1, min(given.turn, left)), given.out)
        print(json.dumps(found), flush=True)
        keep(found, given.results, f"atheris {version('atheris')}")
        if found["crashes"]:
            kinds.remove(name)


if __name__ == "__main__":
    main()
