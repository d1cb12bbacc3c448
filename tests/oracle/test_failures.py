import json

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import InputError, SolverError
from fewsolves.execution.base import Answers, Failure
from fewsolves.oracle import Budget, Oracle, SolveConfig
from fewsolves.oracle.failures import Failed, Failures, _alike

Y = np.arange(1.0, 31.0)[:, None]
ALL = np.arange(30)


class Scripted:
    """An execution that fails as given: status by row and attempt."""

    def __init__(self, **script):
        self.script = {int(name[1:]): list(statuses) for name, statuses in script.items()}
        self.requests = []

    def solve(self, rows, y_hat):
        self.requests.append(rows.tolist())
        for k in reversed(range(len(rows))):  # answers land in any order
            row = int(rows[k])
            left = self.script.get(row)
            value = Failure(left.pop(0), f"failed at row {row}") if left else y_hat[k]
            yield Answers(np.array([k]), [value], [0.25])

    def cost(self, rows, y, z):
        yield Answers(np.arange(len(rows)), [float(v.sum()) for v in z], [0.0] * len(rows))

    def close(self):
        pass


def oracle(execution, budget=None, **config):
    made = Oracle(fs.Problem(solve=lambda y: y, cost=lambda y, z: 0.0), Y, solving=SolveConfig(**config), budget=budget)
    made.account.execution = execution
    return made


@pytest.mark.parametrize(
    ("status", "attempts"),
    [("lost", 3), ("crash", 2), ("timeout", 2), ("out-of-memory", 2), ("error", 1), ("bad-return", 1)],
)
def test_failures_the_cause_decides_how_often_it_is_tried(status, attempts):
    run = oracle(Scripted(r3=[status] * 9), on_failure="skip")
    decisions = run.solve(ALL, Y, phase="online")
    assert isinstance(decisions[3], Failure)
    assert [3] * (attempts - 1) == [row for later in run.account.execution.requests[1:] for row in later]
    assert run.calls.counts["solve"]["online"] == 30 + attempts - 1
    assert run.calls.seconds == 0.25 * (30 + attempts - 1)
    (failed,) = run.failures.failed
    assert (failed.row, failed.kind, failed.status, failed.attempts) == (3, "solve", status, attempts)


def test_failures_a_second_attempt_may_succeed():
    run = oracle(Scripted(r3=["crash"], r7=["lost", "lost"], r9=["timeout"]))
    assert np.array_equal(np.stack(run.solve(ALL, Y, phase="online")), Y)
    assert run.account.execution.requests[1:] == [[3, 7, 9], [7]]
    assert run.calls.counts["solve"]["online"] == 34
    assert run.failures.failed == []


def test_failures_all_rows_may_fail_once_in_any_order():
    run = oracle(Scripted(r0=["lost"], r1=["lost"], r2=["lost"], r3=["lost"]))
    assert np.array_equal(np.stack(run.solve(ALL[:4], Y[:4], phase="online")), Y[:4])


def test_failures_a_retry_that_the_budget_does_not_cover_is_not_made():
    run = oracle(Scripted(r3=["crash"], r4=["crash"]), budget=Budget(solves=31), on_failure="skip")
    decisions = run.solve(ALL, Y, phase="online")
    assert [k for k, z in enumerate(decisions) if isinstance(z, Failure)] == [4]
    assert run.calls.total("solve") == 31


def test_failures_raise_is_the_default_and_names_the_row():
    with pytest.raises(SolverError, match="failed at row 3") as caught:
        oracle(Scripted(r3=["error"])).solve(ALL, Y, phase="online")
    assert caught.value.row == 3


def test_failures_a_failure_that_is_remembered_is_not_paid_again():
    run = oracle(Scripted(r3=["error"]), on_failure="skip")
    run.solve(ALL, Y, phase="online")
    assert isinstance(run.solve(ALL[3:4], Y[3:4], phase="online")[0], Failure)
    assert run.calls.counts["solve"]["online"] == 30


def failing_at(*bad, part="solve"):
    def solve(y):
        if part == "solve" and any(np.isclose(y[0], b) for b in bad):
            raise fs.Infeasible("no truck is large enough")
        return y

    def cost(y, z):
        if part == "cost" and any(np.isclose(z[0], b) for b in bad):
            raise RuntimeError("simulation diverged")
        return float(10 * y[0] + abs(z[0] - y[0]))

    return fs.Problem(solve=solve, cost=cost)


