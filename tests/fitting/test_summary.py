"""What a run says of itself: the gain with its interval, the price, the next step."""

import json
import re
import time

import numpy as np
import pytest
import torch

import fewsolves as fs
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.result import result_of
from fewsolves.fitting.summary import Gain, summarise
from fewsolves.methods.reading import Reading
from fewsolves.methods.registry import METHODS, find_method
from fewsolves.testing.methods import known_settings
from fewsolves.training.interrupt import request_stop
from problems_of_users import CHEAPEST, NEWSVENDOR, QUICK, demand_table

X, Y = demand_table(40)
ROWS = np.random.default_rng(0).normal(size=30)
ROWS -= ROWS.mean()


def fitted(method="sfge", problem=NEWSVENDOR, settings=QUICK, **options):
    settings = known_settings(find_method(method), settings)
    return fit(Plan(problem, X, Y, method=method, predictor="linear", settings=settings, **options))


def summary_of(
    start, best, *, method="sfge", kept_start=False, tried=None, report=None, interrupted=False, budget=None
):
    oracle = fs.Oracle(NEWSVENDOR, Y, budget=budget)
    return summarise(
        start=Reading(np.asarray(start)),
        best=Reading(np.asarray(best)),
        method=find_method(method).with_settings({}),
        oracle=oracle,
        tried=None if tried is None else Reading(np.asarray(tried)),
        kept_start=kept_start,
        n_rows=36,
        seconds=1.0,
        interrupted=interrupted,
        report=report or {},
    )


def test_summary_the_interval_is_that_of_the_differences_row_by_row():
    gain = Gain.of(Reading(10 + ROWS), Reading(8 + ROWS))
    assert (gain.mean, gain.low, gain.high) == pytest.approx((2.0, 2.0, 2.0)), "rows differ, the gain does not"
    apart = Gain.of(Reading(10 + ROWS), Reading(8 - ROWS))
    assert apart.low < apart.mean < apart.high
    assert (apart.high - apart.low) / 2 == pytest.approx(2.045 * 2 * ROWS.std(ddof=1) / np.sqrt(30), rel=1e-3)


def test_summary_rows_that_failed_are_left_out_of_both_and_one_row_has_no_interval():
    gain = Gain.of(Reading(np.array([4.0, np.nan, 6.0])), Reading(np.array([3.0, 1.0, np.nan])))
    assert (gain.rows, gain.low, gain.high) == (1, None, None)
    json.dumps(gain.record(), allow_nan=False)


def test_summary_gain_lies_in_its_interval_where_readings_have_other_rows():
    start, best = 10 + ROWS, 8 + ROWS
    start[:5], best[20:] = np.nan, np.nan
    gain = Gain.of(Reading(start), Reading(best))
    assert gain.rows == 15
    assert gain.low <= gain.mean <= gain.high
    assert gain.start - gain.best == pytest.approx(2.0)


def test_summary_of_stages_that_were_not_taken_says_what_was_tried():
    stages = [
        {"stage": "stage 1: gp", "change": -0.4, "error": 0.5},
        {"stage": "stage 2: gp", "change": 0.3, "error": 0.2},
    ]
    found = summary_of(
        10 + ROWS, 10 + ROWS, method="staged", kept_start=True, tried=10 + ROWS, report={"stages": stages}
    )
    assert "the best candidate changed the regret by -4%" in found.message
    assert "No candidate was better" not in found.next
    assert found.reached == (pytest.approx(10.0), pytest.approx(10.0)), "the start is kept"


def test_summary_of_few_evidence_rows_has_no_interval_and_claims_no_gain():
    evidence = {"start": 10.0, "change": -4.0, "error": 0.1, "rows": 30, "paid_rows": 3}
    found = summary_of(10 + ROWS, 6 + ROWS, method="staged", report={"evidence": evidence})
    assert found.message.startswith(
        "Regret fell by 40% (3 rows are too few for an interval), from 10 to 6 on 3 evidence"
    )
    assert (found.gain.low, found.gain.high, found.gained) == (None, None, False)
    assert found.next.startswith("These rows are too few to show whether anything was gained")
    enough = summary_of(10 + ROWS, 6 + ROWS, method="staged", report={"evidence": evidence | {"paid_rows": 10}})
    assert "(95% interval 38% to 42%)" in enough.message
    assert enough.gained


