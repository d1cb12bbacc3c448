import pytest

from fewsolves.ledger.sqlite.charges import MAX_CHARGED_AHEAD, Charges
from fewsolves.ledger.sqlite.file import LEDGER_FILE, LedgerFile

pytestmark = pytest.mark.portable

NONE = {"solve": 0, "cost": 0}


@pytest.fixture
def file(tmp_path):
    file = LedgerFile(tmp_path / LEDGER_FILE, write=True)
    yield file
    file.close()


def on_file(file, kind="solve"):
    return file.query("SELECT number FROM charges WHERE kind = ?", kind)[0][0]


def test_charges_are_on_file_before_calls_begin_and_what_did_not_begin_is_given_back(file):
    charges = Charges(file, 1, NONE)
    for k in range(1, 200):
        charges.begin("solve", 1)
        assert on_file(file) >= k == charges.begun("solve")
    assert on_file(file) - 199 <= MAX_CHARGED_AHEAD
    charges.close()
    assert on_file(file) == 199
    assert file.query("SELECT * FROM charges WHERE kind = 'cost'") == []


def test_charges_that_follow_each_other_slowly_are_not_made_ahead(file):
    charges = Charges(file, 1, NONE, quick=0.0)
    for k in range(1, 5):
        charges.begin("solve", 3)
        assert on_file(file) == 3 * k


def test_charges_without_an_answer_are_missing_at_the_next_start(file):
    Charges(file, 1, NONE, quick=0.0).begin("solve", 5)  # and then it is killed
    assert Charges(file, 1, {"solve": 3, "cost": 0}).missing() == {"solve": 2}
    assert Charges(file, 2, NONE).missing() == {}, "of another run"
    assert Charges(file, 1, {"solve": 9, "cost": 4}).missing() == {}, "more on record than charged is nothing missing"


def test_charges_that_are_given_up_count_as_begun_and_are_missing_no_more(file):
    Charges(file, 1, NONE, quick=0.0).begin("solve", 5)
    second = Charges(file, 1, {"solve": 3, "cost": 0})
    second.give_up(4, "solve", 2, begun=False)
    assert second.begun("solve") == 5
    third = Charges(file, 1, {"solve": 3, "cost": 0})
    assert third.missing() == {}
    assert third.unanswered == [(4, "solve", 2)]
    assert third.begun("solve") == 5


def test_charges_given_up_in_the_start_that_made_them_are_not_counted_twice(file):
    charges = Charges(file, 1, NONE)
    charges.begin("cost", 4)
    charges.give_up(1, "cost", 4, begun=True)
    assert charges.begun("cost") == 4


@pytest.mark.parametrize("change", ["number = number + 1", "kind = 'price'", "number = -1", "checksum = x'00'"])
@pytest.mark.parametrize("table", ["charges", "unanswered"])
def test_charges_that_are_damaged_are_not_counted(file, table, change):
    charges = Charges(file, 1, NONE, quick=0.0)
    charges.begin("solve", 5)
    charges.give_up(1, "solve", 5, begun=True)
    file.connection.execute(f"UPDATE {table} SET {change}")
    again = Charges(file, 1, NONE)
    assert again.unanswered == ([] if table == "unanswered" else [(1, "solve", 5)])
    assert again.missing() == ({"solve": 5} if table == "unanswered" else {})


def test_charges_that_were_answered_without_a_record_are_settled_once(file):
    charges = Charges(file, 1, NONE)
    charges.give_up(1, "cost", 100, begun=False)
    charges.give_up(2, "solve", 3, begun=False)
    charges.give_up(3, "cost", 7, begun=False)
    for _ in range(2):
        charges.settle("cost", 104)
        assert charges.unanswered == [(1, "cost", 0), (2, "solve", 3), (3, "cost", 3)]
    assert charges.begun("cost") == 107, "they stay spent"
