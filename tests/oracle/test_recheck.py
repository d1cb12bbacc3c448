from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import LedgerError
from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.reading import import_history
from fewsolves.oracle import Budget, Oracle
from fewsolves.oracle.recheck import CHECKED, DRAWN, LEAST_CHECKED, SURE, check_paid, smallest_found

Y = np.random.default_rng(0).normal(size=(20, 2))


class Service:
    """What lies behind a function that the fingerprint cannot look into."""

    factor = 1.0
    n_calls = 0


def solve(y_hat):
    Service.n_calls += 1
    return y_hat * Service.factor


def cost(y, z):
    return float(abs(y - z).sum())


@pytest.fixture
def problem():
    Service.factor, Service.n_calls = 1.0, 0
    return fs.Problem(solve=solve, cost=cost, version="1")


def paid(folder, problem, what="regret"):
    ledger = open_ledger(folder, problem, Y, identity="a")
    oracle = Oracle(problem, Y, ledger=ledger)
    if what == "regret":
        oracle.regret(np.arange(20), Y + 0.5, phase="online")
    else:
        oracle.optimum(np.arange(20))
    ledger.close()


def look(folder, problem, budget=None):
    """The calls that a second look makes, and what a budget has of them."""
    ledger, before = open_ledger(folder, problem, Y, identity="a"), Service.n_calls
    try:
        oracle = Oracle(problem, Y, ledger=ledger, budget=budget)
        check_paid(oracle)
        assert oracle.calls.total("solve") == 0, "no count of the run"
        begun = ledger.begun("solve")
    finally:
        ledger.close()
    return Service.n_calls - before, begun


@pytest.mark.parametrize("what", ["regret", "labels"])
def test_recheck_a_few_answers_are_computed_again_and_charged(what, problem, tmp_path):
    paid(tmp_path, problem, what)
    solves, rows = Service.n_calls, len(Y)
    assert rows < CHECKED, "each row once"
    assert look(tmp_path, problem) == (rows, solves + rows)
    assert look(tmp_path, problem) == (rows, solves + 2 * rows)


@pytest.mark.parametrize("what", ["regret", "labels"])
def test_recheck_a_solver_that_has_changed_unseen_is_noticed_before_anything_is_reused(what, problem, tmp_path):
    paid(tmp_path, problem, what)
    Service.factor = 0.5
    with pytest.raises(LedgerError, match=r"the cost at row \d+ was .* and is now .*adopt it"):
        look(tmp_path, problem)


def test_recheck_a_run_looks_twice_where_it_is_started_again(problem, tmp_path):
    X = np.random.default_rng(1).normal(size=(20, 2))
    options = {"method": "pfl", "predictor": "linear", "folder": tmp_path, "verbose": False}
    first = fs.DecisionRegressor(problem, **options).fit(X, Y)
    again = fs.DecisionRegressor(problem, **options).fit(X, Y)
    assert again.calls_.counts == first.calls_.counts
    Service.factor = 0.5
    with pytest.raises(LedgerError, match="no longer gives"):
        fs.DecisionRegressor(problem, **options).fit(X, Y)
    fs.fit(fs.Plan(problem, X, Y, method="pfl", predictor="linear", folder=tmp_path, adopt=True))


def test_recheck_an_empty_ledger_and_history_from_elsewhere_are_not_computed_again(problem, tmp_path):
    assert look(tmp_path, problem) == (0, 0)
    rows = np.arange(20)
    import_history(tmp_path, problem, Y, rows=rows, y_hat=Y, decisions=Y + 1.0, cost=np.ones(20))
    assert look(tmp_path, problem)[0] == 0


def test_recheck_nothing_is_computed_where_the_budget_has_no_room(problem, tmp_path):
    paid(tmp_path, problem)
    assert look(tmp_path, problem, Budget(solves=Service.n_calls + 1))[0] == 1
    assert look(tmp_path, problem, Budget(solves=Service.n_calls))[0] == 0


def test_recheck_answers_that_take_long_are_not_computed_again(problem, tmp_path, monkeypatch):
    monkeypatch.setattr("time.perf_counter", iter(np.arange(0.0, 1e6, 60.0)).__next__)
    paid(tmp_path, problem)
    monkeypatch.undo()
    assert look(tmp_path, problem)[0] == 0


