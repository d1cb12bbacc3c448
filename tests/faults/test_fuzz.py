"""The targets of the fuzzers take their corpus and random changes of it: `make fuzz` does that for hours."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from .fuzz import targets

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
        for _ in range(5 if name == "ledger" else 50):
            changed = bytearray(seed)
            for at in rng.integers(len(seed), size=rng.integers(1, 9)):
                changed[at] = rng.integers(256)
            targets.run(name, bytes(changed[: rng.integers(1, len(seed) + 1)] if rng.random() < 0.2 else changed))


def test_fuzz_corpora_are_small():
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == set(targets.TARGETS)
    assert sum(path.stat().st_size for path in files) < 200_000
