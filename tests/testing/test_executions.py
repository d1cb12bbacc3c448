"""The contract of an execution, kept by those of the library (Ray: faults/test_cluster.py), and broken by others."""

import dataclasses
import threading

import numpy as np
import pytest

from fewsolves.execution import Answers, Failure, Serial
from fewsolves.execution.processes import Processes
from fewsolves.testing import APART_CHECKS, EXECUTION_CHECKS, check_execution
from fewsolves.testing.executions import (
    check_batched,
    check_close,
    check_closed_early,
    check_crash,
    check_every_row,
    check_failures,
    check_given_up,
    check_hints,
    check_instances,
    check_limits,
    check_same_answers,
    check_seeds,
)


@pytest.mark.parametrize("check", EXECUTION_CHECKS, ids=lambda check: check.__name__)
def test_execution_contract_solving_in_this_process_keeps_the_contract(check):
    check("serial", 1)


@pytest.mark.parametrize("check", (*EXECUTION_CHECKS, *APART_CHECKS), ids=lambda check: check.__name__)
def test_execution_contract_worker_processes_keep_the_contract(check):
    check("processes", 2)


def test_execution_contract_all_checks_at_once():
    check_execution("serial", workers=1)


class Changed(Serial):
    """An execution in this process whose answers are changed on their way."""

    def change(self, rows, landed):
        return landed

    def solve(self, rows, y_hat):
        return self.change(rows, super().solve(rows, y_hat))

    def cost(self, rows, y, z, seeds=None):
        return self.change(rows, super().cost(rows, y, z, seeds))


def with_values(landed, change):
    for answers in landed:
        yield answers._replace(values=[change(value) for value in answers.values])


class ForgetsTheLast(Changed):
    def change(self, rows, landed):
        return (answers._replace(**{name: getattr(answers, name)[:-1] for name in ("at", "values", "seconds")})
                for answers in landed)  # fmt: skip


class AnswersTwice(Changed):
    def change(self, rows, landed):
        for answers in landed:
            yield answers
            yield answers


class TellsRowsForPositions(Changed):
    def change(self, rows, landed):
        return (answers._replace(at=rows[answers.at]) for answers in landed)


class SwapsRows(Changed):
    def change(self, rows, landed):
        return (answers._replace(values=answers.values[::-1]) for answers in landed)


class LosesTheTime(Changed):
    def change(self, rows, landed):
        return (answers._replace(seconds=[]) for answers in landed)


class Rounds(Changed):
    def change(self, rows, landed):
        return with_values(landed, lambda value: np.asarray(value, dtype="f4") if np.ndim(value) else value)


class Flattens(Changed):
    def change(self, rows, landed):
        return with_values(landed, lambda value: np.ravel(value) if isinstance(value, np.ndarray) else value)


class LetsArgumentsChange(Serial):
    def solve(self, rows, y_hat):
        landed = list(super().solve(rows, y_hat))
        y_hat[:] = 0.0
        return iter(landed)


class PadsDecisions(Serial):
    def cost(self, rows, y, z, seeds=None):
        flat = [np.ravel(one).astype(float) for one in z]
        longest = max(map(len, flat))
        return super().cost(rows, y, [np.resize(one, longest) for one in flat], seeds)


class InstancesByPosition(Serial):
    def solve(self, rows, y_hat):
        return super().solve(np.arange(len(rows)), y_hat)


class ForgetsInstances(Serial):
    def __init__(self, problem):
        super().__init__(dataclasses.replace(problem, instances=None))


class ForgetsSeeds(Serial):
    def cost(self, rows, y, z, seeds=None):
        return super().cost(rows, y, z, np.zeros(len(rows), dtype=int))


class ForgetsHints(Serial):
    def solve(self, rows, y_hat, hints=None):
        return super().solve(rows, y_hat)


class KnowsNoBatches(Serial):
    def solve(self, rows, y_hat):
        function = self.load().solve or self.load().solve_batch
        values = [function(y) for y in y_hat]
        return iter([Answers(np.arange(len(rows)), values, [0.0] * len(rows))])


