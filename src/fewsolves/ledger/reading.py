"""Reports on a ledger, and import into it: what it holds, whether it is whole, its evaluations, history from outside.

evaluation    one solve and one cost call of an example: y_hat, decision, cost, regret, how drawn, seconds, status
history       (row, y_hat, decision, cost) that a production system has paid for: free samples for every run
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fewsolves.data import check_matrix
from fewsolves.errors import InputError, LedgerError
from fewsolves.execution.base import Failure
from fewsolves.execution.serial import decision
from fewsolves.ledger.decision import PackedDecision, pack_decision
from fewsolves.ledger.identity.held_data import NOT_FOLLOWED
from fewsolves.ledger.keys import cost_key, solve_keys
from fewsolves.ledger.ledger import Ledger, open_ledger
from fewsolves.ledger.opening import HELD, IMPORTED, recorded_items
from fewsolves.ledger.sqlite.description import Description, read_description
from fewsolves.ledger.sqlite.file import LEDGER_FILE, DamagedError, LedgerFile
from fewsolves.ledger.sqlite.rows import PAID, REUSED, Call, PendingCall, decision_of, is_evaluation, unpack
from fewsolves.problem import Array, Problem

AT_ONCE = 1024  # evaluations read at once
LISTED_FAILURES = 20
MAX_LISTED_GAP = 1000  # rows of a gap that are listed
NOISY_PAIRS = f"""(SELECT solve, seq AS cost, row AS example FROM calls
  WHERE kind = 'cost' AND status = '{PAID}' AND solve IS NOT NULL)"""  # each cost is of the one solve that it followed


class Checked(NamedTuple):
    """What `verify` found."""

    rows: int
    damaged: list[int]  # row numbers whose checksum does not fit, or that cannot be read
    fault: str | None  # what SQLite's own check says, None where it finds nothing


class Evaluation(NamedTuple):
    """One line of the export, in the order of its columns; None where it is not known."""

    example: int
    phase: str
    run: int
    status: str
    attempt: int
    seconds: float
    cost: float | None
    regret: float | None
    y_hat: Array
    decision: Any  # an array, or what the solver made
    centre: Array | None
    sigma: Array | None


def open_to_read(folder: Path) -> LedgerFile:
    """The ledger in a folder, or a ledger file."""
    return LedgerFile(folder / LEDGER_FILE if folder.is_dir() else folder, write=False)


def summary(file: LedgerFile) -> dict[str, Any]:
    """Counts by run, kind and phase, seconds, and failures with their rows."""
    counts: Counter[tuple[int, str, str, str]] = Counter()
    seconds, failures = 0.0, []
    for run, kind, phase, status, number, spent in file.query(
        "SELECT run, kind, phase, status, count(*), sum(seconds) FROM calls GROUP BY run, kind, phase, status"
    ):
        counts[run, kind, phase, status] = number
        seconds += spent or 0.0
    failed = file.query(
        "SELECT row, kind, status, message FROM calls WHERE status NOT IN (?, ?) ORDER BY seq LIMIT ?",
        *(PAID, REUSED, LISTED_FAILURES),
    )
    failures = [dict(zip(("row", "kind", "status", "message"), one, strict=True)) for one in failed]
    runs = file.query("SELECT id, about, began FROM runs ORDER BY id")
    meta = dict(file.query("SELECT name, value FROM meta"))
    not_followed = [item for item, value in recorded_items(meta.get(HELD)).items() if value == NOT_FOLLOWED]
    facts = {"meta": meta, "runs": runs, "counts": counts, "seconds": seconds, "failures": failures}
    return facts | {"not_followed": not_followed}


def verify(file: LedgerFile) -> Checked:
    """Every row against its checksum, and SQLite's own check of the pages."""
    there, damaged, before = 0, list[int](), 0
    whole = {call.seq for call in file.calls() if call is not None}
    for (seq,) in file.scan("seq"):
        there += 1
        gap = range(before + 1, min(seq, before + 1 + MAX_LISTED_GAP))  # of rows that are missing
        damaged += [*gap, *([] if seq in whole else [seq])]
        before = seq
    try:
        damaged += range(before + 1, min(file.last(), before + MAX_LISTED_GAP) + 1)
        verdict = file.query("PRAGMA quick_check(1)")[0][0]
    except LedgerError as error:
        verdict = str(error)
    return Checked(max(there, min(before, there + len(damaged))), damaged, None if verdict == "ok" else str(verdict))


def evaluations(file: LedgerFile) -> Iterator[Evaluation]:
    """All evaluations whose rows are whole, and the solves that failed."""
    try:
        description = read_description(file)
        noisy = description.meta.get("deterministic") == "False"
        optima = _optima(file, description, noisy=noisy)
    except DamagedError:
        noisy, optima = True, {}  # the costs of the best decisions are unknown
    for solve, cost in _evaluated(file, f"SELECT solve, cost, example FROM {NOISY_PAIRS if noisy else 'pairs'}"):
        with contextlib.suppress(ValueError):  # whole, and not written by a run
            yield _evaluation(solve, cost, optima)


