"""The corpus: one small file of each kind, as this version writes it.

python tests/faults/fuzz/seeds.py
"""

from __future__ import annotations

import io
import json
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import pyarrow
import targets
from pyarrow import parquet

import fewsolves as fs
from fewsolves.ledger.shared import ANSWERS_FILE
from fewsolves.ledger.sqlite.file import LEDGER_FILE
from fewsolves.methods.base import State

CORPUS = Path(__file__).parent / "corpus"

PARTS = {  # of a result, that some methods write, or that runs with failures have
    "stages": [{"stage": "pairs", "solves_per_row": 1.5, "change": -0.2, "error": 0.1, "accepted": 0.5}],
    "calibration": {"nominal": [0.5, 0.95], "covered": [0.4, 0.9], "n": 640},
    "failures": {
        "number": 1,
        "by_status": {"crashed": 1},
        "first": [{"row": 3, "attempts": 2, "message": "it ended"}],
    },
    "warnings": ["a warning"],
    "gap_closed": 0.5,
}


def keep(kind: str, name: str, data: bytes) -> None:
    """Write one file of the corpus."""
    (CORPUS / kind).mkdir(parents=True, exist_ok=True)
    (CORPUS / kind / name).write_bytes(data)


def pair(numbers: Path, facts: Path) -> bytes:
    """Both files in one, as `targets` takes them apart."""
    packed = numbers.read_bytes()
    return len(packed).to_bytes(2, "little") + packed + json.loads(facts.read_text())["content"].encode()


def main() -> None:
    from fewsolves.fitting.checkpoint import write_pair

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 2)), 10 + rng.normal(size=(12, 2))
    problem = fs.Problem(solve=np.ceil, cost=lambda y, z: float(np.sum(z + 9 * np.maximum(y - z, 0))))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        options = {"predictor": "linear", "settings": {"max_epochs": 1, "start_epochs": 1}, "verbose": False}
        model = fs.DecisionRegressor(problem, "sfge", folder=folder, **options).fit(X, Y)
        small = Path(place) / "small.sqlite"
        with sqlite3.connect(folder / LEDGER_FILE) as ledger:
            ledger.execute("DELETE FROM calls WHERE seq > 8")
            ledger.execute("PRAGMA journal_mode = DELETE")
        with sqlite3.connect(folder / LEDGER_FILE) as ledger:
            ledger.execute("VACUUM INTO ?", [str(small)])
        keep("ledger", "run.sqlite", small.read_bytes())
        keep("result", "result.json", (folder / "result.json").read_bytes())
        keep("result", "parts.json", json.dumps(json.loads((folder / "result.json").read_text()) | PARTS).encode())
        keep("history", "history.csv", (folder / "history.csv").read_bytes())
        model.save(Path(place) / "model")
        keep("model", "linear", pair(Path(place) / "model" / "model.safetensors", Path(place) / "model" / "model.json"))
        state = State({"weight": np.ones(3)}, {"epoch": 1, "calls": {}})
        files = Path(place) / "checkpoint-0.safetensors", Path(place) / "checkpoint-0.json"
        write_pair(*files, state.arrays, {"call": "call", "number": 1, "facts": state.facts})
        keep("checkpoint", "one", pair(*files))
    with tempfile.TemporaryDirectory() as place:
        targets.answers(b"")
        with sqlite3.connect(targets.FOLDER / ANSWERS_FILE) as answers:
            answers.execute("VACUUM INTO ?", [str(Path(place) / "small")])
        keep("answers", "answers.sqlite", (Path(place) / "small").read_bytes())
    keep("csv_table", "two.csv", b"day,x,y\n2026-01-01,1.5,2\n2026-01-02,,3\n")
    packed = io.BytesIO()
    np.savez(packed, x=np.ones((2, 2)), y=np.arange(2.0))
    keep("npz_table", "two.npz", packed.getvalue())
    packed = io.BytesIO()
    parquet.write_table(pyarrow.table({"day": ["2026-01-01", None], "x": [1.5, 2.0]}), packed, compression="NONE")
    keep("parquet_table", "two.parquet", packed.getvalue())


if __name__ == "__main__":
    main()