def test_summary_of_an_estimate_that_rose_gives_the_interval_of_the_change():
    evidence = {"start": 10.0, "change": 0.5, "error": 1.0, "rows": 30, "paid_rows": 20}
    found = summary_of(10 + ROWS, 10.5 + ROWS, method="staged", report={"evidence": evidence})
    assert "the estimated regret rose by 5% (95% interval of the change -20% to +30%)." in found.message
    free = summary_of(0 * ROWS, 1 + ROWS, method="staged", report={"evidence": evidence | {"start": 0.0}})
    assert "rose by 0.5 (95% interval of the change -2 to 3)." in free.message
    few = summary_of(10 + ROWS, 10.5 + ROWS, method="staged", report={"evidence": evidence | {"paid_rows": 1}})
    assert "rose by 5% (1 row is too few for an interval)." in few.message


def test_summary_an_end_of_the_interval_just_below_zero_is_no_minus_zero():
    gain = Gain(start=100.0, best=90.0, low=-0.3, high=20.3, rows=30)
    assert gain.interval() == "95% interval 0% to 20%"
    assert gain.interval_of_change() == "95% interval of the change -20% to +0%"


def test_summary_a_clear_gain_comes_first_with_its_interval_and_its_price():
    found = summary_of(10 + ROWS, 6 + 0.5 * ROWS)
    assert found.message.startswith("Regret fell by 40% (95% interval 38% to 42%), from 10 to 6")
    assert "on 30 validation rows. Paid: 0 solves" in found.message
    assert "score the model on rows that it has not seen" in found.next
    assert str(found) == f"{found.message} {found.next}"


def test_summary_an_interval_with_zero_in_it_is_called_unclear():
    found = summary_of(10 + 5 * ROWS, 9.8 - 5 * ROWS)
    assert found.gain.low < 0 < found.gain.mean
    assert "does not rule out that nothing was gained" in found.next


@pytest.mark.parametrize(
    ("options", "next_step"),
    [
        ({"tried": 9.9 - 5 * ROWS}, r"A gain of up to \d\d% may have gone unseen: more validation rows"),
        ({"tried": 9.9 + 0.99 * ROWS}, "The judged rows show no gain: keep the start"),
        ({"tried": 10.0 + ROWS}, "No candidate was better than the start: train longer, or try another method"),
        ({"interrupted": True}, "with a folder, the same call resumes it"),
    ],
)
def test_summary_a_start_that_was_kept_is_said_to_be_kept_with_what_follows(options, next_step):
    found = summary_of(10 + ROWS, 10 + ROWS, kept_start=True, **options)
    assert found.message.startswith("Nothing was gained: no predictor clearly beat the prediction-focused start on 30")
    assert re.search(next_step, found.next)


def test_summary_a_start_without_regret_has_no_shares():
    found = summary_of(0 * ROWS, -1 + 0 * ROWS)
    assert found.message.startswith("Regret fell by 1 (95% interval 1 to 1), from 0 to -1")
    assert "NaN" not in str(summary_of(0 * ROWS, 0 * ROWS, kept_start=True, tried=0 * ROWS))


def test_summary_prediction_focused_learning_gains_nothing_and_says_what_to_try():
    found = fitted("pfl").summary
    assert found.gain is None
    assert found.message.startswith("pfl has a mean regret of ")
    assert "fs.quote" in found.next


def test_summary_a_spent_budget_is_the_next_thing_to_look_at():
    found = fitted(budget=fs.Budget(solves=90), settings={"start_epochs": 2, "max_epochs": 9}).summary
    assert "budget" in found.next
    assert found.solves <= 90


def test_summary_many_failures_come_before_everything_else():
    def solve(y_hat):
        if abs(y_hat - Y).max(axis=1).min() > 0 and y_hat.sum() * 1e6 % 3 < 1:
            raise RuntimeError("no licence")
        return y_hat

    problem = fs.Problem(solve=solve, cost=NEWSVENDOR.cost)
    found = fitted(problem=problem, solving=fs.SolveConfig(on_failure="skip")).summary
    assert found.failed > 0
    assert f"{found.failed} calls failed" in found.message
    assert found.next.startswith("Fix the failing calls first; the first one, at row ")
    assert "no licence" in found.next


@pytest.mark.parametrize("method", METHODS)
def test_summary_every_method_has_a_summary_and_a_result_in_plain_json(method):
    settings = QUICK | ({"samples": 8} if method.startswith(("lodl", "egl")) else {})
    done = fitted(method, CHEAPEST, settings)
    result = result_of(done)
    assert json.loads(json.dumps(result, allow_nan=False)) == json.loads(json.dumps(result))
    assert "Paid: " in result["told"]
    assert result["next"]
    assert result["kept_start"] == ("kept its start" in done.stopped)


