"""A4: the power fails. What was acknowledged is there; of what was not yet synced any sectors may be lost or kept.

After each round of solves the files are as a crash would find them at the earliest: all that was used is synced. What
the next round writes is not, until it is acknowledged itself. So a power failure within a round leaves, sector by
sector, the files of before or of after.
"""

from __future__ import annotations

import itertools
import shutil

import numpy as np

from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.sqlite.file import LEDGER_FILE
from fewsolves.ledger.tally import TALLY
from fewsolves.oracle import Oracle

from .test_storage import ALL, PROBLEM, Y, replayed

SECTOR = 4096
ROUNDS = 5
FAILURES = 8  # in each round


def test_power_what_was_acknowledged_survives_any_loss_of_what_was_not(tmp_path):
    ledger = open_ledger(tmp_path / "run", PROBLEM, Y, identity="a")
    oracle = Oracle(PROBLEM, Y, ledger=ledger)
    states = []
    for k in range(1, ROUNDS + 1):
        oracle.regret(ALL, Y + k, phase="online")
        states.append({end: (tmp_path / "run" / f"{LEDGER_FILE}{end}").read_bytes() for end in ("", "-wal")})
        states[-1][TALLY] = (tmp_path / "run" / TALLY).read_bytes()  # which tells of what is synced, and may be behind
    ledger.close()
    rng = np.random.default_rng(0)
    for k, (before, after) in enumerate(itertools.pairwise(states), 1):
        assert before[""] == after[""], "nothing was moved from the log into the file meanwhile"
        assert len(after["-wal"]) > len(before["-wal"]) + SECTOR, "the round wrote several sectors"
        for failure in range(FAILURES):
            folder = tmp_path / f"{k}-{failure}"
            shutil.copytree(tmp_path / "run", folder)
            for path in folder.glob(f"{LEDGER_FILE}-*"):
                path.unlink()
            (folder / LEDGER_FILE).write_bytes(before[""])
            (folder / TALLY).write_bytes(before[TALLY])
            (folder / f"{LEDGER_FILE}-wal").write_bytes(_mixed(before["-wal"], after["-wal"], rng))
            assert replayed(folder, rounds=k) == (True, 0), "nothing that was used is paid again"


def _mixed(before: bytes, after: bytes, rng: np.random.Generator) -> bytes:
    """Each sector as it was or as it was to be; where the file grew and the sector was lost, zeros."""
    old = before.ljust(len(after), b"\0")
    sectors = [(old if rng.random() < 0.5 else after)[at : at + SECTOR] for at in range(0, len(after), SECTOR)]
    return b"".join(sectors)[: rng.integers(len(before), len(after) + 1)]
