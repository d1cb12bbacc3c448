import dataclasses
import os
import re
import threading
import time
from contextlib import closing

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

import fewsolves as fs
from fewsolves.diagnosis.doctor import diagnose
from fewsolves.diagnosis.trials import Beside, Trials
from fewsolves.oracle import Oracle, SolveConfig
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table, order, shortage_cost

X, Y = demand_table(60, 3)


def problem(**parts):
    return fs.Problem(**{"solve": order, "cost": shortage_cost} | parts)


def finding(question, **parts):
    return fs.doctor(problem(**parts), X, Y)[question]


def diagnosed(problem, X=X, Y=Y, **limits):
    """As by `fs.doctor`, with other limits of the trials."""
    with closing(Oracle(problem, Y, solving=SolveConfig(on_failure="skip"))) as oracle:
        return diagnose(Trials(oracle, X, **limits))


def test_doctor_numbers_are_written_as_people_write_them():
    large = fs.doctor(problem(lower=-1e9, upper=1e9), X, 1e6 * Y)
    assert not re.search(r"\de[+-]\d", str(large)), str(large)
    found = large["what can be gained"].found
    assert re.search(r"Raising every prediction by half its typical error changes the regret from [\d,]+ to", found)
    assert re.search(r"; lowering it, to [\d,]+$", found)


def test_doctor_a_sound_problem_has_nothing_to_mend_and_at_most_fifty_solves_are_paid():
    diagnosis = fs.doctor(NEWSVENDOR, X, Y)
    assert diagnosis.ok
    assert {one.status for one in diagnosis.findings} == {"ok"}
    assert diagnosis.solves == 10 + 3 + 10 + 8 + 2 + 3
    assert str(diagnosis).count("\n") >= len(diagnosis.findings)
    assert "the problem is ready for training" in str(diagnosis)


@pytest.mark.parametrize(("n", "n_y"), [(5, 1), (300, 40), (2500, 2)])
def test_doctor_fifty_solves_are_the_most_whatever_the_size(n, n_y):
    result = diagnosed(NEWSVENDOR, *demand_table(n, n_y), shortest_solve=0.0)  # worker processes are tried, too
    assert result.ok
    assert result.solves <= 50
    assert "two worker processes are" in result["seconds and workers"].found


def test_doctor_rows_in_an_order_that_x_tells_are_to_be_validated_on_at_their_end():
    season = np.column_stack([X, np.linspace(0.0, 1.0, len(X)) + 0.1 * X[:, 0]])
    result = fs.doctor(NEWSVENDOR, season, Y)["order of rows"]
    assert result.status == "note" and "the variance of the row number" in result.found
    assert "validation='last 20 %'" in result.do
    shuffled = np.random.default_rng(0).permutation(len(X))
    for rows in (shuffled, shuffled[:40]):
        questions = [one.question for one in fs.doctor(NEWSVENDOR, season[rows], Y[rows]).findings]
        assert "order of rows" not in questions


def test_doctor_one_parameter_may_be_one_dimensional():
    assert fs.doctor(NEWSVENDOR, X, Y[:, 0]).ok


def test_doctor_noise_is_found_and_named():
    rng = np.random.default_rng(0)

    def noisy_cost(y, z):
        return shortage_cost(y, z) + rng.random()

    def noisy_solve(y_hat):
        return y_hat + rng.random()

    result = finding("repeatable", cost=noisy_cost)
    assert result.status == "mend"
    assert result.found.startswith("`cost` answered differently when called again: at row 59 the cost was")
    assert result.do.endswith("or declare noisy='cost'")
    result = finding("repeatable", solve=noisy_solve)
    assert result.status == "mend"
    assert result.do.endswith("or declare noisy='solve'")
    assert finding("repeatable", solve=noisy_solve, noisy="cost").do.endswith("or declare noisy='solve'")
    assert finding("repeatable", solve=noisy_solve, cost=noisy_cost, noisy="cost").do.endswith(
        "or declare noisy='both'"
    )
    assert finding("repeatable", solve=noisy_solve, noisy="solve").status == "ok"
    result = fs.doctor(problem(cost=noisy_cost, noisy="cost"), X, Y)
    assert result["repeatable"].status == "ok"
    assert result["minimises the cost"].status == "ok", "noise is no better decision"


