import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import LedgerError
from fewsolves.ledger import opening
from fewsolves.ledger.identity.fingerprint import fingerprint
from fewsolves.ledger.keys import solve_keys
from fewsolves.ledger.opening import (
    FORMER_HELD,
    HELD,
    ProblemReading,
    ReadingOf,
    check_belongs,
    enter,
    keep_items,
    make_usable,
    note_end,
    note_start,
    recorded_items,
)
from fewsolves.ledger.sqlite.description import read_description, write_description
from fewsolves.ledger.sqlite.file import LEDGER_FILE, LedgerFile
from fewsolves.ledger.sqlite.migrate import KEEP
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table

pytestmark = pytest.mark.portable

_, Y = demand_table(6)


@pytest.fixture
def file(tmp_path):
    file = LedgerFile(tmp_path / LEDGER_FILE, write=True)
    yield file
    file.close()


def belongs(file, problem=NEWSVENDOR, table=Y, *, adopt=False):
    truths = solve_keys(np.arange(len(table)), table, own=problem.instances is not None)
    reading = ReadingOf(problem, table)
    check_belongs(file, fingerprint(problem, table), truths, table.shape[1], adopt=adopt, reading=reading)


def test_opening_writes_the_fingerprint_of_a_new_ledger_and_accepts_it_again(file):
    belongs(file)
    meta, truths = read_description(file)
    assert (meta["n_y"], meta["rows"], len(truths)) == ("3", "6", 6)
    belongs(file)
    assert read_description(file) == (meta, truths)


def test_opening_refuses_another_problem_with_what_changed_and_adopts_it_on_demand(file):
    belongs(file)
    with pytest.raises(LedgerError, match=r"another problem: .*solve.* changed.*adopt=True"):
        belongs(file, CHEAPEST)
    belongs(file, CHEAPEST, adopt=True)
    belongs(file, CHEAPEST)


def test_opening_takes_rows_that_come_after_the_old_ones_and_no_others(file):
    belongs(file, table=Y[:4])
    belongs(file)
    assert read_description(file).meta["rows"] == "6"
    with pytest.raises(LedgerError, match="rows"):
        belongs(file, table=Y[:4])
    with pytest.raises(LedgerError, match=r"New rows .* come after the old ones"):
        belongs(file, table=np.concatenate([Y[::-1] + 0.5, Y + 1.5]))


def test_opening_refuses_the_same_rows_in_another_order_also_where_it_may_adopt(file):
    belongs(file)
    new = Y[:2] - 1.5
    for table in (Y[::-1], np.roll(Y, 1, axis=0), np.concatenate([new, Y]), np.concatenate([Y[2:], new])):
        for adopt in (False, True):
            with pytest.raises(LedgerError, match=r"in another order: its row \d is row \d of Y.*new ones at the end"):
                belongs(file, table=table, adopt=adopt)
    belongs(file)


def test_opening_refuses_another_order_of_rows_with_known_data_also_where_it_may_adopt(file):
    known = fs.Problem(solve=lambda y, k: y, cost=lambda y, z, k: 0.0, instances=list(range(6)))
    belongs(file, known)
    with pytest.raises(LedgerError, match=r"another order: its row 0 is row 5 of Y"):
        belongs(file, known.with_instances(range(6)[::-1]), Y[::-1], adopt=True)


def test_opening_compares_known_data_with_dates_over_the_rows_that_were_there(file):
    def known(limit, n):
        days = [{"day": date(2026, 1, 1 + k), "limit": limit} for k in range(n)]
        return fs.Problem(solve=lambda y, one: y, cost=lambda y, z, one: 0.0, instances=days)

    belongs(file, known(5, 4), Y[:4])
    belongs(file, known(5, 6), Y)
    with pytest.raises(LedgerError, match=r"instances\['limit'\] changed"):
        belongs(file, known(6, 6), Y)


def test_opening_lists_known_data_that_an_older_version_did_not_compare(file):
    days = [{"day": date(2026, 1, 1 + k)} for k in range(6)]
    problem = fs.Problem(solve=lambda y, one: y, cost=lambda y, z, one: 0.0, instances=days)
    belongs(file, problem, Y)
    (items,) = file.query("SELECT value FROM meta WHERE name = ?", HELD)
    write_description(
        file, ("DELETE FROM meta WHERE name = ?", [(HELD,)]), (KEEP, [(FORMER_HELD[-1], json.dumps({"solve: a": "b"}))])
    )
    file.last = lambda: 1  # there are answers
    with pytest.warns(fs.FewsolvesWarning, match=r"instances\['day'\].*an older version has recorded no digests"):
        belongs(file, problem, Y)
    assert file.query("SELECT value FROM meta WHERE name LIKE 'held data%'") == [items]


def test_opening_never_adopts_a_table_with_other_columns_or_fewer_rows(file):
    belongs(file)
    for table in (Y[:, :2], Y[:3]):
        with pytest.raises(LedgerError, match="another folder") as refused:
            belongs(file, table=table, adopt=True)
        assert "adopt=True" not in str(refused.value), "what would not help is not offered"


def test_opening_reading_of_no_problem_tells_nothing():
    reading = ProblemReading()
    assert reading.former_digests() == reading.held() == reading.first_rows(3) == {}


def test_opening_reading_of_first_rows_is_that_of_the_shorter_table():
    known = fs.Problem(solve=lambda y, k: y, cost=lambda y, z, k: 0.0, instances=list(range(6)))
    short = fs.Problem(solve=known.solve, cost=known.cost, instances=list(range(4)))
    expected = fingerprint(short, Y[:4])
    assert ReadingOf(known, Y).first_rows(4) == {name: expected[name] for name in ("Y", "instances")}


@pytest.mark.parametrize("text", [None, "", "{", "[1]", '{"a": 1}', 7, "[" * 100_000])
def test_opening_damaged_items_of_held_data_are_none(text):
    assert recorded_items(text) == {}


def test_opening_items_of_held_data_come_back(file):
    belongs(file)
    keep_items(file, {"a": "1"})
    assert recorded_items(read_description(file).meta[HELD]) == {"a": "1"}


def test_opening_a_run_has_the_same_number_each_time_and_others_have_others(file):
    assert enter(file, "a", {"method": "sfge"}) == (1, 1)
    assert enter(file, "b", {"odd": Path("x")}) == (2, 1)
    assert enter(file, "a", {}) == (1, 1)
    ((about,),) = file.query("SELECT about FROM runs WHERE identity = 'a'")
    assert json.loads(about) == {"method": "sfge"}


def test_opening_starts_are_numbered_over_all_runs_and_keep_how_they_ended(file):
    assert [note_start(file, run, {"budget": None}) for run in (1, 2, 1)] == [1, 2, 3]
    note_end(file, 2, "stopped")
    rows = file.query("SELECT number, run, ended IS NULL, told FROM starts ORDER BY number")
    assert rows == [(1, 1, 1, None), (2, 2, 0, "stopped"), (3, 1, 1, None)]


def test_opening_makes_a_private_folder_and_refuses_what_cannot_be_one(tmp_path, monkeypatch):
    make_usable(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="cannot be used as a folder"):
        make_usable(tmp_path / "file")
    monkeypatch.setattr(opening, "network_file_system", lambda _: "nfs4")
    with pytest.raises(LedgerError, match=r"network file system \(nfs4\).* local disk"):
        make_usable(tmp_path)
