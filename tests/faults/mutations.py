"""Files of a run folder that are mutated at random, and what comes of reading them; prints what happened as JSON.

    python tests/faults/mutations.py --number 1000

A mutation flips bits, truncates, or swaps, zeroes or doubles pages of one file: the ledger, its log, a checkpoint, a
result. Wrong is a row, a checkpoint or a result that is taken and is not what was written; a traceback is an exception
that is none of the library's own.
"""

import argparse
import json
import shutil
import sqlite3
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import fewsolves as fs
from fewsolves.errors import FewsolvesError
from fewsolves.ledger.file import FILE
from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.reading import evaluations, open_to_read, summary, verify
from fewsolves.ledger.rows import value_of
from fewsolves.oracle import Oracle
from fewsolves.runs.checkpoint import read_pair, write_pair

Y = np.random.default_rng(0).normal(size=(12, 3))
PAIRS = {"checkpoint-0.json": "checkpoint-0.safetensors", "fit.json": "weights.safetensors"}


def solve(y_hat):
    return np.round(y_hat, 2)


def cost(y, z):
    return float(np.sum((y - z) ** 2))


PROBLEM = fs.Problem(solve=solve, cost=cost)


def make(folder):
    """A ledger that was killed before its log went into the file, a checkpoint and a result."""
    ledger = open_ledger(folder, PROBLEM, Y, identity="a")
    oracle = Oracle(PROBLEM, Y, ledger=ledger)
    for k in range(6):
        oracle.regret(np.arange(12), Y + 0.1 * k, phase="online")
        if k == 3:
            ledger.file.connection.execute("PRAGMA wal_checkpoint(FULL)")
    ledger.barrier()
    for facts, numbers in PAIRS.items():
        write_pair(folder / numbers, folder / facts, {"a": Y, "b": np.arange(5)}, {"epoch": 3, "rows": list(range(50))})
    copy = folder.parent / "killed"
    shutil.copytree(folder, copy)
    ledger.close()
    return copy


def mutated(content, rng):
    content, kind = bytearray(content), rng.choice(["flip", "flips", "cut", "zero", "swap", "double", "noise"])
    n = len(content)
    if not n:
        return bytes(content), kind
    size = int(min(n, rng.choice([512, 4096])))
    one, other = (int(rng.integers(0, max(1, n // size))) * size for _ in range(2))
    if kind in ("flip", "flips"):
        for _ in range(1 if kind == "flip" else int(rng.integers(2, 40))):
            content[rng.integers(n)] ^= 1 << int(rng.integers(8))
    elif kind == "cut":
        del content[int(rng.integers(n)) :]
    elif kind == "zero":
        content[one : one + size] = bytes(len(content[one : one + size]))
    elif kind == "noise":
        content[one : one + size] = rng.bytes(len(content[one : one + size]))
    else:
        first, second = content[one : one + size], content[other : other + size]
        content[other : other + len(first)] = first
        if kind == "swap":
            content[one : one + len(second)] = second
    return bytes(content), kind


def read(folder, expected, deep):
    """Takes all that can be taken; what of it is wrong."""
    wrong = 0
    file = open_to_read(folder)
    try:
        verify(file)
        summary(file)
        wrong += sum(call is not None and expected["calls"].get(call.seq) != call for call in file.calls())
        for one in evaluations(file):
            wrong += (one.example, one.cost) not in expected["evaluations"]
    finally:
        file.close()
    if deep:
        ledger = open_ledger(folder, PROBLEM, Y, identity="a", adopt=True)
        try:
            for kind, known in ledger.paid.items():
                for key, seq in known.items():
                    found = ledger.file.fetch(seq)
                    if found is not None and found.key == key and seq <= max(expected["calls"]):
                        wrong += value_of(found) != expected["values"].get((kind, key))
        finally:
            ledger.close()
    return wrong


def expectation(folder):
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "copy"
        shutil.copytree(folder, copy)
        file = open_to_read(copy)
        calls = {call.seq: call for call in file.calls()}
        told = {(one.example, one.cost) for one in evaluations(file)}
        file.close()
    values = {(call.kind, call.key): value_of(call) for call in calls.values() if call.status == "ok"}
    return {"calls": calls, "values": values, "evaluations": told}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rng, place, began = np.random.default_rng(given.seed), Path(tempfile.mkdtemp()), time.monotonic()
    told = dict.fromkeys(["mutations", "wrong", "tracebacks", "refused", "slow"], 0)
    try:
        original = make(place / "run")
        expected, files = expectation(original), [FILE, f"{FILE}-wal", *PAIRS, *PAIRS.values()]
        pairs = {facts: read_pair(original / numbers, original / facts) for facts, numbers in PAIRS.items()}
        while told["mutations"] < given.number and time.monotonic() - began < given.seconds:
            told["mutations"] += 1
            name = str(rng.choice(files, p=[0.5, 0.3, 0.05, 0.05, 0.05, 0.05]))
            content, kind = mutated((original / name).read_bytes(), rng)
            here, since = place / "here", time.monotonic()
            shutil.rmtree(here, ignore_errors=True)
            shutil.copytree(original, here, ignore=shutil.ignore_patterns("*-shm", "lock"))
            (here / name).write_bytes(content)
            try:
                if name.startswith(FILE):
                    told["wrong"] += bool(read(here, expected, deep=told["mutations"] % 10 == 0))
                else:
                    facts = name if name in PAIRS else next(f for f, numbers in PAIRS.items() if numbers == name)
                    arrays, content_read = read_pair(here / PAIRS[facts], here / facts)
                    same = all(np.array_equal(arrays[key], values) for key, values in pairs[facts][0].items())
                    told["wrong"] += not (same and content_read == pairs[facts][1])
            except (FewsolvesError, ValueError) as error:
                told["refused"] += 1
                assert not isinstance(error, sqlite3.Error) or isinstance(error, FewsolvesError)
            except Exception as error:
                told["tracebacks"] += 1
                told["first_traceback"] = told.get("first_traceback", f"{name}, {kind}: {error!r}")
            told["slow"] += time.monotonic() - since > 20.0
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
