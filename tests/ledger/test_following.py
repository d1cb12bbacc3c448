"""A run as its ledger tells it, while it goes on and afterwards."""

import sqlite3
from contextlib import closing

import pytest

import fewsolves as fs
from fewsolves.errors import LedgerError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.ledger.following import FailureGroup, Following
from problems_of_users import NEWSVENDOR, QUICK, demand_table

X, Y = demand_table(40)
TRAINED = QUICK | {"max_epochs": 4, "guard": -1e9}  # the result is what was trained, not the start


def trained(folder, method="sfge", callbacks=(), problem=NEWSVENDOR, **options):
    options = {"predictor": "linear", "settings": TRAINED} | options
    return fit(Plan(problem, X, Y, method=method, folder=folder, **options), callbacks=callbacks)


@pytest.mark.parametrize("method", ["sfge", "gp-surrogate"])
def test_following_counts_are_those_of_the_run(tmp_path, method):
    done = trained(tmp_path, method, budget=fs.Budget(solves=5000))
    following = Following(tmp_path)
    start = following.refresh()
    progress = following.followed
    assert start.message == str(done.summary)
    assert start.began < start.ended
    assert start.terms == {
        "method": method,
        "rows": {"train": 32, "valid": 8, "test": 0},
        "budget": {"solves": 5000, "cost_calls": None, "seconds": None},
    }
    assert following.meta["problem"] == "newsvendor"
    for kind in ("solve", "cost"):
        paid = {phase: number for phase, number in done.oracle.calls.by_phase(kind).items() if number}
        assert dict(progress.counts[kind]) == paid
    assert progress.seconds == pytest.approx(done.oracle.calls.seconds)
    assert len(progress.solved_at) == done.oracle.calls.total()
    assert progress.solved_at == sorted(progress.solved_at)
    following.close()


def test_following_a_run_under_way_is_followed_from_where_it_was_read_last(tmp_path):
    seen, opened = [], []

    def look(record):
        if not opened:
            opened.append(Following(tmp_path))
        start, progress = opened[0].refresh(), opened[0].followed
        seen.append((progress.paid("solve"), start.ended))

    done = trained(tmp_path, callbacks=[look])
    assert [paid for paid, _ in seen] == sorted(paid for paid, _ in seen)
    assert seen[-1][0] == done.oracle.calls.total()
    assert {ended for _, ended in seen} == {None}
    assert opened[0].refresh().ended is not None
    opened[0].close()


def test_following_failures_that_are_alike_are_grouped(tmp_path):
    def solve(y_hat):
        if y_hat.sum() * 1e6 % 10 < 2 and abs(y_hat - Y).max(axis=1).min() > 0:
            raise RuntimeError("no licence")
        return y_hat

    problem = fs.Problem(solve=solve, cost=NEWSVENDOR.cost)
    done = trained(tmp_path, problem=problem, solving=fs.SolveConfig(on_failure="skip"))
    following = Following(tmp_path)
    following.refresh()
    assert following.followed.failed == len(done.oracle.failures.failed) > 0
    [((kind, status, message), group)] = following.followed.failures.items()
    assert (kind, status, message) == ("solve", "error", "`solve` raised RuntimeError: no licence")
    assert group.number == following.followed.failed
    assert group.rows[0] == done.oracle.failures.failed[0].row
    assert str(FailureGroup(19, [3, 17], more=True)) == "rows 3, 17, ..."
    again = FailureGroup()
    for _ in range(5):
        again.take(3)
    assert (again.number, str(again)) == (5, "row 3"), "one row that failed five times is one row"
    following.close()


def test_following_an_error_that_ended_a_run_is_reported_and_the_next_start_is_followed(tmp_path):
    def broken(record):
        raise SystemExit("by hand")

    with pytest.raises(SystemExit):
        trained(tmp_path, callbacks=[broken])
    following = Following(tmp_path)
    assert following.refresh().message == "It was ended by SystemExit: by hand"
    other = trained(tmp_path, seed=1)
    assert following.refresh().message == str(other.summary)
    assert following.followed.paid("solve") == other.oracle.calls.total()
    assert following.followed.shared == other.oracle.calls.shared["solve"] > 0, "labels that the first run paid for"
    following.close()


@pytest.mark.parametrize("run", [None, "1", b"x"])
def test_following_a_start_that_names_no_run_is_reported_as_damage(tmp_path, run):
    trained(tmp_path)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as file, file:
        file.execute("PRAGMA writable_schema = ON")  # as flipped bits would have it
        file.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'starts'")
        file.execute("UPDATE sqlite_master SET sql = replace(sql, 'run INTEGER', 'run') WHERE name = 'starts'")
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as file, file:
        file.execute("UPDATE starts SET run = ?", (run,))
    with closing(Following(tmp_path)) as following, pytest.raises(LedgerError, match="names no run"):
        following.refresh()


def test_following_what_is_no_ledger_is_said_to_be_none(tmp_path):
    with pytest.raises(LedgerError, match="there is no ledger"):
        Following(tmp_path)