def test_doctor_ties_are_no_noise():
    counter = iter(range(1000))
    result = finding("repeatable", solve=lambda y_hat: np.append(y_hat, next(counter)),
                   cost=lambda y, z: shortage_cost(y, z[:-1]))  # fmt: skip
    ties = "the decisions differ when called again, at the same cost: they are ties"
    assert (result.status, result.found) == ("ok", ties)


def test_doctor_noise_that_was_said_and_is_not_there_is_noted():
    assert finding("repeatable", noisy="both").status == "note"


def test_doctor_a_profit_given_as_cost_is_found():
    result = finding("minimises the cost", cost=lambda y, z: -shortage_cost(y, z))
    assert result.status == "mend"
    assert "return its negative" in result.do
    assert "below 0" in finding("what can be gained", cost=lambda y, z: -shortage_cost(y, z)).do


def test_doctor_a_solver_that_does_not_know_the_cost_is_noted():
    result = finding("minimises the cost", solve=lambda y_hat: y_hat - 1.0)
    assert result.status == "note"
    assert "regrets may be below 0" in result.do


def test_doctor_a_cost_that_does_not_look_at_the_decision_is_found():
    result = finding("what can be gained", cost=lambda y, z: float(y.sum()))
    assert result.status == "mend"
    assert "right or wrong" in result.found
    Z = X @ np.ones((4, 2))  # which a linear model predicts as it is
    result = fs.doctor(NEWSVENDOR, X, Z + np.arange(2))["what can be gained"]
    assert result.status == "note"


def test_doctor_nothing_to_gain_is_said():
    result = finding("what can be gained", cost=lambda y, z: 1e6 + shortage_cost(y, z))
    assert result.status == "note"
    assert "method='pfl'" in result.do


def test_doctor_best_decisions_that_cost_nothing_are_no_measure_of_the_regret():
    distance = fs.Problem(solve=lambda y_hat: y_hat, cost=lambda y, z: float(np.abs(y - z).sum()))
    found = fs.doctor(distance, X, Y)["what can be gained"].found
    assert "(the best decisions cost about 0)" in found
    assert "e+" not in found


def test_doctor_reports_what_x_explains():
    result = fs.doctor(NEWSVENDOR, np.random.default_rng(1).normal(size=(60, 2)), Y)["what can be gained"]
    assert result.status == "note"
    assert "more context" in result.do
    assert "x explains none of the variance of y." in result.found, "not -3 % of it"


def never_below(low):
    def solve(y_hat):
        if y_hat.min() < low:
            raise fs.Infeasible("too little")
        return y_hat

    return problem(solve=solve)


def test_doctor_a_solver_that_fails_outside_the_table_needs_bounds():
    result = fs.doctor(never_below(Y.min() - 1e-9), X, Y)["bounds of predictions"]
    assert result.status == "note"
    assert "fails below the smallest values of Y" in result.found
    assert "too little" in result.found


def test_doctor_predictions_below_zero_are_reported_where_y_never_is():
    x, rare = np.arange(60.0)[:, None] % 10, np.where(np.arange(60) % 10 == 0, 50.0, 0.0)[:, None]
    result = fs.doctor(NEWSVENDOR, x, rare)["bounds of predictions"]
    assert result.status == "note"
    assert "below 0, where Y never is" in result.found
    result = fs.doctor(never_below(0.0), x, rare)["bounds of predictions"]
    assert result.status == "mend"
    assert "predictions could not be solved; the first: `solve` raised Infeasible" in result.found
    assert "Problem(lower=0)" in result.do
    result = fs.doctor(dataclasses.replace(never_below(0.0), lower=0.0), x, rare)["bounds of predictions"]
    assert (result.status, result.found) == ("ok", "`solve` accepts everything within the bounds of the problem")


def never_above(high, **parts):
    def solve(y_hat):
        if y_hat.max() > high:
            raise fs.Infeasible("too much")
        return y_hat

    return problem(solve=solve, **parts)