def test_recheck_its_power_is_what_the_page_says():
    assert smallest_found(CHECKED) <= 0.05 < smallest_found(CHECKED - 1)
    assert 1 - 0.95**DRAWN >= SURE > 1 - 0.95 ** (DRAWN - 1)
    assert 0.6 < smallest_found(4) < 0.64, "three at random"
    page = " ".join((Path(__file__).parents[2] / "docs" / "ledger.md").read_text().split())
    shares = [f"{smallest_found(number):.0%}".replace("%", " %") for number in (CHECKED, 10, LEAST_CHECKED)]
    stated = "{} evaluations find a change in {} of the rows, 10 find one in {}, and {} find one in {}."
    assert stated.format(CHECKED, *shares[:2], LEAST_CHECKED, shares[2]) in page


def test_recheck_a_budget_is_left_for_other_things(problem, tmp_path):
    paid(tmp_path, problem)
    assert look(tmp_path, problem, Budget(solves=200))[0] == 3
    assert look(tmp_path, problem, Budget(solves=1000))[0] == 10


def test_recheck_a_finished_run_counts_what_the_look_at_it_costs(problem, tmp_path):
    X = np.random.default_rng(1).normal(size=(20, 2))
    options = {"method": "pfl", "predictor": "linear", "folder": tmp_path, "verbose": False}
    first = fs.DecisionRegressor(problem, **options).fit(X, Y)
    for start in (1, 2):
        before = Service.n_calls
        again = fs.DecisionRegressor(problem, **options).fit(X, Y)
        looked = Service.n_calls - before
        assert 0 < looked <= CHECKED
        assert again.calls_.unanswered["solve"] == start * looked
        assert again.calls_.counts == first.calls_.counts


def test_recheck_a_finished_run_does_not_count_costs_of_known_decisions_as_unanswered(tmp_path):
    rng, calls = np.random.default_rng(1), [0]
    X = rng.normal(size=(60, 2))
    demand = 10 + X + rng.gamma(1.0, 2.0, size=(60, 2))

    def newsvendor(y, z):
        calls[0] += 1
        return float(np.sum(z + 9 * np.maximum(y - z, 0)))

    problem = fs.Problem(solve=np.ceil, cost=newsvendor, version="1")
    options = {"predictor": "linear", "folder": tmp_path, "verbose": False}
    first = fs.DecisionRegressor(problem, **options).fit(X, demand)
    assert first.calls_.total("cost") > 1000, "most of them are of known decisions"
    looked = 0
    for _ in range(2):
        before = calls[0]
        again = fs.DecisionRegressor(problem, **options).fit(X, demand)
        looked += calls[0] - before
        assert again.calls_.unanswered == {"solve": looked, "cost": looked}
        assert again.calls_.counts == first.calls_.counts
    assert f"Beyond these: {looked} solves and {looked} cost calls" in str(again.calls_)


@pytest.mark.parametrize("failing", ["solve", "cost"])
def test_recheck_warns_with_the_number_of_calls_that_fail_now(failing, tmp_path):
    broken = set()

    def limited(name, answer):
        if name in broken:
            raise RuntimeError("licence expired")
        return answer

    problem = fs.Problem(
        solve=lambda y_hat: limited("solve", y_hat), cost=lambda y, z: limited("cost", cost(y, z)), version="1"
    )
    paid(tmp_path, problem)
    broken.add(failing)
    with pytest.warns(fs.FewsolvesWarning, match="20 of 20 recorded answers could not be checked.*licence expired"):
        look(tmp_path, problem)


def test_recheck_covers_rows_and_looks_at_extremes_and_at_the_newest(problem, tmp_path):
    paid(tmp_path, problem)
    ledger = open_ledger(tmp_path, problem, Y, identity="a")
    found = ledger.sample_paid(12, seed=1)
    everything = [call for call in ledger.file.calls() if call.kind == "cost" and call.phase == "online"]
    ledger.close()
    rows, values = [cost.row for cost, _ in found], [cost.value for cost, _ in found]
    assert len(set(rows)) == 12
    assert max(call.value for call in everything) in values
    assert everything[-1].row in rows


def test_recheck_a_change_of_a_twentieth_of_the_rows_is_found_with_the_stated_probability():
    rng, found = np.random.default_rng(0), 0
    for _ in range(2000):
        found += bool((rng.permutation(400)[:DRAWN] < 20).any())
    assert found / 2000 >= SURE
