"""B7, B16, and what whole runs make of solves that fail: no method is thrown off, and nothing is hidden."""

import dataclasses
import json

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.data import Split
from fewsolves.errors import SolverError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.methods.base import GradientTrainer
from fewsolves.methods.registry import METHODS
from fewsolves.oracle import SolveConfig
from fewsolves.reporting import read_runs, write_report
from fewsolves.testing.methods import known_settings
from problems_of_users import QUICK, demand_table, pick, price

X, Y = demand_table(60)
SPLIT = Split(train=np.arange(50), valid=np.arange(50, 60), test=np.arange(0))
TRAINED = QUICK | {"max_epochs": 3, "guard": -1e9}  # the result is what was trained, not the start
FEWER = {"lodl": {"samples": 20}, "egl": {"samples": 8}}
TRUTHS = {y.tobytes() for y in Y}


def fails(y):
    """About every seventh point, always the same ones; not the truth itself."""
    return y.tobytes() not in TRUTHS and int(abs(y[0]) * 1e6) % 7 == 0


def solve(y):
    if fails(y):
        raise fs.Infeasible("no two items are left")
    return pick(y)


class Counting:
    """Counts calls outside of the library."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *given):
        self.calls += 1
        return self.function(*given)


def fitted(method, problem, **solving):
    settings = known_settings(METHODS[method], TRAINED | FEWER.get(method.split("-")[0], {}))
    return fit(
        Plan(problem, X, Y, SPLIT, method=method, predictor="linear", settings=settings, solving=SolveConfig(**solving))
    )


@pytest.mark.parametrize("policy", ["skip", "penalise"])
@pytest.mark.parametrize("method", METHODS)
def test_solver_runs_every_method_trains_on_what_did_not_fail(method, policy):
    found = fitted(method, fs.Problem(solve=solve, cost=price, linear="min"), on_failure=policy)
    assert all(bool(np.isfinite(p).all()) for p in found.predictor.weights())
    assert np.isfinite(found.best.mean)
    assert all(np.isfinite(record.train_loss) for record in found.history)
    failures = found.oracle.failures.failed
    assert {one.status for one in failures} <= {"error"}
    if isinstance(METHODS[method], GradientTrainer):
        assert failures
        assert any("calls failed" in text and "no two items are left" in text for text in found.warnings)


@pytest.mark.parametrize("fallback", ["acquire", "sfge", "multi-sample", "spo+"])
def test_solver_runs_every_fallback_of_the_surrogate_trains_on(fallback):
    problem = fs.Problem(solve=solve, cost=price, linear="min")
    settings = TRAINED | {"fallback": fallback, "beta": 1e-9, "correction": 0.5 if fallback == "acquire" else 0.0}
    options = {"method": "gp-surrogate", "predictor": "linear", "settings": settings}
    found = fit(Plan(problem, X, Y, SPLIT, **options, solving=SolveConfig(on_failure="skip")))
    assert all(bool(np.isfinite(p).all()) for p in found.predictor.weights())
    assert any(one.kind == "solve" for one in found.oracle.failures.failed)
    n_failed = len({(one.row, one.message) for one in found.oracle.failures.failed})
    assert n_failed
    assert np.isfinite(found.loss.surrogate.samples.regret).all()


def test_solver_runs_a_failed_draw_has_no_weight_in_sfge():
    from fewsolves.methods.sfge import _advantage

    regret = np.array([[1.0, 4.0, np.nan, 2.0, 9.0]])
    known = ~np.isnan(regret)
    assert _advantage(regret)[0, 2] == 0.0
    assert np.array_equal(_advantage(regret)[known], _advantage(regret[known][None])[0])
    several = np.array([[1.0, 4.0, np.nan], [3.0, np.nan, np.nan], [5.0, 6.0, 1.0]])
    advantage = _advantage(several)
    assert advantage[1, 1] == 0.0
    assert (advantage[:, 2] == 0.0).all()  # one draw has nothing to be compared with
    assert np.allclose(advantage[:, 0].sum(), 0.0)
    assert np.allclose(advantage[0, 1], -advantage[2, 1])
    assert (_advantage(np.full((1, 3), np.nan)) == 0.0).all()


def failing_labels(*rows):
    bad = {Y[row].tobytes() for row in rows}

    def solve_all_but(y):
        if y.tobytes() in bad:
            raise fs.Infeasible("this day cannot be planned")
        return pick(y)

    return fs.Problem(solve=solve_all_but, cost=price, linear="min")


@pytest.mark.parametrize("method", ["pfl", "sfge", "gp-surrogate", "spo+"])
@pytest.mark.parametrize("policy", ["skip", "penalise"])
def test_solver_runs_b7_an_example_without_a_label_is_left_out_and_listed(method, policy):
    rows = (3, 55) if method != "pfl" else (55,)  # the first is trained on, the second validated
    found = fitted(method, failing_labels(*rows), on_failure=policy)
    assert set(found.split.train) | set(found.split.valid) == set(range(60)) - set(rows)
    (warning,) = [text for text in found.warnings if "left out" in text]
    assert f"{len(rows)} of 60 rows ({', '.join(map(str, rows))})" in warning
    assert "this day cannot be planned" in warning
    assert np.isfinite(found.best.mean)


@pytest.mark.parametrize("method", ["pfl", "sfge", "spo+"])
@pytest.mark.parametrize("row", [0, 49])
def test_solver_runs_b7_the_first_and_the_last_row_are_no_exception(method, row):
    assert np.isfinite(fitted(method, failing_labels(row), on_failure="skip").best.mean)


def test_solver_runs_a_solve_that_fails_only_when_it_is_repeated_does_not_end_the_run():
    seen = []

    def once(y):
        seen.append(y.tobytes())
        if seen.count(y.tobytes()) > 1:
            raise RuntimeError("busy")
        return pick(y)

    found = fitted("pfl", fs.Problem(solve=once, cost=price), on_failure="skip")
    assert [one.message for one in found.oracle.failures.failed] == ["`solve` raised RuntimeError at row 0: busy"]


def test_solver_runs_b7_too_many_of_them_end_the_run():
    with pytest.raises(SolverError, match=r"4 of 60 rows \(3, 4, 5, 55\).*a run stops where 5%") as caught:
        fitted("sfge", failing_labels(3, 4, 5, 55), on_failure="skip")
    assert caught.value.row in (3, 4, 5, 55)


def test_solver_runs_b7_by_default_the_first_failure_is_raised():
    with pytest.raises(SolverError, match="Infeasible at row 3: this day cannot be planned"):
        fitted("sfge", failing_labels(3))


@pytest.mark.parametrize("policy", ["raise", "skip", "penalise"])
def test_solver_runs_b16_a_solver_that_always_fails_costs_at_most_ten_calls(policy):
    def broken(y):
        raise RuntimeError("no licence")

    counted = Counting(broken)
    with pytest.raises(SolverError, match="no licence"):
        fitted("gp-surrogate", fs.Problem(solve=counted, cost=price), on_failure=policy)
    assert counted.calls <= 10


def test_solver_runs_b16_a_solver_that_fails_later_on_ends_the_run_with_a_report():
    def broken_away_from_the_truth(y):
        if y.tobytes() not in TRUTHS:
            raise RuntimeError("numerical trouble")
        return pick(y)

    with pytest.raises(SolverError) as caught:
        fitted("sfge", fs.Problem(solve=broken_away_from_the_truth, cost=price), on_failure="skip")
    assert "calls failed" in str(caught.value) or "all solves of a validation reading failed" in str(caught.value)
    assert "numerical trouble" in str(caught.value)


def test_solver_runs_failures_are_in_the_result_and_in_the_report(tmp_path):
    from fewsolves_studies.benchmarks.catalogue import load
    from fewsolves_studies.benchmarks.run import run

    benchmark = load("kp-capacity", 0, n=60)
    inner = benchmark.problem
    truths = {y.tobytes() for y in benchmark.Y}

    def sometimes(y, *known):
        if y.tobytes() not in truths and int(y[0] * 1e6) % 3 == 0:
            raise RuntimeError("<b>gap not closed</b>")
        return inner.solve_batch(y[None], *([one] for one in known))[0]

    problem = dataclasses.replace(inner, solve=sometimes, solve_batch=None)
    done = run(
        dataclasses.replace(benchmark, problem=problem),
        "sfge",
        settings={"max_epochs": 2, "start_epochs": 2},
        solving=SolveConfig(on_failure="skip"),
    )
    done.write(tmp_path)
    failures = json.loads((tmp_path / "result.json").read_text())["failures"]
    assert failures["number"] > 20
    assert failures["by_status"] == {"error": failures["number"]}
    assert len(failures["first"]) == 20
    assert {"row", "kind", "status", "message", "attempts", "call", "y_hat"} == set(failures["first"][0])
    html = write_report(read_runs(tmp_path), tmp_path / "report.html", title="failures").read_text()
    assert "calls failed" in html
    assert "&lt;b&gt;gap not closed" in html
    assert "<b>gap" not in html