def test_summary_a_finished_run_tells_the_same_again(tmp_path):
    bad = Y[3].sum()

    def solve(y_hat):
        if abs(y_hat.sum() - bad) < 1e-9:
            raise fs.Infeasible("row 3 has no solution")
        return y_hat

    problem = fs.Problem(solve=solve, cost=NEWSVENDOR.cost)
    options = {"problem": problem, "solving": fs.SolveConfig(on_failure="skip"), "folder": tmp_path}
    first, again = (fitted("gp-surrogate", **options) for _ in range(2))
    assert again.loss is None, "it was not trained again"
    assert again.summary == first.summary
    assert first.oracle.failures.failed == again.oracle.failures.failed != []
    assert 3 not in [*again.split.train, *again.split.valid], "the row that was left out is still left out"
    assert again.X_train.tobytes() == first.X_train.tobytes()
    assert result_of(again) == result_of(first) == json.loads((tmp_path / "result.json").read_text())
    y_hat, rows = fs.Oracle(NEWSVENDOR, Y).Y[again.split.train], np.arange(len(again.split.train))
    mean = [one.surrogate.regret(torch.as_tensor(y_hat), rows)[0] for one in (first, again)]
    assert np.array_equal(mean[0].detach(), mean[1].detach())


def test_summary_says_what_auto_chose_and_counts_solves_per_row_of_the_table():
    plan = Plan(NEWSVENDOR, X, Y, method="pfl", predictor="auto", settings={"start_epochs": 2})
    chosen = fit(plan)
    assert f"'auto' chose the {chosen.predictor_name} predictor." in chosen.summary.message
    solves = chosen.summary.solves
    assert f"Paid: {solves} solves ({solves / len(Y):.3g} per row of the table)" in chosen.summary.message
    assert "'auto'" not in fitted("pfl").summary.message


def test_summary_names_the_cost_calls_that_were_paid():
    summary = fitted("staged", settings={"solves": 2}).summary
    assert summary.cost_calls > summary.solves, "known decisions were priced"
    assert f" per row of the table) and {summary.cost_calls:,} cost calls." in summary.message
    assert "cost call" not in summary_of(10 + ROWS, 6 + ROWS).message, "none were paid"


def stopped_at(folder, solves):
    """The newsvendor, with a solver that stops the run in `folder` at this many solves, and then works as it should."""
    left = iter(range(solves))

    def solve(y_hat):
        if next(left, None) == solves - 1:
            request_stop(folder)
        time.sleep(0.02)  # so that answers land while labels are under way
        return y_hat

    return fs.Problem(solve=solve, cost=NEWSVENDOR.cost, name="newsvendor")


def test_summary_of_a_run_stopped_during_labels_says_so_and_has_no_numbers_that_are_none(tmp_path):
    problem = stopped_at(tmp_path, 10)
    stopped = fitted("staged", problem, settings={}, folder=tmp_path)
    assert stopped.interrupted
    assert stopped.summary.message.startswith(
        "The run was stopped before anything was judged: the prediction-focused start"
    )
    assert "the same call resumes it" in stopped.summary.next
    assert "nan" not in str(stopped.summary)
    assert stopped.stopped == "interrupted before anything was judged; kept its start"
    assert stopped.reached == (None, None)
    json.dumps(result_of(stopped), allow_nan=False)
    assert "nan" not in stopped.summary._repr_html_()


def test_summary_of_a_run_with_failed_predictions_only_names_the_failure():
    def solve(y_hat):
        if not (y_hat == Y).all(axis=1).any():
            raise ValueError("no such demand")
        return y_hat

    problem = fs.Problem(solve=solve, cost=NEWSVENDOR.cost)
    found = fitted("staged", problem, {"solves": 1.0}, solving=fs.SolveConfig(on_failure="skip"))
    assert found.summary.message.startswith("Nothing was judged, because every solve at a prediction failed")
    assert found.summary.next.startswith("Fix the failing calls first; the first one, at row")
    assert "nan" not in str(found.summary)
    assert (result_of(found)["gain"], result_of(found)["best_validation_regret"]) == (None, None)


def test_summary_of_a_budget_for_nothing_but_labels_says_that_nothing_was_judged():
    found = summary_of([np.nan], [np.nan], method="staged", kept_start=True, budget=fs.Budget(solves=40))
    assert found.message.startswith("The run ended before anything was judged: the prediction-focused start is kept")
    assert found.next.startswith("The budget left no room for more")
    assert summary_of([np.nan], [np.nan], kept_start=True).next.startswith(
        "The regret was not measured once: let the run continue, or allow more solves."
    )


def test_summary_what_was_tried_and_failed_is_no_gain():
    found = summary_of(10 + ROWS, 10 + ROWS, kept_start=True, tried=np.nan * ROWS)
    assert found.gain.mean == 0
    assert "nan" not in str(found)
