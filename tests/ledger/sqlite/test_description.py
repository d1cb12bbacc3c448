"""What a ledger says of its problem and its runs counts as a whole, or not at all."""

import sqlite3
import warnings

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import LedgerError
from fewsolves.ledger.following import Following
from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.reading import evaluations, import_into, open_to_read
from fewsolves.ledger.sqlite.file import LEDGER_FILE
from fewsolves.oracle import Oracle

Y = np.random.default_rng(0).normal(size=(6, 2))
PROBLEM = fs.Problem(solve=lambda y_hat: y_hat, cost=lambda y, z: float(abs(y - z).sum()))
DAMAGE = {
    "what the problem is": "UPDATE meta SET value = 'x' || value WHERE name = 'deterministic'",
    "a truth": "UPDATE truths SET row = 100 WHERE row = 3",
    "a truth of another row": "UPDATE truths SET key = (SELECT key FROM truths WHERE row = 2) WHERE row = 3",
    "where a run began": "UPDATE runs SET first = first + 7",
    "which run it was": "UPDATE runs SET identity = 'c'",
    "all of it": "DELETE FROM meta",
    "the checksum": "DELETE FROM meta WHERE name = 'checksum'",
}


def regrets_of(folder, **options):
    ledger = open_ledger(folder, PROBLEM, Y, identity="a", **options)
    try:
        return Oracle(PROBLEM, Y, ledger=ledger).regret(np.arange(6), Y + 0.5, phase="online")
    finally:
        ledger.close()


def exported(folder):
    file = open_to_read(folder)
    try:
        return [(one.example, one.cost, one.regret) for one in evaluations(file)]
    finally:
        file.close()


@pytest.mark.parametrize("sql", DAMAGE.values(), ids=DAMAGE)
def test_description_damage_is_reported_and_only_adopt_goes_on(sql, tmp_path):
    expected, evaluated = regrets_of(tmp_path), exported(tmp_path)
    assert all(regret is not None for _, _, regret in evaluated)
    connection = sqlite3.connect(tmp_path / LEDGER_FILE)
    connection.execute(sql)
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match=r"damaged where it says what problem .* adopt it to reuse the intact ones"):
        regrets_of(tmp_path)
    with pytest.raises(LedgerError, match="damaged"):
        import_into(tmp_path, rows=[0], y_hat=Y[:1], decisions=Y[:1], cost=[0.0])
    with pytest.raises(LedgerError, match="damaged"):
        Following(tmp_path).refresh()
    without = [(example, cost, None) for example, cost, _ in evaluated]
    assert set(exported(tmp_path)) <= set(without), "which best decision belongs to which row is lost"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.array_equal(regrets_of(tmp_path, adopt=True), expected)
    assert np.array_equal(regrets_of(tmp_path), expected), "from now on it is whole"


def test_description_a_new_ledger_has_nothing_to_say(tmp_path):
    connection = sqlite3.connect(tmp_path / LEDGER_FILE)
    connection.close()
    assert regrets_of(tmp_path).shape == (6,)
