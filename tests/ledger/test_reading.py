import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import Infeasible, InputError, LedgerError
from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.reading import (
    decisions_of_others,
    evaluations,
    import_history,
    import_into,
    open_to_read,
    paid_by_others,
    summary,
    verify,
)
from fewsolves.ledger.sqlite.file import LEDGER_FILE
from fewsolves.oracle import Oracle, SolveConfig
from problems_of_users import demand_table

pytestmark = pytest.mark.portable

_, Y = demand_table(5)
ROWS = np.arange(5)


def solve(y_hat):
    if y_hat[0] > 1e6:
        raise Infeasible("too much")
    return y_hat


def cost(y, z):
    return float(abs(y - z).sum())


PROBLEM = fs.Problem(solve=solve, cost=cost)


def paid(folder, *points, run="a"):
    """What a run found at these points, all rows each."""
    ledger = open_ledger(folder, PROBLEM, Y, identity=run)
    oracle = Oracle(PROBLEM, Y, ledger=ledger, solving=SolveConfig(on_failure="skip"))
    found = [oracle.regret(ROWS, Y + shift, phase="online") for shift in points]
    ledger.close()
    return found


@pytest.fixture
def read():
    files = []

    def opened(folder):
        files.append(open_to_read(folder))
        return files[-1]

    yield opened
    for file in files:
        file.close()


def test_reading_opens_a_folder_or_the_file_itself_and_names_what_is_missing(tmp_path, read):
    paid(tmp_path, 1.0)
    assert read(tmp_path).path == read(tmp_path / LEDGER_FILE).path
    with pytest.raises(LedgerError, match="there is no ledger"):
        open_to_read(tmp_path / "none")


def test_reading_summary_counts_by_run_kind_phase_and_status(tmp_path, read):
    paid(tmp_path, 1.0, 1e7)
    paid(tmp_path, 1.0, run="b")
    facts = summary(read(tmp_path))
    assert facts["counts"][1, "solve", "online", "ok"] == 5
    assert facts["counts"][1, "solve", "labels", "ok"] == 5
    assert facts["counts"][2, "solve", "online", "reused"] == 5
    failed = facts["failures"]
    assert {one["row"] for one in failed} == set(range(5))
    assert {(one["kind"], one["status"]) for one in failed} == {("solve", "error")}
    assert "too much" in failed[0]["message"]
    assert [run[0] for run in facts["runs"]] == [1, 2]
    assert facts["seconds"] >= 0


def test_reading_verify_finds_a_changed_row_and_a_missing_one(tmp_path, read):
    paid(tmp_path, 1.0)
    file = read(tmp_path)
    assert verify(file) == (20, [], None)
    ledger = open_ledger(tmp_path, PROBLEM, Y, identity="a")
    ledger.file.change("UPDATE calls SET value = ? WHERE seq = 8", [(1.0,)])
    ledger.file.change("DELETE FROM calls WHERE seq = ?", [(3,)])
    ledger.close()
    assert verify(file).damaged == [3, 8]


def test_reading_evaluations_have_the_regret_that_the_run_saw(tmp_path, read):
    (regret,) = paid(tmp_path, 1.0)
    found = [one for one in evaluations(read(tmp_path)) if one.phase == "online"]
    assert [one.example for one in found] == ROWS.tolist()
    assert np.allclose([one.regret for one in found], regret)
    assert np.array_equal([one.y_hat for one in found], Y + 1.0)
    assert np.array_equal([one.decision for one in found], Y + 1.0)


def test_reading_evaluations_of_failed_solves_have_neither_decision_nor_cost(tmp_path, read):
    paid(tmp_path, 1e7)
    failed = [one for one in evaluations(read(tmp_path)) if one.status == "error"]
    assert len(failed) == 5
    assert {(one.decision, one.cost, one.regret) for one in failed} == {(None, None, None)}


def test_reading_history_is_imported_once_and_is_what_others_paid(tmp_path):
    history = {"rows": ROWS, "y_hat": Y + 2.0, "decisions": list(Y), "cost": np.arange(5.0)}
    assert import_history(tmp_path, PROBLEM, Y, **history) == 5
    assert import_history(tmp_path, PROBLEM, Y, **history) == 0
    assert import_into(tmp_path, **history) == 0
    assert import_into(tmp_path, **history | {"y_hat": Y + 3.0, "decisions": list(Y + 1)}) == 5
    ledger = open_ledger(tmp_path, PROBLEM, Y, identity="a")
    rows, y_hat, costs = paid_by_others(ledger)
    points, decisions = decisions_of_others(ledger)
    ledger.close()
    assert rows[:5].tolist() == ROWS.tolist()
    assert np.array_equal(y_hat[:5], Y + 2.0)
    assert costs[:5].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert np.array_equal(points, np.concatenate([Y + 2.0, Y + 3.0]))
    assert np.array_equal(decisions[0].value(), Y[0])


def test_reading_a_run_of_ones_own_is_none_of_others(tmp_path):
    paid(tmp_path, 1.0)
    ledger = open_ledger(tmp_path, PROBLEM, Y, identity="a")
    assert len(paid_by_others(ledger)[0]) == len(decisions_of_others(ledger)[1]) == 0
    assert paid_by_others(ledger)[1].shape == (0, 3)
    ledger.close()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": ROWS + 0.5}, "whole numbers"),
        ({"rows": ROWS[:, None]}, "whole numbers"),
        ({"rows": ROWS + 1}, "entry 4 .* row 5; the table has rows 0 to 4"),
        ({"y_hat": Y[:, :2]}, r"y_hat \(N, 3\)"),
        ({"y_hat": Y * np.nan}, "y_hat"),
        ({"cost": np.zeros(4)}, "5 rows, 5 decisions and costs of shape"),
        ({"decisions": list(Y[:4])}, "4 decisions"),
        ({"decisions": [None] * 5}, "entry 0 of the history"),
    ],
)
def test_reading_history_that_makes_no_sense_is_refused_with_its_entry(tmp_path, wrong, message):
    history = {"rows": ROWS, "y_hat": Y, "decisions": list(Y), "cost": np.zeros(5)} | wrong
    with pytest.raises(InputError, match=message):
        import_history(tmp_path, PROBLEM, Y, **history)


def test_reading_history_needs_a_ledger_that_knows_its_problem(tmp_path):
    from fewsolves.ledger.sqlite.file import LedgerFile

    LedgerFile(tmp_path / LEDGER_FILE, write=True).close()
    with pytest.raises(LedgerError, match="start a run with it first"):
        import_into(tmp_path, rows=ROWS, y_hat=Y, decisions=list(Y), cost=np.zeros(5))
