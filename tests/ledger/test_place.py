"""A folder that is moved, removed or replaced while a run uses it."""

import shutil

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import LedgerError
from fewsolves.ledger.ledger import open_ledger
from fewsolves.oracle import Oracle
from fewsolves.oracle.recheck import CHECKED
from problems_of_users import QUICK, demand_table

X, Y = demand_table(40, 2)


class Disturbed:
    """A solver in the middle of which something happens to a folder."""

    def __init__(self, happens=None):
        self.solved, self.happens = 0, happens

    def solve(self, y_hat):
        self.solved += 1
        if self.solved == 60 and self.happens is not None:
            self.happens()
        return np.ceil(y_hat)

    def cost(self, y, z):
        return float(np.sum(z + 9 * np.maximum(y - z, 0)))

    def fitted(self, folder):
        problem = fs.Problem(solve=self.solve, cost=self.cost, version="1")
        options = {"method": "sfge", "predictor": "linear", "settings": QUICK, "verbose": False}
        return fs.DecisionRegressor(problem, folder=folder, **options).fit(X, Y)


def replace(folder):
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "ledger.sqlite").write_bytes(b"")


CHANGES = {
    "removed": shutil.rmtree,
    "renamed": lambda folder: folder.rename(folder.with_name("elsewhere")),
    "replaced": replace,
}


@pytest.mark.parametrize("how", CHANGES)
def test_place_a_run_says_that_its_folder_is_gone_and_loses_nothing(how, tmp_path):
    folder, alone = tmp_path / "run", Disturbed()
    expected = alone.fitted(tmp_path / "alone")
    disturbed = Disturbed(lambda: CHANGES[how](folder))
    with pytest.raises(LedgerError, match=r"moved, removed or replaced .* is in .*run-rescued-1"):
        disturbed.fitted(folder)
    again = Disturbed()
    model = again.fitted(tmp_path / "run-rescued-1")
    assert np.array_equal(model.predict(X), expected.predict(X))
    assert disturbed.solved + again.solved <= alone.solved + CHECKED + 1, "what was paid is used"


def test_place_a_second_name_is_taken_where_the_first_is_in_use(tmp_path):
    folder, problem = tmp_path / "run", fs.Problem(solve=np.ceil, cost=Disturbed().cost, version="1")
    (tmp_path / "run-rescued-1").mkdir()
    ledger = open_ledger(folder, problem, Y, identity="a")
    oracle = Oracle(problem, Y, ledger=ledger)
    oracle.optimum(np.arange(5))
    shutil.rmtree(folder)
    with pytest.raises(LedgerError, match="run-rescued-2"):
        oracle.optimum(np.arange(5, 10))
    ledger.close()
