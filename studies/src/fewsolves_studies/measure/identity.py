"""Does this checkout compute what another commit computed, bit for bit?

    python -m fewsolves_studies.measure.identity --against e118d38 [--jobs 2] [--methods sfge,gp-surrogate] [--within 0]

Every method on two benchmarks, three ways: in process, with a ledger, and with a ledger and two worker processes. Both
versions are driven by the command line, which outlives the layout of the code. Compared are every number of result.json
(regrets on 2,100 rows tell weights apart), every line of history.csv, and, where there is a ledger, the weights
themselves; what may differ is the clock, the commit and the sentences of the summary. Runs of the other commit are kept
in runs/identity and not made again. The table at the end has the largest relative difference of two numbers in each
case; it is infinite where a count, a text or the form of the weights differs. Ends with an error where one is larger
than `--within`.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load

ROOT = Path(__file__).resolve().parents[4]
PACKAGES = ("src", "studies/src")
KEPT = ROOT / "runs" / "identity"
BENCHMARKS = ("kp-values", "wsmc-10-50")
WAYS = {"in process": [], "ledger": [], "ledger, 2 workers": ["--workers", "2"]}
EPOCHS = ("--set", "max_epochs=3", "--set", "start_epochs=5")
# settings of the loop, as max_epochs, do nothing here; since 0.2.0 they are refused
WITHOUT_LOOP = ("pfl", "shift", "staged", "pairs")
# 250 and 42 draws per example say no more about a version than 6 do, and go on record one by one
FEWER = {"lodl": ("--set", "samples=6"), "egl": ("--set", "samples=6")}
CLOCK = ("seconds", "solver_seconds", "commit")
SENTENCES = ("message", "told", "next", "stopped")  # words, whose numbers are compared by their own names


class Case(NamedTuple):
    benchmark: str
    method: str
    way: str

    def folder(self, under: Path) -> Path:
        return under / f"{self.benchmark}.{self.method}.{self.way.replace(', ', '-').replace(' ', '-')}"


def sources(tree: Path) -> str:
    """Where the packages of a checkout lie; before 0.2.0 the benchmarks were part of the one in src."""
    return os.pathsep.join(str(tree / name) for name in PACKAGES if (tree / name).is_dir())


def fewsolves(tree: Path, *arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """The command line of the version that lies in `tree`, run in `folder`."""
    command = [sys.executable, "-c", "from fewsolves.cli import main; main()", *arguments]
    environment = os.environ | {"PYTHONPATH": sources(tree), "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)


def make(tree: Path, case: Case, under: Path) -> dict[str, Any]:
    """What this version says of this case; "refused" where the method does not fit the benchmark."""
    folder = case.folder(under)
    answer = folder / "answer.json"
    if not answer.exists():
        shutil.rmtree(folder, ignore_errors=True)
        place = folder / "run"
        # a folder of its own means a ledger; without one the command writes below the working directory
        place_options = ["--out", str(place)] if case.way != "in process" else []
        epochs = EPOCHS[2:] if case.method in WITHOUT_LOOP else EPOCHS
        options = [*place_options, *WAYS[case.way], *epochs, *FEWER.get(case.method.split("-")[0], ())]
        folder.mkdir(parents=True)
        command = ("train", "--benchmark", case.benchmark, "--method", case.method, *options)
        done = fewsolves(tree, *command, folder=folder)
        if done.returncode:
            found: dict[str, Any] = {"refused": done.stderr.strip().splitlines()[-1]}
        else:
            found = read(place if case.way != "in process" else folder / "runs" / "train")
        answer.write_text(json.dumps(found))
    return dict(json.loads(answer.read_text()))


def read(folder: Path) -> dict[str, Any]:
    result = json.loads((folder / "result.json").read_text())
    with (folder / "history.csv").open(newline="") as file:
        history = [{k: v for k, v in row.items() if k not in CLOCK} for row in csv.DictReader(file)]
    found = {"result": {k: v for k, v in result.items() if k not in CLOCK}, "history": history}
    weights = folder / "weights.safetensors"
    return found | ({"weights": weights.read_bytes().hex()} if weights.exists() else {})


def differences(a: Any, b: Any, name: str = "") -> list[str]:
    """Where b, of the newer version, differs from a, by name; what only b tells is new. NaN is equal to itself."""
    if isinstance(a, dict) and isinstance(b, dict):
        return [d for key in sorted(a) for d in differences(a.get(key), b.get(key), f"{name}.{key}")]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [d for k, pair in enumerate(zip(a, b, strict=True)) for d in differences(*pair, f"{name}[{k}]")]
    return [] if json.dumps(a) == json.dumps(b) else [f"{name.lstrip('.')}: {str(a)[:60]} -> {str(b)[:60]}"]


def largest(a: Any, b: Any) -> float:
    """The largest relative difference of numbers in a and b; infinite where anything else differs, such as a count."""
    if isinstance(a, dict) and isinstance(b, dict):
        return max((largest(a[key], b.get(key)) for key in a), default=0.0)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return max((largest(one, other) for one, other in zip(a, b, strict=True)), default=0.0)
    if json.dumps(a) == json.dumps(b):
        return 0.0
    try:
        one, other = float(a), float(b)
    except (TypeError, ValueError):
        return math.inf
    if one.is_integer() and other.is_integer():
        return 0.0 if one == other else math.inf
    return abs(one - other) / max(abs(one), abs(other))


def _difference(before: dict[str, Any], after: dict[str, Any]) -> float | None:
    """The same of two answers, weights in units of the largest of their array; None where both versions refuse."""
    if "refused" in before or "refused" in after:
        return None if "refused" in before and "refused" in after else math.inf
    found = largest(before["result"], after["result"]), largest(before["history"], after["history"])
    one, other = (
        load(bytes.fromhex(answer.get("weights", ""))) if "weights" in answer else {} for answer in (before, after)
    )
    if any(name not in other or other[name].shape != values.shape for name, values in one.items()):
        return math.inf
    by_weight = (
        np.abs(values - other[name]).max() / np.abs(values).max() for name, values in one.items() if values.any()
    )
    return max(*found, max(map(float, by_weight), default=0.0))


def table(found: dict[Case, float | None]) -> str:
    """One line per method and benchmark, one column per way."""
    lines = ["| method | benchmark | " + " | ".join(WAYS) + " |", "|---" * (2 + len(WAYS)) + "|"]
    for method, benchmark in dict.fromkeys((case.method, case.benchmark) for case in found):
        cells = [_shown(found[Case(benchmark, method, way)]) for way in WAYS]
        lines.append(f"| `{method}` | {benchmark} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _shown(difference: float | None) -> str:
    if difference is None:
        return "refused"
    return "same bits" if difference == 0.0 else "differs" if math.isinf(difference) else f"{difference:.0e}"


def _comparable(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both without sentences, and without the settings that only the other commit records: they are refused now."""
    if "result" in before and "result" in after:
        before["result"] = {name: value for name, value in before["result"].items() if name not in SENTENCES}
        config, kept = before["result"]["config"], after["result"]["config"]
        for part in ("train", "loss"):
            config[part] = {name: value for name, value in config[part].items() if name in kept[part]}
    return before, after


