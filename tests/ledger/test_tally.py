import os

import pytest

from fewsolves.ledger.tally import MAX_RUNS, TALLY, Tally

pytestmark = pytest.mark.portable

BEGUN = {"solve": 12, "cost": 7}


def noted(folder, run=1, identity="a", *, new=False, **facts):
    tally = Tally(folder, run, identity, new=new)
    found = tally.last, dict(tally.begun)
    tally.note(**facts)
    tally.close()
    return found


def test_tally_tells_the_next_start_what_was_noted(tmp_path):
    assert noted(tmp_path, last=5, begun=BEGUN) == (0, {"solve": 0, "cost": 0})
    assert noted(tmp_path) == (5, BEGUN)
    assert noted(tmp_path, last=9) == (5, BEGUN), "a row alone leaves the calls as they were"
    assert noted(tmp_path) == (9, BEGUN)


def test_tally_shares_the_newest_row_between_runs_and_keeps_calls_apart(tmp_path):
    noted(tmp_path, last=5, begun=BEGUN)
    assert noted(tmp_path, run=2, identity="b") == (5, {"solve": 0, "cost": 0})


def test_tally_of_another_run_with_the_same_number_is_not_taken_for_its_own(tmp_path):
    noted(tmp_path, last=5, begun=BEGUN)
    assert noted(tmp_path, identity="another")[1] == {"solve": 0, "cost": 0}


def test_tally_of_a_new_ledger_forgets_what_lies_beside_it(tmp_path):
    noted(tmp_path, last=5, begun=BEGUN)
    assert noted(tmp_path, new=True) == (0, {"solve": 0, "cost": 0})


@pytest.mark.parametrize("at", [0, 8, 20, 39])
def test_tally_does_not_take_a_damaged_slot(tmp_path, at):
    noted(tmp_path, run=0, last=5, begun=BEGUN)
    content = bytearray((tmp_path / TALLY).read_bytes())
    content[at] ^= 1
    (tmp_path / TALLY).write_bytes(content)
    assert noted(tmp_path, run=0) == (0, {"solve": 0, "cost": 0})


def test_tally_of_half_a_slot_says_nothing(tmp_path):
    noted(tmp_path, run=0, last=5, begun=BEGUN)
    content = (tmp_path / TALLY).read_bytes()
    (tmp_path / TALLY).write_bytes(content[:-1])
    assert noted(tmp_path, run=0)[0] == 0


@pytest.mark.parametrize("run", [-1, MAX_RUNS])
def test_tally_has_no_slot_for_runs_beyond_its_end(tmp_path, run):
    noted(tmp_path, run=run, last=5)
    assert not (tmp_path / TALLY).exists()


def test_tally_does_without_where_it_cannot_be_written(tmp_path):
    (tmp_path / TALLY).mkdir()
    assert noted(tmp_path, last=5) == (0, {"solve": 0, "cost": 0})


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="links are followed here")
def test_tally_does_not_follow_a_link(tmp_path):
    (tmp_path / "elsewhere").write_bytes(b"kept")
    (tmp_path / TALLY).symlink_to(tmp_path / "elsewhere")
    noted(tmp_path, last=5)
    assert (tmp_path / "elsewhere").read_bytes() == b"kept"


def test_tally_that_is_closed_takes_a_note_without_a_word(tmp_path):
    tally = Tally(tmp_path, 1, "a", new=True)
    tally.close()
    tally.note(last=3)
    tally.close()
    assert noted(tmp_path)[0] == 0
