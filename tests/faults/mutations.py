"""Files of a run folder that are mutated at random, and what comes of reading them; prints what happened as JSON.

    python tests/faults/mutations.py --number 1000

A mutation flips bits, truncates, or swaps, zeroes or doubles pages of one file: the ledger, its log, a checkpoint, a
result. Each mutated ledger is verified, exported and summed up; every `--deep`-th one is also opened by the run that
wrote it, which asks everything again and learns from what others paid. Wrong is whatever is taken and is not what was
written, down to the last bit; a traceback is an exception that is none of the library's own.

All in one process, in memory where the machine has a place for that: no crash of the interpreter is at stake here.
"""

import argparse
import json
import os
import shutil
import tempfile
import time
import traceback
import warnings
from collections import Counter
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

import fewsolves as fs
from fewsolves.errors import FewsolvesError, Infeasible, InputError
from fewsolves.fitting.checkpoint import read_pair, write_pair
from fewsolves.ledger.following import Following
from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.reading import decisions_of_others, evaluations, open_to_read, paid_by_others, summary, verify
from fewsolves.ledger.sqlite import file as ledger_file
from fewsolves.ledger.sqlite.file import LEDGER_FILE
from fewsolves.ledger.sqlite.rows import Call, checksum, value_of
from fewsolves.oracle import Oracle, SolveConfig

MEMORY = Path("/dev/shm")
ROWS, N_Y = 8, 3
Y = np.random.default_rng(0).normal(size=(ROWS, N_Y))
POINTS = [Y + shift for shift in (0.1, 0.1, 0.3)]  # the second time nothing is paid
PAIRS = {"checkpoint-0.json": "checkpoint-0.safetensors", "fit.json": "weights.safetensors"}
CHANCES = {LEDGER_FILE: 0.5, f"{LEDGER_FILE}-wal": 0.3} | {name: 0.05 for pair in PAIRS.items() for name in pair}
SLOW = 20.0  # seconds of the processor, which on a busy machine are no more
PACE, AGAIN = 0.125, 0.25  # what a run had measured, and what it measures again where that is lost


def solve(y_hat, limit=0.0):
    if y_hat[0] > 1.2:
        raise Infeasible("nothing fits")
    return np.round(y_hat + limit, 2).reshape(1, -1)


def cost(y, z, limit=0.0):
    return float(np.sum((y - z) ** 2) + limit)


PROBLEMS = {
    "plain": fs.Problem(solve=solve, cost=cost),
    "rows that differ": fs.Problem(solve=solve, cost=cost, instances=list(np.arange(ROWS) / 10)),
    "noisy by its own word": fs.Problem(solve=solve, cost=cost, noisy="both"),
}


def opened(folder, problem, run, **more):
    ledger = open_ledger(folder, problem, Y, identity=run, replays_failures=True, **more)
    return Oracle(problem, Y, ledger=ledger, solving=SolveConfig(on_failure="skip"))


def answers_of(oracle):
    """Everything that a run asks for, with its answers."""
    index = np.arange(ROWS)
    regret = [oracle.regret(index, points, phase="online") for points in POINTS]
    return np.array([*regret, oracle.regret(index, Y + 0.4, phase="validation"), oracle.optimum(index)])


class Original:
    """The folder of a run that was killed before its log went into the file, and what is in it."""

    def __init__(self, place, problem):
        self.problem, folder = problem, place / "run"
        others = opened(folder, problem, "b")
        others.regret(np.arange(ROWS), POINTS[0] + 0.01, phase="online")
        others.ledger.close()
        oracle = opened(folder, problem, "a")
        oracle.regret(np.arange(ROWS), POINTS[0], phase="online")
        oracle.ledger.barrier()
        oracle.ledger.file.connection.execute("PRAGMA wal_checkpoint(FULL)")
        oracle.ledger.close()
        oracle = opened(folder, problem, "a")
        self.answers = answers_of(oracle)
        oracle.ledger.measured("pace", lambda: PACE)
        oracle.ledger.barrier()
        for facts, numbers in PAIRS.items():
            content = {"epoch": 3, "rows": list(range(50))}
            write_pair(folder / numbers, folder / facts, {"a": Y, "b": np.arange(5)}, content)
        self.files = {name: (folder / name).read_bytes() for name in CHANCES}
        oracle.ledger.close()
        self.folder = place / "here"
        self.folder.mkdir()
        self.restore()
        file = open_to_read(self.folder)
        self.calls = {call.seq: call for call in file.calls()}
        self.evaluations = {evaluation_key(one) for one in evaluations(file)}
        file.close()
        solved = [call for call in self.calls.values() if (call.kind, call.status) == ("solve", "ok")]
        self.decisions = {(call.y_hat, call.decision) for call in solved}
        self.samples = {(one[0], one[8], one[6]) for one in self.evaluations}  # whosever they are
        self.regrets = {(one[0], one[6]): one[7] for one in self.evaluations}
        self.values = {(call.kind, call.key): value_of(call) for call in self.calls.values() if call.status == "ok"}
        self.pairs = {facts: read_pair(self.folder / numbers, self.folder / facts) for facts, numbers in PAIRS.items()}

    def restore(self):
        for path in self.folder.iterdir():
            if path.name not in PAIRS and path.name not in PAIRS.values():
                path.unlink()
        for name, content in self.files.items():
            (self.folder / name).write_bytes(content)