def checkout(commit: str) -> Path:
    """The source of another commit, kept below runs/identity."""
    tree = KEPT / "source" / commit
    if not tree.exists():
        tree.mkdir(parents=True)
        git = ["git", "-C", str(ROOT)]
        listed = subprocess.run(
            [*git, "ls-tree", "-d", "--name-only", commit, *PACKAGES], capture_output=True, check=True
        )
        archive = subprocess.run(
            [*git, "archive", commit, *listed.stdout.decode().split()], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", str(tree)], input=archive.stdout, check=True)
    return tree


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", required=True, help="the commit to compare with")
    parser.add_argument("--methods", help="some methods only, separated by commas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--within", type=float, default=0.0, help="relative difference that is no error")
    parser.add_argument("--only-other", action="store_true", help="make the other commit's runs and compare nothing")
    given = parser.parse_args()
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short=12", given.against], capture_output=True, text=True, check=True
    ).stdout.strip()
    other = checkout(commit)
    listed = fewsolves(other, "methods").stdout.split("\n")
    methods = given.methods.split(",") if given.methods else [line.split()[0] for line in listed if line.strip()]
    cases = [Case(b, m, way) for way in WAYS for b in BENCHMARKS for m in methods]
    here = KEPT / "here"
    if not given.only_other:
        shutil.rmtree(here, ignore_errors=True)

    def compare(case: Case) -> tuple[Case, float | None, list[str]]:
        before = make(other, case, KEPT / commit)
        if given.only_other:
            return case, 0.0, []
        pair = _comparable(before, make(ROOT, case, here))
        return case, _difference(*pair), differences(*pair)

    found: dict[Case, float | None] = {}
    with ThreadPoolExecutor(given.jobs) as pool:
        for future in as_completed([pool.submit(compare, case) for case in cases]):
            case, difference, differing = future.result()
            found[case] = difference
            if difference is not None and difference > given.within:
                print(f"{case.benchmark}, {case.method}, {case.way}: " + "; ".join(differing[:3]), flush=True)
    compared = [one for one in found.values() if one is not None]
    same, beyond = sum(one == 0.0 for one in compared), sum(one > given.within for one in compared)
    print(table({case: found[case] for case in cases}))
    print(
        f"{len(cases)} runs against {commit}: {same} identical, {len(cases) - len(compared)} refused by both, "
        f"{beyond} beyond {given.within:g}"
    )
    sys.exit(beyond > 0)


if __name__ == "__main__":
    main()