@pytest.mark.parametrize("part", ["solve", "cost"])
def test_failures_b6_skip_gives_nan_and_never_zero(part):
    run = Oracle(failing_at(5.5, part=part), Y, solving=SolveConfig(on_failure="skip"))
    regret = run.regret(ALL, Y + 0.5, phase="online")
    assert np.isnan(regret[4])
    assert np.allclose(np.delete(regret, 4), 0.5)
    assert "no truck" in run.failures.failed[0].message if part == "solve" else True


def test_failures_penalise_takes_the_largest_regret_or_the_spread_of_the_best_costs():
    run = Oracle(failing_at(5.5), Y, solving=SolveConfig(on_failure="penalise"))
    assert run.regret(ALL, Y + 0.5, phase="online")[4] == 10 * (30 - 1)  # spread of the optimal costs
    run.regret(ALL[:1], np.array([[900.0]]), phase="online")
    assert run.regret(ALL[4:5], np.array([[5.5]]), phase="online")[0] == 899.0


def test_failures_a_penalty_that_is_given_is_taken():
    run = Oracle(failing_at(5.5), Y, solving=SolveConfig(on_failure="penalise", penalty=77.0))
    assert run.regret(ALL, Y + 0.5, phase="online")[4] == 77.0


def test_failures_a_label_that_fails_has_no_regret_under_any_policy():
    for policy in ("skip", "penalise"):
        run = Oracle(failing_at(5.0), Y, solving=SolveConfig(on_failure=policy))
        assert np.isnan(run.regret(ALL, Y + 0.5, phase="online")).tolist() == [k == 4 for k in ALL]


@pytest.mark.parametrize("policy", ["skip", "penalise", "raise"])
@pytest.mark.parametrize("status", ["error", "crash", "lost"])
def test_failures_b16_a_solver_that_mostly_fails_ends_the_run_early(policy, status):
    script = {f"r{k}": [status] * 9 for k in range(3, 30)}
    with pytest.raises(SolverError) as caught:
        oracle(Scripted(**script), on_failure=policy).solve(ALL, Y, phase="online")
    if policy != "raise" or status != "error":
        assert f"5 of the first 5 calls failed ({status}: 5)" in str(caught.value)
        assert "rows 25, 26, 27, 28, 29: failed" in str(caught.value)


def test_failures_the_rule_counts_calls_that_went_well():
    run = oracle(Scripted(**{f"r{k}": ["error"] for k in range(0, 30, 2)}), on_failure="skip")
    run.solve(ALL[1::2], Y[1::2], phase="online")  # 15 that go well
    run.solve(ALL, Y, phase="online")  # then 15 that do not: half of all, not more
    assert len(run.failures.failed) == 15


def test_failures_the_state_goes_through_json():
    run = Oracle(failing_at(5.5), Y, solving=SolveConfig(on_failure="penalise"))
    run.regret(ALL, Y + 0.5, phase="online")
    again = Failures(run.solving)
    again.restore(json.loads(json.dumps(run.failures.state())))
    assert again.penalty == run.failures.penalty
    assert again.record() == run.failures.record() != Failures(run.solving).record()
    assert again.state() == run.failures.state()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"on_failure": "ignore"}, "on_failure must be 'raise', 'penalise' or 'skip', got 'ignore'"),
        ({"penalty": 3.0}, "on_failure='penalise'"),
        ({"time_limit": 0}, "time_limit must be a number above 0 or None, got 0"),
        ({"memory_limit": -1}, "memory_limit must be a whole number above 0 or None, got -1"),
        ({"execution": "serial", "time_limit": 3}, "takes no workers, time_limit"),
    ],
)
def test_failures_settings_that_make_no_sense_are_refused(settings, says):
    with pytest.raises(InputError, match=says):
        SolveConfig(**settings)


def test_failures_that_are_alike_list_their_rows_in_order():
    assert _alike([(7, "`solve` raised at row 7: no"), (2, "`solve` raised at row 2: no"), (11, "other")]) == [
        "  rows 2, 7: `solve` raised: no",
        "  row 11: other",
    ]


def test_failures_summary_counts_one_call_as_one():
    failures = Failures(SolveConfig(on_failure="penalise"))
    failures.failed.append(Failed(3, "solve", "error", "no licence", 1))
    assert failures.summary == "1 call failed (error: 1) and was penalised; the first: no licence"
