"""Next month's table: more rows, and only they are paid for."""

import copy
import pickle

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.data import Split, extended_split
from fewsolves.errors import InputError, LedgerError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.methods.registry import find_method
from fewsolves.testing.methods import known_settings
from problems_of_users import NEWSVENDOR, QUICK, demand_table

pytestmark = [
    pytest.mark.usefixtures("no_second_look"),
    pytest.mark.filterwarnings("ignore:the surrogate is over-confident"),
    pytest.mark.filterwarnings("ignore:Nothing was gained"),
]
LONGER = QUICK | {"max_epochs": 4, "start_epochs": 20}


class Counted:
    """A problem that counts its solves."""

    def __init__(self, cost=NEWSVENDOR.cost, **more):
        self.solves = 0
        self.problem = fs.Problem(solve=self.solve, cost=cost, **more)

    def solve(self, y_hat, *known):
        self.solves += 1
        return np.round(y_hat)

    def paid(self):
        paid, self.solves = self.solves, 0
        return paid


def regressor(problem, folder=None, method="gp-surrogate", **changes):
    options = {"settings": LONGER, "predictor": "linear", "verbose": False} | changes
    options["settings"] = known_settings(find_method(method), options["settings"])
    return fs.DecisionRegressor(problem, method, folder=folder, **options)


@pytest.mark.parametrize("method", ["gp-surrogate", "sfge", "lodl-mse"])
@pytest.mark.parametrize("with_folder", [False, True])
def test_growth_one_new_row_in_twenty_five_costs_a_tenth_of_a_fresh_run_at_the_most(method, with_folder, tmp_path):
    """As `studies/src/fewsolves_studies/measure/refit.py` shows for 20 of 500."""
    X, Y = demand_table(104)
    settings = {"start_epochs": 5, "max_epochs": 12, **({"samples": 16} if method == "lodl-mse" else {})}
    counted, folder = Counted(), tmp_path if with_folder else None
    regressor(counted.problem, method=method, settings=settings).fit(X, Y)
    fresh = counted.paid()
    model = regressor(counted.problem, folder, method, settings=settings).fit(X[:100], Y[:100])
    first = counted.paid()
    assert model.refit(X, Y) is model
    again = counted.paid()
    assert 4 < again <= 0.1 * fresh, "at least the labels of the new rows"
    assert first > 0.6 * fresh
    assert model.validation_regret_ <= model.start_validation_regret_


def test_growth_a_folder_given_again_with_more_rows_goes_on_and_then_returns_at_once(tmp_path):
    X, Y = demand_table(110)
    counted = Counted()
    regressor(counted.problem, tmp_path).fit(X[:100], Y[:100])
    whole = counted.paid()
    grown = regressor(counted.problem, tmp_path).fit(X, Y)
    assert 0 < counted.paid() < 0.5 * whole
    again = regressor(counted.problem, tmp_path).fit(X, Y)
    assert counted.paid() == 0
    assert np.array_equal(again.predict(X), grown.predict(X))
    assert again.run_.result["new_rows"] == 10


def test_growth_a_refit_that_is_cut_short_goes_on_where_it_stopped(tmp_path):
    class CrashError(BaseException):  # errors of a callback do not end a run
        pass

    def crash(record):
        if record.stage == "train":
            raise CrashError

    X, Y = demand_table(110)
    counted, reference = Counted(), Counted()
    for one, folder in ((counted, tmp_path / "a"), (reference, tmp_path / "b")):
        fit(Plan(one.problem, X[:100], Y[:100], method="sfge", predictor="linear", settings=LONGER, folder=folder))
        one.paid()
    plan = {"method": "sfge", "predictor": "linear", "settings": LONGER}
    with pytest.raises(CrashError):
        fit(Plan(counted.problem, X, Y, folder=tmp_path / "a", **plan), callbacks=[crash])
    resumed = fit(Plan(counted.problem, X, Y, folder=tmp_path / "a", **plan))
    whole = fit(Plan(reference.problem, X, Y, folder=tmp_path / "b", **plan))
    assert counted.paid() == reference.paid()
    assert np.array_equal(resumed.best.values, whole.best.values)


def test_growth_old_rows_keep_their_use_and_month_follows_month(tmp_path):
    X, Y = demand_table(140)
    for folder in (None, tmp_path):
        model = regressor(Counted().problem, folder, method="sfge", validation=0.2).fit(X[:100], Y[:100])
        before = model.split_
        for n in (120, 140):
            model.refit(X[:n], Y[:n])
            for part in ("train", "valid"):
                rows = getattr(model.split_, part)
                assert np.array_equal(rows[rows < 100], getattr(before, part))
            assert len(model.split_.valid) == 0.2 * n
        paid = model.calls_.total() - model.calls_.shared["solve"]
        assert paid > 40, "the allowance of a month is that of the first one, not of the cheap month before"


def test_growth_a_refit_starts_from_the_present_predictor_and_never_hands_back_a_worse_one():
    X, Y = demand_table(110)
    model = regressor(Counted().problem, method="sfge", settings=LONGER | {"learning_rate": 0.5}).fit(X[:100], Y[:100])
    before = model.predict(X)
    model.refit(X, Y)
    assert model.stopped_.endswith("kept the former predictor, which nothing clearly beat on validation")
    assert np.array_equal(model.predict(X), before)
    assert str(model.summary_).startswith("The former predictor is kept: with 10 new rows")
    assert not model.warnings_