def test_doctor_names_the_bound_on_the_side_where_solve_fails():
    high = Y.max() + 1e-9
    found = fs.doctor(never_above(high, lower=0.0), X, Y)["bounds of predictions"]
    assert "fails above the largest values of Y" in found.found
    assert found.do.startswith(f"declare Problem(upper={Y.max():.3g})") and "lower" not in found.do
    below = fs.doctor(never_below(Y.min() - 1e-9), X, Y)["bounds of predictions"]
    assert below.do.startswith("declare Problem(lower=0)") and "upper" not in below.do
    bounded = fs.doctor(never_above(high, lower=0.0, upper=1e6), X, Y)["bounds of predictions"]
    assert bounded.do.startswith("`solve` fails within the bounds of the problem: tighten upper=1000000.0")
    inside = fs.doctor(never_above(float(np.quantile(Y, 0.9)), upper=1e6), X, np.minimum(Y, np.quantile(Y, 0.9)))
    assert "lower=" not in inside["bounds of predictions"].do


def test_doctor_says_which_model_finds_nothing_in_x():
    noise = np.random.default_rng(1).normal(size=X.shape)
    found = fs.doctor(NEWSVENDOR, noise, Y)["what can be gained"]
    assert found.status == "note"
    assert found.do.startswith("a linear model explains almost none of the variance of y") and "predictor=" in found.do


def test_doctor_parameters_that_nothing_depends_on_are_listed():
    result = finding("uses all parameters", solve=lambda y_hat: y_hat[:2], cost=lambda y, z: shortage_cost(y[:2], z))
    assert result.status == "note"
    assert result.found.endswith("neither decision nor cost with these columns of Y: 2")
    result = finding("uses all parameters", solve=lambda y_hat: np.append(y_hat[:2], 0.0))
    assert result.found.endswith("not with these columns of Y: 2")
    result = finding("uses all parameters", solve=lambda y_hat: np.zeros(3))
    assert "check that `solve` reads y_hat" in result.do


def test_doctor_a_parameter_that_is_read_is_not_called_unused_because_one_decision_stays():
    def ten_cheapest(y_hat):
        return (y_hat <= np.sort(y_hat)[9]).astype(float)

    result = fs.doctor(problem(solve=ten_cheapest, cost=lambda y, z: float(y @ z)), *demand_table(60, 40))
    assert result["uses all parameters"].status == "ok"


def test_doctor_a_linear_cost_is_noticed_and_a_false_claim_refuted():
    def cheapest(y_hat):
        return (y_hat == y_hat.min()).astype(float)

    result = fs.doctor(problem(solve=cheapest, cost=lambda y, z: float(y @ z)), X, Y)
    assert "declare linear='min'" in result["linear"].do
    result = fs.doctor(problem(solve=cheapest, cost=lambda y, z: float(y @ z) ** 2, linear="min"), X, Y)
    assert result["linear"].status == "mend"
    assert not result.ok


@pytest.mark.parametrize(("speed_up", "do"), [(1.9, "give workers="), (0.8, "leave workers=1")])
def test_doctor_workers_are_recommended_where_they_help_and_not_where_they_do_not(speed_up, do, monkeypatch):
    monkeypatch.setattr(Trials, "beside", Beside(speed_up, differ=False, refused=None))
    monkeypatch.setattr("os.getloadavg", lambda: (0.1, 0.1, 0.1))
    result = finding("seconds and workers")
    assert result.status == ("ok" if speed_up > 1 else "note")
    assert result.do.startswith(do)


def test_doctor_a_busy_machine_does_not_speak_against_workers(monkeypatch):
    monkeypatch.setattr(Trials, "beside", Beside(0.8, differ=False, refused=None))
    monkeypatch.setattr("os.getloadavg", lambda: (900.0, 900.0, 900.0))
    result = finding("seconds and workers")
    assert result.found.endswith("on a busy machine (load 900)")
    assert result.do == "run the doctor again when it is idle"