def _evaluation(solve: Call, cost: Call | None, optima: Mapping[int, float]) -> Evaluation:
    """ValueError where the columns do not fit together."""
    value, example = (None, solve.row) if cost is None else (cost.value, cost.row)
    return Evaluation(
        example=example,
        y_hat=unpack(solve.y_hat),
        decision=decision_of(solve).value() if solve.status == PAID else None,
        cost=value,
        regret=None if value is None or example not in optima else value - optima[example],
        centre=None if solve.centre is None else unpack(solve.centre),
        sigma=None if solve.sigma is None else unpack(solve.sigma),
        seconds=solve.seconds + (0.0 if cost is None else cost.seconds),
        status=solve.status,
        attempt=solve.attempt,
        phase=solve.phase,
        run=solve.run,
    )


def _evaluated(file: LedgerFile, pairs: str) -> Iterator[tuple[Call, Call | None]]:
    """Solves with their cost calls, of `pairs` (solve, cost, example), and solves that failed, by solve and example."""
    failed = f"SELECT seq, NULL, row FROM calls WHERE kind = 'solve' AND status NOT IN ('{PAID}', '{REUSED}')"
    for solve, cost, _ in _whole(file, [*file.query(pairs), *file.query(failed)]):
        if solve.status not in (PAID, REUSED) if cost is None else is_evaluation(solve, cost):
            yield solve, cost


def _whole(file: LedgerFile, named: list[tuple[Any, ...]]) -> Iterator[tuple[Call, Call | None, int]]:
    """Solve, cost call (None where none is named) and example of those that are whole, by solve and example.

    SQL reads pages without checksums, and a damaged file may have a row twice. So it only names candidates: what they
    say, and whether they belong together, is for the rows themselves, which have checksums.
    """
    distinct = {one for one in named if type(one[0]) is type(one[2]) is int and isinstance(one[1], int | None)}
    ordered = sorted(distinct, key=lambda one: (one[0], one[2], one[1] or 0))
    for first in range(0, len(ordered), AT_ONCE):
        few = ordered[first : first + AT_ONCE]
        calls = file.fetch_all(sorted({seq for one in few for seq in one[:2] if seq is not None}))
        for solve_seq, cost_seq, example in few:
            solve, cost = calls.get(solve_seq), calls.get(cost_seq)
            if solve is not None and solve.kind == "solve" and (cost is not None or cost_seq is None):
                yield solve, cost, example


def import_history(
    folder: str | Path, problem: Problem, Y: Any, *, rows: Any, y_hat: Any, decisions: Sequence[Any], cost: Any
) -> int:
    """Put what was paid elsewhere into the ledger of `problem` over the table Y; the number of new evaluations.

    Entry k says: for row `rows[k]` of the table, the prediction `y_hat[k]` led to `decisions[k]`, whose true cost was
    `cost[k]`. Runs with this ledger take these points for paid, and surrogates learn from them before the first solve.
    """
    Y = np.ascontiguousarray(Y, dtype=float)
    ledger = open_ledger(Path(folder), problem, Y, identity=IMPORTED, about={"imported": True})
    try:
        return _import(ledger, len(Y), problem.instances is not None, rows, y_hat, decisions, cost)
    finally:
        ledger.close()


def import_into(folder: Path, *, rows: Any, y_hat: Any, decisions: Sequence[Any], cost: Any) -> int:
    """The same where the ledger is there already and the problem is not at hand."""
    file = open_to_read(folder)
    try:
        meta, truths = read_description(file)
    finally:
        file.close()
    if not meta:
        raise LedgerError(f"{folder} has an empty ledger: start a run with it first, then import")
    keys, own = list(truths.values()), meta.get("instances") != "none"
    try:
        n_y = int(meta["n_y"])
    except (KeyError, ValueError, TypeError) as error:
        raise LedgerError(f"the ledger in {folder} does not say how many parameters its rows have") from error
    parts = {name: value for name, value in meta.items() if name not in ("n_y", "rows")}
    ledger = Ledger(folder, parts, keys, n_y, identity=IMPORTED, about={"imported": True})
    try:
        return _import(ledger, len(keys), own, rows, y_hat, decisions, cost)
    finally:
        ledger.close()