def evaluation_key(one):
    return tuple(tuple(value.ravel()) if isinstance(value, np.ndarray) else value for value in one)


def read(original):
    """Takes all that can be taken without writing; what of it is wrong."""
    wrong = []
    file = open_to_read(original.folder)
    try:
        verify(file)
        summary(file)
        for call in file.calls():
            if call is not None and original.calls.get(call.seq) != call:
                wrong.append(f"row {call.seq}")
        for one in map(evaluation_key, evaluations(file)):
            whole = (*one[:7], original.regrets.get((one[0], one[6])), *one[8:])
            if whole not in original.evaluations or one[7] not in (None, whole[7]):
                wrong.append(f"evaluation {one}")
    finally:
        file.close()
    following = Following(original.folder)
    try:
        following.refresh()
    finally:
        following.close()
    return wrong


def resume(original, adopt):
    """The run goes on, asks again, and learns from others; what of that is wrong."""
    wrong = []
    oracle = opened(original.folder, original.problem, "a", adopt=adopt)
    ledger = oracle.ledger
    try:
        for row, y_hat, paid in zip(*paid_by_others(ledger), strict=True):
            if (row, tuple(y_hat), paid) not in original.samples:
                wrong.append(f"sample of row {row} at {y_hat}")
        for y, z in zip(*decisions_of_others(ledger), strict=True):
            if (y.tobytes(), z.content) not in original.decisions:
                wrong.append(f"decision at {y}")
        if not np.array_equal(answers_of(oracle), original.answers, equal_nan=True):
            wrong.append("answers")
        if ledger.measured("pace", lambda: AGAIN) not in (PACE, AGAIN):
            wrong.append("measured")
        ledger.barrier()
        ledger.go_on_from(max(original.calls), {})
        for kind in ("solve", "cost"):
            for one, value in ledger.recall(kind, [k for of, k in original.values if of == kind]).items():
                if value != original.values[kind, one] and not isinstance(value, fs.Failure):
                    wrong.append(f"{kind} {one.hex()} that was remembered")
    finally:
        oracle.close()
        ledger.close()
    return wrong


def read_facts(original, name):
    facts = name if name in PAIRS else next(f for f, numbers in PAIRS.items() if numbers == name)
    try:
        arrays, content = read_pair(original.folder / PAIRS[facts], original.folder / facts)
    except ValueError as error:  # which who reads it tells, with these words
        raise InputError(str(error)) from error
    expected, known = original.pairs[facts]
    same = expected.keys() == arrays.keys() and all(np.array_equal(arrays[k], v) for k, v in expected.items())
    return [] if same and content == known else [name]


@lru_cache(maxsize=100_000, typed=True)
def remembered_checksum(*columns):
    """The same rows are read in each mutated file: what their checksum is, need not be computed again."""
    return checksum(Call(*columns))


def mutated(content, rng):
    content, kind = bytearray(content), rng.choice(["flip", "flips", "cut", "zero", "swap", "double", "noise"])
    n = len(content)
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
    return bytes(content), str(kind)


def taken(step, tally):
    """What went wrong in one step, in words."""
    try:
        wrong = step()
    except FewsolvesError:
        tally["refused"] += 1
        return None
    except Exception:
        tally["tracebacks"] += 1
        return traceback.format_exc()[-600:]
    tally["wrong"] += bool(wrong)
    return wrong[0] if wrong else None


def mutate(original, seed, number, deep, tally):
    """One mutation; by seed and number, it can be made again."""
    rng, since = np.random.default_rng([seed, number]), time.process_time()
    name = str(rng.choice(list(CHANCES), p=list(CHANCES.values())))
    content, kind = mutated(original.files[name], rng)
    (original.folder / name).write_bytes(content)
    if not name.startswith(LEDGER_FILE):
        steps = [partial(read_facts, original, name)]
    else:
        steps = [partial(read, original), *([partial(resume, original, bool(rng.random() < 0.5))] if deep else [])]
    found = [found for step in steps if (found := taken(step, tally))]
    if found:
        tally["which"] = [*tally["which"], f"{seed}/{number}: {name}, {kind}: {found[0]}"][:20]
    tally["slow"] += time.process_time() - since > SLOW
    tally["mutations"] += 1
    tally["kinds"][f"{name}, {kind}"] += 1
    original.restore()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--deep", type=int, default=4, help="one in this number is opened to go on")
    parser.add_argument("--only", type=int, help="the number of one mutation, which is left where it is")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    ledger_file.checksum = lambda call: remembered_checksum(*call)
    place = Path(tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    tally = dict.fromkeys(["mutations", "wrong", "tracebacks", "refused", "slow"], 0) | {
        "kinds": Counter(),
        "which": [],
    }
    problem = list(PROBLEMS)[given.seed % len(PROBLEMS)]
    try:
        original = Original(place, PROBLEMS[problem])
        for number in range(given.number) if given.only is None else [given.only]:
            mutate(original, given.seed, number, number % given.deep == 0, tally)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(json.dumps(tally | {"problem": problem}))


if __name__ == "__main__":
    main()