@pytest.mark.parametrize("columns", [45, 80, 100, 300])
def test_doctor_fits_the_terminal(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    found = fs.doctor(problem(solve=lambda y_hat: y_hat - 1.0), X, Y)
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= min(columns, 118)
    assert " ".join(" ".join(lines).split()).endswith("the problem is ready for training")
    assert (lines[0].split()[-1] == "ok") == (columns < 80), "in a narrow terminal the text is below the question"


def test_doctor_a_notebook_shows_a_table():
    shown = fs.doctor(problem(solve=lambda y_hat: y_hat - 1.0), X, Y)._repr_html_()
    assert "<td" in shown
    assert "the problem is ready for training" in shown


def test_doctor_other_answers_in_another_process_are_found():
    here = os.getpid()
    result = diagnosed(problem(solve=lambda y_hat: y_hat + (os.getpid() != here)), shortest_solve=0.0)["repeatable"]
    assert result.status == "mend"
    assert "differ in a worker process" in result.found


def test_doctor_short_solves_need_no_workers():
    # on a busy machine a solve of microseconds may take milliseconds
    found = diagnosed(problem(), shortest_solve=60.0)["seconds and workers"].found
    assert "too short for worker processes" in found


def test_doctor_a_problem_that_cannot_travel_is_reported():
    lock = threading.Lock()  # cannot be sent to a process

    def solve(y_hat):
        with lock:
            return y_hat

    result = diagnosed(problem(solve=solve), shortest_solve=0.0)["seconds and workers"]
    assert result.status == "note"
    assert "factory" in result.found


def test_doctor_a_solver_that_always_fails_or_hangs_ends_in_a_finding():
    result = fs.doctor(problem(solve=lambda y_hat: y_hat / "none"), X, Y)
    assert not result.ok
    assert "TypeError" in str(result)
    result = fs.doctor(problem(solve=lambda y_hat: time.sleep(60)), X, Y, time_limit=0.05)
    assert not result.ok
    assert "time limit" in str(result) or "timeout" in str(result)


def test_doctor_rows_without_a_best_decision_are_reported_and_the_rest_is_examined():
    def but_one(y_hat):
        if np.array_equal(y_hat, Y[0]):
            raise fs.Infeasible("not today")
        return y_hat

    result = fs.doctor(problem(solve=but_one), X, Y)
    assert result["solves the truth"].status == "mend"
    assert "1 of 10 rows" in result["solves the truth"].found
    assert result["repeatable"].status == "ok"


def test_doctor_rows_with_known_data_are_examined():
    given = {"solve": lambda y_hat, most: np.minimum(y_hat, most), "cost": lambda y, z, most: shortage_cost(y, z)}
    most = np.full(60, 12.0)
    assert fs.doctor(problem(**given), X, Y, instances=most)["minimises the cost"].status == "ok"
    result = diagnosed(problem(**given, instances=most), max_rows=30, shortest_solve=0.0)
    assert result["minimises the cost"].status == "ok"
    assert "two worker processes" in result["seconds and workers"].found


def test_doctor_decisions_of_any_kind_are_examined():
    result = fs.doctor(
        problem(
            solve=lambda y_hat: {"order": [round(float(y), 3) for y in y_hat], "when": "now"},
            cost=lambda y, z: shortage_cost(y, np.array(z["order"])),
        ), X, Y,
    )  # fmt: skip
    assert {one.status for one in result.findings} == {"ok"}


def test_doctor_what_is_no_problem_is_refused():
    with pytest.raises(fs.InputError, match="must be a Problem"):
        fs.doctor(order, X, Y)


def test_doctor_a_forecaster_gets_x_as_it_is_and_the_problem_is_tried_at_its_forecasts():
    result = np.array([["high" if row[0] > 0 else "low"] for row in X], dtype=object)

    class Words(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.means_ = {
                word: np.mean([row for x, row in zip(X, y, strict=True) if x[0] == word], axis=0)
                for word in ("high", "low")
            }
            return self

        def predict(self, X):
            return np.array([self.means_[x[0]] for x in X])

    with pytest.raises(fs.InputError, match="give predictor= a forecaster of your own"):
        fs.doctor(NEWSVENDOR, result, Y)
    found = fs.doctor(NEWSVENDOR, result, Y, predictor=Words())
    assert found.ok
    assert found.solves <= 50
    assert "the regret of predictions by Words is" in found["what can be gained"].found
    assert found["what can be gained"].found != fs.doctor(NEWSVENDOR, X, Y)["what can be gained"].found


def test_doctor_names_spo_plus_for_a_problem_that_says_that_it_is_linear():
    result = fs.doctor(CHEAPEST, X, np.random.default_rng(0).uniform(1.0, 2.0, size=(60, 3)))["linear"]
    assert (result.status, result.do) == ("ok", "method='spo+' uses this; compare it with the default")
