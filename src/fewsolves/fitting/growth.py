"""Refitting on a grown table: a run continues from the previous one and pays for the new rows.

The table begins with the rows of the former run; new rows follow. Training starts from the former predictor. Old rows
keep their use (training or validation) and everything that was paid for them: labels, first points, readings. Without
a budget of the user, the allowance is one and a half times what the same number of rows cost in the former run (and at
most three solves for each, where a method pays as it finds that it gains), plus one reading of the validation rows; but
never less than what the method needs to give a result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fewsolves.data import Split, Validation, extended_split
from fewsolves.errors import InputError
from fewsolves.fitting.checkpoint import read_pair
from fewsolves.ledger.identity.fingerprint import digest_of
from fewsolves.methods.base import Trainer
from fewsolves.oracle import Budget
from fewsolves.oracle.former import FormerRun
from fewsolves.predictors.predictor import Predictor, rebuilt
from fewsolves.problem import Array

NEW_ROW_FACTOR = 1.5  # solves of a new row, relative to a row of the run before
BY_EVIDENCE = 3.0  # and no more solves for each, where a method pays as it finds that it gains: some runs end early
WEIGHTS, FACTS = "weights.safetensors", "fit.json"


@dataclass(frozen=True)
class Former:
    """The part of a finished run that the next run continues from."""

    predictor: Predictor
    predictor_name: str
    split: Split
    solves_per_row: float  # that were paid when there was nothing to go on from
    run: FormerRun
    table: tuple[str, str]  # digests of X and Y
    identity: str = ""  # that of its run in a folder

    def check_first_rows(self, X: Array, Y: Array) -> None:
        """Raise if a table does not begin with the rows of the former one."""
        n = self.run.n_rows
        for name, values, known in zip("XY", (X, Y), self.table, strict=True):
            if len(values) < n or digest_of(values[:n]) != known:
                raise InputError(
                    f"refit needs the {n} rows of the former table, unchanged, followed by new rows; the first "
                    f"{n} rows of {name} differ. Use `fit` to start over"
                )

    def split_of(self, n: int, validation: Validation, rng: np.random.Generator, groups: Any) -> Split:
        """Rows of the grown table by their use."""
        if self.run.n_rows == n:
            return self.split
        return extended_split(self.split, self.run.n_rows, n, validation, rng=rng, groups=groups)

    def allowance(self, method: Trainer, n: int, n_valid: int, least: int) -> Budget:
        """The allowance without a budget of the user; `least` is the least price of the method."""
        rate = NEW_ROW_FACTOR * self.solves_per_row
        if method.demand(1).by_evidence:
            rate = min(rate, BY_EVIDENCE)
        return Budget(solves=max(1, least, math.ceil(rate * (n - self.run.n_rows)) + n_valid))


def table_facts(prepared: Any, solves: int) -> dict[str, Any]:
    """Facts for fit.json that a later run needs, beside the result, to continue from this one."""
    former, plan = prepared.former, prepared.plan
    rate = solves / prepared.rows_paid_for if former is None else former.solves_per_row
    return {
        "n": len(plan.Y),
        "X": digest_of(plan.context),
        "Y": digest_of(plan.Y),
        "about": lasting(prepared.about),
        "split": {part: rows.tolist() for part, rows in vars(prepared.split).items()},
        "from": None if former is None else former.identity,
        "solves_per_row": rate,
    }


def lasting(about: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the identity of a run that does not depend on the table."""
    changing = ("X", "weights", "groups", "goes on from", *(f"{part} rows" for part in ("train", "valid", "test")))
    return {name: value for name, value in about.items() if name not in changing}


def former_in(
    folder: Path, X: Array, Y: Array, about: Mapping[str, Any], build: Callable[[str], Any], bounds: Any
) -> Former | None:
    """The finished run in a folder that a run over this table continues from, or did; None if there is none.

    `build` makes an untrained predictor of the name that it had.
    """
    try:
        weights, facts = read_pair(folder / WEIGHTS, folder / FACTS)
        table, name = facts["table"], facts["predictor_name"]
        n, grown = table["n"], len(Y) > table["n"]
        same = table["about"] == lasting(about) and (table["X"], table["Y"]) == (digest_of(X[:n]), digest_of(Y[:n]))
        if facts["interrupted"] or not same or len(Y) < n or (not grown and table["from"] is None):
            return None
        rows = facts["rows"] if grown else table["split"]
        return Former(
            rebuilt(build(name), weights, bounds),
            name,
            Split(**{part: np.array(of, dtype=int) for part, of in rows.items()}),
            float(table["solves_per_row"]),
            FormerRun(n),
            (table["X"], table["Y"]),
            facts["call"] if grown else table["from"],
        )
    except (ValueError, KeyError, TypeError, RuntimeError):
        return None  # not there, of another version, or damaged: a run of its own
