"""Answers that fits of any table share: `Problem(remember=)`."""

import dataclasses
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV

import fewsolves as fs
from fewsolves.errors import LedgerError
from fewsolves.ledger.shared import ANSWERS_FILE
from fewsolves.oracle.recheck import CHECKED

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.maximum(10 + X + RNG.gamma(1.0, 2.0, size=(60, 2)), 0.0)


class Shop:
    """Counts what is asked of it."""

    def __init__(self, price=9.0):
        self.price, self.solved, self.costed = price, [], 0

    def solve(self, y_hat):
        self.solved.append(tuple(y_hat))
        return np.ceil(y_hat)

    def cost(self, y, z):
        self.costed += 1
        return float(np.sum(z + self.price * np.maximum(y - z, 0)))

    def problem(self, **options):
        return fs.Problem(solve=self.solve, cost=self.cost, **options)


class Copied(Shop):
    """One object for all copies: scikit-learn's clones count here too."""

    def __deepcopy__(self, memo):
        return self


class Stopping(Copied):
    """Answers so often, and no more."""

    def __init__(self, left):
        super().__init__()
        self.left = left

    def solve(self, y_hat):
        if len(self.solved) >= self.left:
            raise RuntimeError("no licence")
        return super().solve(y_hat)


def regressor(problem, **options):
    settings = {"max_epochs": 2, "start_epochs": 5}
    return fs.DecisionRegressor(problem, method="sfge", predictor="linear", settings=settings, verbose=False, **options)


def oracle(problem, rows=slice(None)):
    return fs.Oracle(problem, Y[rows])


def halving(*given, cv):
    return HalvingGridSearchCV(*given, cv=cv, min_resources=30, factor=2, random_state=0)


