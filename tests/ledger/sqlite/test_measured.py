import pytest

from fewsolves.ledger.sqlite.file import LEDGER_FILE, LedgerFile
from fewsolves.ledger.sqlite.measured import Measured

pytestmark = pytest.mark.portable


@pytest.fixture
def file(tmp_path):
    file = LedgerFile(tmp_path / LEDGER_FILE, write=True)
    yield file
    file.close()


def never():
    raise AssertionError("it is on record")


def test_measured_values_are_measured_once_and_come_back_to_the_last_bit(file):
    assert Measured(file, 1).get("seconds", lambda: 0.1 + 0.2) == 0.1 + 0.2
    again = Measured(file, 1)
    assert again.get("seconds", never) == 0.1 + 0.2
    assert again.get("other", lambda: 1) == 1.0


def test_measured_values_are_those_of_one_run(file):
    Measured(file, 1).get("seconds", lambda: 1.0)
    assert Measured(file, 2).get("seconds", lambda: 2.0) == 2.0
    assert Measured(file, 1).get("seconds", never) == 1.0


@pytest.mark.parametrize("change", ["value = 7.0", "checksum = x'00'", "value = 9e999"])
def test_measured_values_that_are_damaged_are_said_and_measured_again(file, change):
    Measured(file, 1).get("seconds", lambda: 1.0)
    file.connection.execute(f"UPDATE measured SET {change}")
    with pytest.warns(UserWarning, match="run 1 measured are damaged"):
        again = Measured(file, 1)
    assert again.get("seconds", lambda: 3.0) == 3.0
    assert Measured(file, 1).get("seconds", never) == 3.0


def test_measured_what_fails_is_not_on_record(file):
    measured = Measured(file, 1)
    with pytest.raises(AssertionError):
        measured.get("seconds", never)
    assert measured.get("seconds", lambda: 1.0) == 1.0
