"""Coverage-guided fuzzing of every kind of file that is read; prints executions, coverage and crashes as JSON.

    pip install atheris
    python tests/faults/fuzz/run.py ledger --seconds 3600

The corpus in `corpus/KIND` is small and made by `seeds.py`; a run works on a copy. A crash is kept in `--out`.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
STATUS = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+)")


def fuzz(name: str, arguments: list[str]) -> None:
    """Hand over to libFuzzer, which ends this process."""
    import atheris

    sys.path.insert(0, str(HERE))
    with atheris.instrument_imports(include=["fewsolves"]):
        import targets
    atheris.Setup([sys.argv[0], *arguments], lambda data: targets.run(name, data))
    atheris.Fuzz()


def measured(name: str, seconds: int, out: Path) -> dict[str, object]:
    """Fuzz one kind for that long, in a process of its own."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        shutil.copytree(HERE / "corpus" / name, corpus)
        options = [f"-max_total_time={seconds}", f"-artifact_prefix={out}/{name}-", "-timeout=60", "-rss_limit_mb=4096"]
        command = [sys.executable, __file__, name, "--inside", str(corpus), *options, "-print_final_stats=1"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    said = STATUS.findall(done.stderr)
    executions = re.search(r"stat::number_of_executed_units: (\d+)", done.stderr)
    found = {"kind": name, "seconds": seconds, "executions": int(executions[1]) if executions else 0}
    found |= {"coverage": int(said[-1][1]) if said else 0, "features": int(said[-1][2]) if said else 0}
    return found | {"crashes": int(done.returncode != 0), "error": done.stderr[-3000:] if done.returncode else ""}


def main() -> None:
    if "--inside" in sys.argv:
        fuzz(sys.argv[1], sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="+")
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--out", type=Path, default=Path("runs/fuzz"))
    chosen = parser.parse_args()
    for name in chosen.kinds:
        print(json.dumps(measured(name, chosen.seconds, chosen.out)), flush=True)


if __name__ == "__main__":
    main()