def searched(shop, search, **options):
    grid = {"settings__learning_rate": [0.003, 0.03], "method": ["sfge", "memo"]}
    return search(regressor(shop.problem(**options)), grid, cv=2).fit(X, Y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("search", [GridSearchCV, halving])
def test_shared_ledger_a_search_pays_for_no_point_twice_and_finds_the_same(search, tmp_path):
    alone, sharing = Copied(), Copied()
    without, found = searched(alone, search), searched(sharing, search, remember=tmp_path)
    assert np.array_equal(without.cv_results_["mean_test_score"], found.cv_results_["mean_test_score"])
    fits = found.n_splits_ * len(found.cv_results_["params"]) + 1
    again = len(sharing.solved) - len(set(sharing.solved))
    assert again <= fits, "the probe of each fit, and nothing else"
    assert len(alone.solved) - len(set(alone.solved)) > 3 * fits

    once_more = Copied()
    searched(once_more, search, remember=tmp_path)
    assert len(once_more.solved) <= fits
    assert once_more.costed <= 2 * fits


@pytest.mark.filterwarnings("ignore")
def test_shared_ledger_the_default_method_pays_for_no_solve_twice_in_a_search(tmp_path):
    shop = Copied()
    model = fs.DecisionRegressor(shop.problem(remember=tmp_path), predictor="linear", verbose=False)
    found = halving(model, {"settings__solves": [1, 2]}, cv=2).fit(X, Y)
    fits = found.n_splits_ * len(found.cv_results_["params"]) + 1
    assert len(shop.solved) - len(set(shop.solved)) == fits, "the probe of each fit"


def test_shared_ledger_answers_that_others_paid_are_free_and_reported(tmp_path):
    shop = Shop()
    first = regressor(shop.problem(remember=tmp_path)).fit(X, Y)
    assert first.calls_.shared["solve"] == 0
    paid = len(shop.solved)
    second = regressor(Shop().problem(remember=tmp_path), budget=fs.Budget(solves=85)).fit(X, Y)
    assert np.array_equal(first.predict(X), second.predict(X))
    assert second.calls_.total("solve") == paid > 85, "the least that such a run may be given"
    assert second.calls_.shared["solve"] == paid - 1, "all but the probe"


def test_shared_ledger_is_known_across_tables_and_for_score_and_decide(tmp_path):
    problem = Shop().problem(remember=tmp_path)
    one = oracle(problem)
    one.optimum(np.arange(60))
    one.close()
    shop = Shop()
    other = oracle(shop.problem(remember=tmp_path), rows=slice(50, 20, -3))
    other.optimum(np.arange(10))
    other.close()
    assert shop.solved == []
    assert shop.costed == 0
    model = regressor(problem).fit(X, Y)
    before = (model.score(X, Y), model.decide(X))
    shop = Shop()
    model.set_params(problem=shop.problem(remember=tmp_path))
    assert model.score(X, Y) == before[0]
    assert np.array_equal(model.decide(X), before[1])
    assert shop.solved == []


def test_shared_ledger_another_problem_or_other_data_find_nothing(tmp_path):
    one = oracle(Shop().problem(remember=tmp_path))
    one.optimum(np.arange(5))
    one.close()
    for changed in (Shop(price=5.0).problem(), Shop().problem(version="May"), Shop().problem(name="other")):
        made = dataclasses.replace(changed, remember=tmp_path)
        other = oracle(made)
        other.optimum(np.arange(5))
        other.close()
        assert other.calls.shared == {"solve": 0, "cost": 0}
    shop = Shop(price=5.0)
    again = oracle(shop.problem(remember=tmp_path))
    again.optimum(np.arange(5))
    again.close()
    assert shop.solved == [], "and each of them finds its own"


def test_shared_ledger_rows_are_distinguished_by_their_known_data(tmp_path):
    called = []

    def solve(y_hat, limit):
        called.append(limit["most"])
        return np.minimum(y_hat, limit["most"])

    def cost(y, z, limit):
        return float(np.sum(z + 9 * np.maximum(y - z, 0)))

    problem = fs.Problem(solve=solve, cost=cost, remember=tmp_path)
    for limits, paid in (([8.0, 9.0], 2), ([9.0, 8.0], 2), ([8.0, 9.0], 0)):
        called.clear()
        one = fs.Oracle(problem.with_instances([{"most": most} for most in limits]), Y[:2])
        one.optimum(np.arange(2))
        one.close()
        assert len(called) == paid
    strange = fs.Oracle(problem.with_instances([object(), object()]), Y[:2])
    with pytest.raises(fs.InputError, match="knows a row by its known data"):
        strange.optimum(np.arange(2))
    strange.close()


@pytest.mark.parametrize("noisy", ["solve", "cost"])
def test_shared_ledger_noisy_functions_are_called_again(noisy, tmp_path):
    for _ in range(2):
        shop = Shop()
        one = oracle(shop.problem(remember=tmp_path, noisy=noisy))
        one.regret(np.arange(5), Y[:5] + 1.0, phase="online")
        one.close()
    assert (len(shop.solved) > 0) == (noisy == "solve")
    assert (shop.costed > 0) == (noisy == "cost")


def test_shared_ledger_a_failed_solve_is_tried_again(tmp_path):
    broken = fs.Problem(solve=lambda y_hat: 1 / 0, cost=lambda y, z: 0.0, remember=tmp_path)
    for _ in range(2):
        one = fs.Oracle(broken, Y[:1])
        with pytest.raises(fs.SolverError, match="division by zero"):
            one.optimum(np.arange(1))
        one.close()


def test_shared_ledger_a_damaged_answer_is_paid_again(tmp_path):
    one = oracle(Shop().problem(remember=tmp_path))
    right = one.optimum(np.arange(5))
    one.close()
    with sqlite3.connect(tmp_path / ANSWERS_FILE) as file:
        file.execute("UPDATE answers SET value = value + 1 WHERE value IS NOT NULL")
        file.execute("UPDATE answers SET decision = zeroblob(length(decision)) WHERE decision IS NOT NULL")
    file.close()
    shop = Shop()
    other = oracle(shop.problem(remember=tmp_path))
    assert np.array_equal(other.optimum(np.arange(5)), right)
    other.close()
    assert len(shop.solved) == 5
    assert shop.costed == 5


def test_shared_ledger_a_file_that_is_none_is_refused_before_anything_is_paid(tmp_path):
    (tmp_path / ANSWERS_FILE).write_text("a file of mine, longer than a header of SQLite would be " * 10)
    with pytest.raises(LedgerError, match="cannot be used to remember answers"):
        oracle(Shop().problem(remember=tmp_path))
    with pytest.raises(fs.InputError, match="the path of a folder"):
        Shop().problem(remember=3)


def test_shared_ledger_with_a_folder_a_run_that_was_stopped_goes_on_and_ends_the_same(tmp_path):
    whole = regressor(Shop().problem(remember=tmp_path / "a"), folder=tmp_path / "whole").fit(X, Y)
    problem = {"remember": tmp_path / "b", "version": "1"}
    others = oracle(Stopping(10_000).problem(**problem), rows=slice(0, 30))
    others.optimum(np.arange(30))
    others.close()
    shop = Stopping(100)
    model = regressor(shop.problem(**problem), folder=tmp_path / "stopped")
    with pytest.raises(fs.SolverError, match="no licence"):
        model.fit(X, Y)
    shop.left = 10_000
    model.fit(X, Y)
    assert np.array_equal(model.predict(X), whole.predict(X))
    again = len(shop.solved) - len(set(shop.solved))
    assert again <= 1 + CHECKED, "the probe, and the second look at what is on record"


def test_shared_ledger_several_may_write_at_once(tmp_path):
    def pay(seed):
        one = fs.Oracle(Shop().problem(remember=tmp_path), Y)
        for _ in range(10):
            order = np.random.default_rng(seed).permutation(60)
            one.regret(order, Y[order] + seed, phase="online")
        one.close()
        return one.calls.shared["solve"]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(pay, range(8)))
    shop = Shop()
    again = fs.Oracle(shop.problem(remember=tmp_path), Y)
    for seed in range(8):
        again.regret(np.arange(60), Y + seed, phase="online")
    again.close()
    assert shop.solved == []
    assert shop.costed == 0