def _import(ledger: Ledger, n_rows: int, own: bool, rows: Any, y_hat: Any, decisions: Sequence[Any], cost: Any) -> int:
    rows, y_hat, cost = np.asarray(rows), check_matrix("y_hat", y_hat), np.asarray(cost)
    cost = check_matrix("cost", cost[:, None])[:, 0] if cost.ndim == 1 else cost
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or y_hat.shape != (len(rows), ledger.n_y):
        raise InputError(
            f"history needs rows (N,) of whole numbers and y_hat (N, {ledger.n_y}), got {rows.shape} of {rows.dtype} "
            f"and {y_hat.shape}"
        )
    if cost.shape != rows.shape or len(decisions) != len(rows):
        raise InputError(f"history has {len(rows)} rows, {len(decisions)} decisions and costs of shape {cost.shape}")
    number = 0
    for k, row in enumerate(rows.tolist()):
        checked = decision("history", decisions[k], row)
        if not 0 <= row < n_rows:
            raise InputError(f"entry {k} of the history is about row {row}; the table has rows 0 to {n_rows - 1}")
        if isinstance(checked, Failure):
            raise InputError(f"entry {k} of the history: {checked.message}")
        packed = pack_decision(checked)
        (solve,), costed = solve_keys(rows[k : k + 1], y_hat[k : k + 1], own=own), cost_key(packed.key, row)
        if ledger.has_paid("solve", solve) and ledger.has_paid("cost", costed):
            continue  # imported before, or paid
        ledger.record([PendingCall("solve", "online", row, k, solve, y_hat=y_hat[k])], [packed], [0.0], [1])
        pending = PendingCall("cost", "online", row, k, costed, decision_key=packed.key, solve=ledger.last)
        ledger.record([pending], [float(cost[k])], [0.0], [1])
        number += 1
    ledger.barrier()
    return number


def _optima(file: LedgerFile, description: Description, *, noisy: bool) -> dict[int, float]:
    """Cost of the best decision of each row, as far as it was paid; of a noisy cost the mean of its draws."""
    named = file.query(
        "SELECT s.seq, c.seq, t.row FROM truths t "
        "JOIN calls s ON s.kind = 'solve' AND s.status = 'ok' AND s.key = t.key AND s.phase IN ('labels', 'test') "
        "JOIN calls c ON c.kind = 'cost' AND c.status = 'ok' AND c.row = t.row AND c.decision_key = s.decision_key "
        f"{'AND c.solve IS NULL' if noisy else ''}"
    )
    found: dict[int, dict[int, list[float]]] = {}
    for solve, cost, row in _whole(file, named):
        best = solve.status == PAID and solve.key == description.truths.get(row) and solve.phase in ("labels", "test")
        if not best or cost is None or (cost.kind, cost.status, cost.row) != ("cost", PAID, row):
            continue
        if cost.decision_key == solve.decision_key and cost.value is not None and not (noisy and cost.solve):
            found.setdefault(row, {}).setdefault(solve.seq, []).append(cost.value)
    first = {row: costs[min(costs)] for row, costs in found.items()}
    return {row: float(np.mean(costs)) if noisy else costs[0] for row, costs in first.items()}


def decisions_of_others(ledger: Ledger) -> tuple[Array, list[PackedDecision]]:
    """y_hat (N, n_y) and what others' solves returned there before this run began, in order of payment; no tests."""
    named = ledger.file.query(
        "SELECT seq, NULL, 0 FROM calls WHERE kind = 'solve' AND status = ? AND seq < ? AND run != ?",
        *(PAID, ledger.first, ledger.run),
    )
    calls = [solve for solve, _, _ in _whole(ledger.file, named) if _of_others(solve, ledger, "probe", "test")]
    whole = [call for call in calls if call.status == PAID]
    points, decisions = list[Array](), list[PackedDecision]()
    for call in whole:
        with contextlib.suppress(ValueError):  # whole, and not written by a run
            point, decided = unpack(call.y_hat, ledger.n_y), decision_of(call)
            points.append(point)
            decisions.append(decided)
    return np.reshape(points, (len(points), ledger.n_y)), decisions


def paid_by_others(ledger: Ledger) -> tuple[Array, Array, Array]:
    """Row (N,), y_hat (N, n_y) and cost (N,) of what others had paid when this run began, in order of payment."""
    named = ledger.file.query(
        "SELECT p.solve, p.cost, p.example FROM pairs p JOIN calls s ON s.seq = p.solve JOIN calls c ON c.seq = p.cost "
        "WHERE s.seq < ? AND c.seq < ? AND s.run != ? AND c.run != ?",
        *(ledger.first, ledger.first, ledger.run, ledger.run),
    )
    rows, points, costs = [], [], []
    for solve, cost, _ in _whole(ledger.file, named):
        if cost is None or not is_evaluation(solve, cost) or cost.value is None:
            continue
        if _of_others(solve, ledger, "labels", "probe", "test") and _of_others(cost, ledger):
            rows.append(cost.row)
            points.append(unpack(solve.y_hat, ledger.n_y))
            costs.append(cost.value)
    n = len(rows)
    return np.array(rows, dtype=int), np.reshape(points, (n, ledger.n_y)), np.array(costs, dtype=float)


def _of_others(call: Call, ledger: Ledger, *but: str) -> bool:
    """Whether others had this call when this run began, in no phase of `but`, at a prediction of this table."""
    fits = call.kind == "cost" or (isinstance(call.y_hat, bytes) and len(call.y_hat) == 8 * ledger.n_y)
    return fits and call.seq < ledger.first and call.run != ledger.run and call.phase not in but
