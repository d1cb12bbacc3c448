"""Coverage-guided fuzzing of every kind of file that is read; prints executions, coverage and crashes as JSON.

    pip install atheris
    python tests/faults/fuzz/run.py ledger --seconds 3600

The corpus in `corpus/KIND` is small and made by `seeds.py`; a run works on a copy. A crash is kept in `--out`, and ends
the run. The counts are written to `--results` after each kind, in place of older ones of that kind.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
RESULTS = ROOT / "results" / "faults" / "fuzz.json"
STATUS = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+)")


def fuzz(name: str, arguments: list[str]) -> None:
    """Hand over to libFuzzer, which ends this process."""
    import atheris

    sys.path.insert(0, str(HERE))
    with atheris.instrument_imports(include=["fewsolves"]):
        import mutators
        import targets
    own = {"custom_mutator": partial(mutators.mutate, name)} if name in mutators.CHANGES else {}
    atheris.Setup([sys.argv[0], *arguments], lambda data: targets.run(name, data), **own)
    atheris.Fuzz()


def measured(name: str, seconds: int, out: Path) -> dict[str, object]:
    """Fuzz one kind for that long, in a process of its own."""
    out.mkdir(parents=True, exist_ok=True)
    began, used = time.monotonic(), processor_seconds()
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        shutil.copytree(HERE / "corpus" / name, corpus)
        options = [
            f"-max_total_time={seconds}",
            f"-artifact_prefix={out}/{name}-",
            "-timeout=60",
            "-rss_limit_mb=4096",
            "-max_len=131072",
        ]
        command = [sys.executable, __file__, name, "--inside", str(corpus), *options, "-print_final_stats=1"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    said = STATUS.findall(done.stderr)
    executions = re.search(r"stat::number_of_executed_units: (\d+)", done.stderr)
    return {
        "kind": name,
        "seconds": round(time.monotonic() - began),
        "processor seconds": round(processor_seconds() - used),
        "executions": int(executions[1]) if executions else 0,
        "coverage": int(said[-1][1]) if said else 0,
        "features": int(said[-1][2]) if said else 0,
        "crashes": int(done.returncode != 0),
        "error": done.stderr[-3000:] if done.returncode else "",
    }


def processor_seconds() -> float:
    """Of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def keep(found: dict[str, object], results: Path) -> None:
    """Write the counts of one kind, beside those of the others."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    kinds = json.loads(results.read_text())["kinds"] if results.exists() else []
    known = {one["kind"]: one for one in kinds}
    known[str(found["kind"])] = {name: value for name, value in found.items() if name != "error"} | {
        "commit": commit.stdout.strip()
    }
    whole = {
        "command": "python tests/faults/fuzz/run.py KIND --seconds SECONDS",
        "with": f"atheris {version('atheris')}",
        "kinds": list(known.values()),
    }
    results.write_text(json.dumps(whole, indent=1) + "\n")


def main() -> None:
    if "--inside" in sys.argv:
        fuzz(sys.argv[1], sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="+")
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--out", type=Path, default=Path("runs/fuzz"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    for name in chosen.kinds:
        found = measured(name, chosen.seconds, chosen.out)
        print(json.dumps(found), flush=True)
        keep(found, chosen.results)


if __name__ == "__main__":
    main()
