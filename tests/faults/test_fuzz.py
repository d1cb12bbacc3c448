"""The targets of the fuzzers take their corpus and random changes of it: `make fuzz` does that for hours."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from .fuzz import run, targets

CORPUS = Path(__file__).parent / "fuzz" / "corpus"


@pytest.fixture(scope="module", autouse=True)
def folder():
    yield
    shutil.rmtree(targets.FOLDER, ignore_errors=True)


@pytest.mark.parametrize("name", targets.TARGETS)
def test_fuzz_targets_raise_nothing_but_errors_of_ours(name):
    rng = np.random.default_rng(0)
    for path in sorted((CORPUS / name).iterdir()):
        seed = path.read_bytes()
        targets.run(name, seed)
        for _ in range(50):
            changed = bytearray(seed)
            for at in rng.integers(len(seed), size=rng.integers(1, 9)):
                changed[at] = rng.integers(256)
            targets.run(name, bytes(changed[: rng.integers(1, len(seed) + 1)] if rng.random() < 0.2 else changed))


def test_fuzz_corpora_are_small():
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == set(targets.TARGETS)
    assert sum(path.stat().st_size for path in files) < 200_000


def test_fuzz_turns_of_a_kind_add_up(tmp_path):
    """The same command continues: what is counted says how long each kind was fuzzed in all its runs."""
    results = tmp_path / "fuzz.json"
    one = {"kind": "model", "seconds": 60, "processor seconds": 50, "executions": 900, "crashes": 0}
    for more in ({"coverage": 7, "features": 8}, {"coverage": 5, "features": 9, "crashes": 1}):
        run.keep(one | more, results, "a fuzzer")
    run.keep({**one, "kind": "ledger", "coverage": 1, "features": 1}, results, "a fuzzer")
    ledger, model = run.counted(results).values()
    assert model.pop("commit") == ledger.pop("commit") == model["parts"][0].pop("commit")
    assert model.pop("parts") == [{name: model[name] for name in ("turns", *run.SUMS)}]
    assert model == {
        "kind": "model",
        "turns": 2,
        "seconds": 120,
        "processor seconds": 100,
        "executions": 1800,
        "crashes": 1,
        "coverage": 7,
        "features": 9,
    }
    assert run.seconds_of("ledger", results) == 50
    assert run.seconds_of("result", results) == 0


def test_fuzz_turns_at_another_commit_are_a_part_of_their_own():
    one = {"kind": "model", "coverage": 7, "features": 8, **dict.fromkeys(run.SUMS, 3)}
    counts = run.added(run.added(run.added({}, one, "a"), one, "b"), one, "b")
    parts = [(part["commit"], part["turns"], part["executions"]) for part in counts["parts"]]
    assert parts == [("a", 1, 3), ("b", 2, 6)]
    assert (counts["commit"], counts["turns"], counts["executions"]) == ("b", 3, 9)


@pytest.mark.parametrize("name", targets.TARGETS)
def test_fuzz_of_each_kind_only_its_readers_are_instrumented(name):
    alone = run.left_alone(name)
    assert "fewsolves" in alone
    assert "fewsolves.methods.base" in alone
    assert not set(alone) & set(run.READERS[name])
