from __future__ import annotations

from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.run import run
from fewsolves_studies.paper.experiment import QUICK_ROWS, Size
from fewsolves_studies.paper.shared_start import SharedStart

SMALL = Size(datasets=1, quick=True)
TIMES = ("seconds", "label", "delay", "limit")


def test_shared_start_changes_nothing_but_the_time():
    trials = [SMALL.trial("kp-values", method, 0) for method in ("pfl", "sfge", "gp-surrogate", "spo+")]
    shared = SharedStart(trials[0].conditions)
    for trial in trials:
        together = shared.result(trial)
        settings = dict(trial.settings)
        alone = run(load("kp-values", 0, n=80), trial.method, settings=settings, fresh_rows=QUICK_ROWS).result
        assert {k: v for k, v in together.items() if k not in TIMES} == {
            k: v for k, v in alone.items() if k != "seconds"
        }


def test_shared_start_requests_of_another_method_are_charged_but_not_solved_again():
    forms = ("lodl-mse", "lodl-quadratic")
    trials = [SMALL.trial("kp-capacity", form, 0, delay=1e-4) for form in forms]
    shared = SharedStart(trials[0].conditions)
    solve_batch, solved = shared.solve.function, []
    shared.solve.function = lambda y_hat: (solved.append(len(y_hat)), solve_batch(y_hat))[1]
    first, _ = shared.result(trials[0]), solved.clear()
    second = shared.result(trials[1])
    assert second["calls"]["solve"]["pre-training"] == first["calls"]["solve"]["pre-training"] == 64 * 20
    assert sum(solved) <= second["calls"]["solve"]["validation"] + second["calls"]["solve"]["test"]
    paid = sum(n for phase, n in second["calls"]["solve"].items() if phase != "test")
    assert second["seconds"]["total"] > second["seconds"]["solver"] >= 1e-4 * paid
    settings = dict(trials[1].settings)
    alone = run(load("kp-capacity", 0, n=80), forms[1], settings=settings, fresh_rows=QUICK_ROWS).result
    assert second["calls"] == alone["calls"]
    assert second["fresh_regret"] == alone["fresh_regret"]


def test_shared_start_what_is_charged_counts_against_a_time_limit():
    unlimited = SMALL.trial("kp-capacity", "sfge", 0, delay=0.01, settings={"max_epochs": 2})
    shared = SharedStart(unlimited.conditions)
    took = shared.result(unlimited)["seconds"]["total"]
    limited = SMALL.trial("kp-capacity", "sfge", 0, delay=0.01, limit=0.6 * took, settings={"max_epochs": 2})
    assert shared.result(limited)["stopped"].startswith("the time limit was reached")


def test_shared_start_a_time_limit_ends_training():
    trial = SMALL.trial("kp-capacity", "sfge", 0, limit=1e-3, settings={"max_epochs": 50})
    assert SharedStart(trial.conditions).result(trial)["stopped"].startswith("the time limit was reached")


def test_shared_start_a_slow_solver_trains_and_the_embedded_one_reports():
    trial = SMALL.trial("kp-capacity", "sfge", 0, delay=0.001)
    result = SharedStart(trial.conditions).result(trial)
    assert result["delay"] == 0.001
    paid = sum(n for phase, n in result["calls"]["solve"].items() if phase != "test")
    assert result["seconds"]["solver"] >= 0.001 * paid
    quick = SMALL.trial("kp-capacity", "sfge", 0)
    quick = SharedStart(quick.conditions).result(quick)
    assert result["fresh_regret"] == quick["fresh_regret"]