class Raises(Changed):
    def change(self, rows, landed):
        for answers in landed:
            for value in answers.values:
                if isinstance(value, Failure):
                    raise value.cause or ValueError(value.message)
            yield answers


class NamesNoRow(Changed):
    def change(self, rows, landed):
        return with_values(
            landed, lambda value: Failure(value.status, "failed") if isinstance(value, Failure) else value
        )


class KeepsAnswers(Serial):
    """Answers that were not read come with the next request."""

    left = ()

    def solve(self, rows, y_hat):
        self.left = [*self.left, *super().solve(rows, y_hat)]
        while self.left:
            yield self.left.pop(0)


class LeavesAThread(Serial):
    def __init__(self, problem):
        super().__init__(problem)
        self.end = threading.Event()

    def solve(self, rows, y_hat):
        landed = []

        def work():
            landed.extend(Serial.solve(self, rows, y_hat))
            done.set()
            self.end.wait()

        done = threading.Event()
        threading.Thread(target=work, daemon=True).start()
        done.wait()
        return iter(landed)


class EndsForGood(Serial):
    closed = False

    def solve(self, rows, y_hat):
        assert not self.closed, "expected no request to a closed execution"
        return super().solve(rows, y_hat)

    def close(self):
        self.closed = True


BROKEN = {
    check_every_row: (ForgetsTheLast, AnswersTwice, TellsRowsForPositions, SwapsRows, LosesTheTime),
    check_same_answers: (Rounds, Flattens, LetsArgumentsChange, PadsDecisions),
    check_instances: (InstancesByPosition, ForgetsInstances),
    check_seeds: (ForgetsSeeds,),
    check_hints: (ForgetsHints,),
    check_batched: (KnowsNoBatches,),
    check_failures: (Raises, NamesNoRow),
    check_closed_early: (KeepsAnswers,),
    check_close: (LeavesAThread, EndsForGood),
}


@pytest.mark.parametrize(
    ("check", "broken"),
    [(check, broken) for check, several in BROKEN.items() for broken in several],
    ids=lambda one: one.__name__,
)
def test_execution_contract_an_execution_that_breaks_a_rule_is_caught(check, broken):
    options = {"patience": 0.3} if check is check_close else {}
    check(lambda problem, resources: Serial(problem), **options)
    with pytest.raises(AssertionError):
        check(lambda problem, resources: broken(problem), **options)


class LosesTheRest(Processes):
    """A crash costs all that lands after it."""

    def solve(self, rows, y_hat):
        crashed = None
        for answers in super().solve(rows, y_hat):
            crashed = crashed or next((value for value in answers.values if isinstance(value, Failure)), None)
            yield answers._replace(values=[crashed] * len(answers.values)) if crashed else answers


def test_execution_contract_an_execution_that_loses_more_than_the_row_that_crashed_is_caught():
    with pytest.raises(AssertionError, match="expected the decision of row"):
        check_crash(lambda problem, resources: LosesTheRest(problem, resources.workers))


def test_execution_contract_an_execution_that_ignores_the_time_limit_is_caught():
    with pytest.raises(AssertionError, match="a Failure"):
        check_limits(lambda problem, resources: Serial(problem), forever=0.01)


class LeavesWhenClosed(Processes):
    def close(self):
        pass


class LeavesUnread(Processes):
    closing = False

    def close(self):
        self.closing = True
        super().close()

    def stop_workers(self, workers):
        if self.closing:
            super().stop_workers(workers)


@pytest.mark.parametrize("broken", [LeavesWhenClosed, LeavesUnread])
def test_execution_contract_an_execution_that_leaves_a_solve_running_is_caught(broken):
    made = []

    def start(problem, resources):
        made.append(broken(problem, resources.workers))
        return made[-1]

    try:
        with pytest.raises(AssertionError, match="the process that solved ended"):
            check_given_up(start, patience=5.0)  # of which the solve needs some to begin
    finally:
        for one in made:
            Processes.stop_workers(one, one.alive)