def test_growth_prediction_focused_learning_goes_on_too():
    X, Y = demand_table(110)
    model = regressor(Counted().problem, method="pfl").fit(X[:100], Y[:100])
    before = model.predict(X)
    assert not np.array_equal(model.refit(X, Y).predict(X), before)


def test_growth_a_budget_of_the_users_own_holds():
    X, Y = demand_table(130)
    counted = Counted()
    model = regressor(counted.problem, method="sfge").fit(X[:100], Y[:100])
    counted.paid()
    model.budget = fs.Budget(solves=90)
    with pytest.warns(UserWarning, match="the budget has no room for"):
        model.refit(X[:110], Y[:110])
    assert counted.paid() <= 90
    model.budget = fs.Budget(solves=1)
    with pytest.raises(InputError, match="does not cover"):
        model.refit(X, Y)


@pytest.mark.parametrize("with_folder", [False, True])
def test_growth_known_data_grow_with_the_table(with_folder, tmp_path):
    X, Y = demand_table(110)
    price = list(np.linspace(1, 2, 110))
    counted = Counted(cost=lambda y, z, price: price * NEWSVENDOR.cost(y, z))
    model = regressor(counted.problem, tmp_path if with_folder else None, "sfge")
    model.fit(X[:100], Y[:100], instances=price[:100])
    whole = counted.paid()
    model.refit(X, Y, instances=price)
    assert counted.paid() < 0.5 * whole
    if with_folder:
        with pytest.raises(LedgerError, match=r"instances.*New rows .* come after the old ones"):
            model.refit(*demand_table(120), instances=[0.0, *price, *price[:9]])


def test_growth_a_fitted_model_is_refitted_after_a_journey():
    X, Y = demand_table(110)
    model = pickle.loads(pickle.dumps(regressor(NEWSVENDOR, method="sfge").fit(X[:100], Y[:100])))
    paid = model.refit(X, Y).calls_.by_phase("solve")
    assert paid["labels"] == 10


@pytest.mark.parametrize("name", ["X", "Y"])
def test_growth_other_rows_than_before_are_refused(name, tmp_path):
    X, Y = demand_table(60)
    model = regressor(NEWSVENDOR, method="pfl").fit(X[:50], Y[:50])
    changed = {"X": X.copy(), "Y": Y.copy()}
    changed[name][3] += 1.0
    with pytest.raises(InputError, match=f"the first 50 rows of {name} differ"):
        model.refit(changed["X"], changed["Y"])
    with pytest.raises(InputError, match="the first 50 rows of X differ"):
        model.refit(X[:40], Y[:40])
    stored = regressor(NEWSVENDOR, tmp_path, "pfl").fit(X[:50], Y[:50])
    if name == "Y":
        with pytest.raises(LedgerError, match=r"Y.*changed"):
            stored.refit(changed["X"], changed["Y"])


def rng():
    return np.random.default_rng(0)


def test_growth_a_grown_table_is_split_as_before():
    former = Split(np.arange(8), np.arange(8, 10), np.empty(0, dtype=int))
    share = extended_split(former, 10, 20, 0.2, rng=rng())
    assert np.array_equal(share.train[:8], former.train)
    assert np.array_equal(share.valid[:2], former.valid)
    assert (len(share.train), len(share.valid)) == (16, 4)
    last = extended_split(former, 10, 20, "last 20 %", rng=rng())
    assert last.valid.tolist() == [16, 17, 18, 19], "the end of the whole table"
    extended = extended_split(former, 10, 20, [8, 9, 15], rng=rng())
    assert extended.valid.tolist() == [8, 9, 15]
    groups = np.r_[np.repeat([0, 1, 2, 3, 4], 2), [4, 0, 5, 5, 6, 6, 7, 7, 8, 9]]
    grouped = extended_split(former, 10, 20, 0.2, rng=rng(), groups=groups)
    assert {10} <= set(grouped.valid) and 11 in grouped.train, "a new row of an old group goes with it"
    assert not set(groups[grouped.valid]) & set(groups[grouped.train])


@pytest.mark.parametrize("n", [40, 75])
def test_growth_the_default_pays_within_its_documented_limit_however_few_rows_are_new(n):
    X, Y = demand_table(n + 20)
    counted = Counted()
    few = {"solves": 16, "cost_calls": 50}  # those of `cost` are not counted here
    model = regressor(counted.problem, None, "staged", settings=few).fit(X[:n], Y[:n])
    counted.paid()
    for new in (1, 2, 4, 5, 6, 7, 8, 13, 20):
        copy.deepcopy(model).refit(X[: n + new], Y[: n + new])
        assert counted.paid() <= max(3 * new, new + 13), new


@pytest.mark.parametrize("with_folder", [False, True])
def test_growth_the_default_pays_at_most_three_solves_for_each_new_row(with_folder, tmp_path):
    X, Y = demand_table(50)
    counted = Counted()
    model = regressor(counted.problem, tmp_path if with_folder else None, "staged", settings={"solves": 16})
    model.fit(X[:40], Y[:40])
    assert counted.paid() > 3 * 40, "else the rate of the first run holds"
    model.refit(X, Y)
    assert 10 <= counted.paid() <= 3 * 10
