from collections import deque

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import InputError, SolverError
from fewsolves.execution.base import Failure
from fewsolves.execution.dispatch import (
    MAX_CHUNK_ROWS,
    START_ATTEMPTS,
    FailedStart,
    Gone,
    Landed,
    Noticed,
    Pace,
    Ready,
    WorkerExecution,
    batch_size,
)

N = 12
ROWS, Y = 100 + np.arange(N), np.arange(2.0 * N).reshape(N, 2)
LOST = Failure("lost", "somewhere")


class Scripted(WorkerExecution[str]):
    """Workers that are ready at once and double what they get; `act` may let something else happen to a chunk."""

    def __init__(self, workers=2, act=None, batch=False):
        double = {"solve_batch": abs} if batch else {"solve": abs}
        super().__init__(fs.Problem(cost=max, **double), workers, chunk_seconds=1.0)
        self.act, self.events = act or (lambda worker, chunk: None), deque()
        self.started, self.stopped, self.chunks = [], [], []

    def start_worker(self):
        self.started.append(f"worker {len(self.started)}")
        self.events.append([Ready(self.started[-1])])
        return self.started[-1]

    def send(self, worker, chunk):
        self.chunks.append((worker, chunk))
        happens = self.act(worker, chunk)
        self.events.append(doubled(worker, chunk) if happens is None else happens)

    def wait(self):
        return self.events.popleft()

    def stop_workers(self, workers):
        self.stopped += workers
        self.events = deque(
            left for events in self.events
            if (left := [event for event in events if getattr(event, "worker", None) not in workers])
        )  # fmt: skip


def doubled(worker, chunk):
    return [Landed(worker, number, 2 * y, 0.01) for number, y in zip(chunk.numbers, chunk.columns[0], strict=True)]


def values_of(landed):
    found = {}
    for answers in landed:
        for at, value in zip(answers.at.tolist(), answers.values, strict=True):
            assert at not in found
            found[at] = value
    return [found[at] for at in range(len(found))]


def right(values, but=()):
    return len(values) == N and all(np.array_equal(values[k], 2 * Y[k]) for k in range(N) if k not in but)


def sent(execution):
    """The rows of each chunk."""
    return [chunk.rows.tolist() for _, chunk in execution.chunks]


def test_dispatch_every_row_lands_once_with_its_own_answer():
    execution = Scripted()
    assert right(values_of(execution.solve(ROWS, Y)))
    assert sorted(row for rows in sent(execution) for row in rows) == ROWS.tolist()


def test_dispatch_workers_live_on_and_no_more_are_started_than_there_are_rows():
    execution = Scripted(workers=5)
    for _ in range(3):
        values_of(execution.solve(ROWS[:2], Y[:2]))
    assert len(execution.started) == 2
    assert execution.stopped == []


def test_dispatch_no_two_rows_ever_have_one_number():
    execution = Scripted()
    for _ in range(3):
        values_of(execution.solve(ROWS, Y))
    numbers = [number for _, chunk in execution.chunks for number in chunk.numbers]
    assert len(set(numbers)) == len(numbers) == 3 * N


def test_dispatch_an_answer_with_another_number_or_from_another_worker_is_not_taken():
    def act(worker, chunk):
        other = [Landed(worker, chunk.numbers[0] - 1, np.zeros(2), 0.01), Landed("who", chunk.numbers[0], 0.0, 0.01)]
        again = doubled(worker, chunk)
        return [*other, *again, *again]

    assert right(values_of(Scripted(act=act).solve(ROWS, Y)))


def test_dispatch_a_lost_worker_that_had_one_row_in_work_fails_that_row_and_the_rest_of_its_chunk_waits_again():
    def act(worker, chunk):
        if 103 in chunk.rows:
            at = chunk.rows.tolist().index(103)
            return [*doubled(worker, chunk)[:at], Gone(worker, LOST, seconds=7.0)]
        return None

    execution = Scripted(act=act)
    execution.pace.saw("solve", [0.2])  # chunks of five
    values = values_of(execution.solve(ROWS, Y))
    assert values[3] is LOST
    assert right(values, but={3})
    assert len(execution.started) == 3


def test_dispatch_a_lost_worker_with_several_rows_in_work_fails_them_and_each_is_repeated_alone():
    def act(worker, chunk):
        return [Gone(worker, LOST, in_work=len(chunk.rows))] if 103 in chunk.rows else None

    execution = Scripted(workers=1, act=act, batch=True)
    values = values_of(execution.solve(ROWS, Y))
    lost = next(rows for rows in sent(execution) if 103 in rows)
    assert len(lost) > 1
    assert [int(ROWS[k]) for k, value in enumerate(values) if isinstance(value, Failure)] == lost
    assert {values[row - 100].status for row in lost} == {"batch"}
    assert sorted(row for rows in sent(execution) for row in rows) == ROWS.tolist(), "none was sent twice"
    execution.chunks.clear()
    values = values_of(execution.solve(ROWS, Y))
    assert values[3] is LOST
    assert right(values, but={3})
    assert all([row] in sent(execution) for row in lost)


def test_dispatch_a_worker_that_leaves_by_no_fault_of_a_row_fails_none():
    left = []

    def act(worker, chunk):
        if not left:
            left.append(worker)
            return [Gone(worker)]
        return None

    assert right(values_of(Scripted(act=act).solve(ROWS, Y)))


def test_dispatch_a_worker_that_ends_between_chunks_is_replaced():
    execution = Scripted(workers=1)
    values_of(execution.solve(ROWS[:1], Y[:1]))
    execution.events.append([Gone("worker 0")])
    execution.act = lambda worker, chunk: [] if worker == "worker 0" else None  # it does not answer any more
    assert right(values_of(execution.solve(ROWS, Y)))


def test_dispatch_workers_that_are_lost_as_they_start_are_not_tried_for_ever():
    class NeverReady(Scripted):
        def wait(self):
            return [FailedStart(event.worker, "no licence") for event in self.events.popleft()]

    execution = NeverReady(workers=1)
    with pytest.raises(SolverError, match="no licence") as caught:
        values_of(execution.solve(ROWS, Y))
    assert caught.value.row == 100
    assert len(execution.started) == START_ATTEMPTS


def test_dispatch_workers_that_never_ran_as_their_machine_was_lost_are_started_elsewhere():
    class OnLostMachines(Scripted):
        def wait(self):
            if len(self.started) <= 2 * START_ATTEMPTS:
                return [FailedStart(event.worker, "lost", counts=False) for event in self.events.popleft()]
            return super().wait()

    assert right(values_of(OnLostMachines(workers=1).solve(ROWS, Y)))


def test_dispatch_what_has_landed_is_handed_on_before_a_fault_is_raised():
    class Faulty(Scripted):
        def wait(self):
            yield from super().wait()
            if len(self.chunks) == 2:
                raise InputError("the second worker has no licence")

    landed = Faulty().solve(ROWS, Y)
    assert next(landed).values[0].tolist() == [0.0, 2.0]
    with pytest.raises(InputError, match="no licence"):
        next(landed)


def test_dispatch_work_of_a_request_that_is_not_read_is_given_up_and_does_not_answer_the_next_request():
    execution = Scripted()
    landed = execution.solve(ROWS, Y)
    next(landed)
    in_work = list(execution._in_work)
    landed.close()
    assert in_work
    assert execution.stopped == in_work
    assert right(values_of(execution.solve(ROWS, Y)))


def test_dispatch_one_request_at_a_time():
    execution = Scripted()
    first = execution.solve(ROWS, Y)
    seen = len(next(first).at)
    with pytest.raises(RuntimeError, match="one request at a time"):
        next(execution.solve(ROWS, Y))
    assert seen + sum(len(answers.at) for answers in first) == N


def test_dispatch_a_request_that_is_answered_is_over_even_if_its_end_is_not_read():
    execution = Scripted()
    first = execution.solve(ROWS[:1], Y[:1])
    next(first)
    assert right(values_of(execution.solve(ROWS, Y)))


def test_dispatch_close_ends_all_workers_and_a_later_read_raises():
    execution = Scripted()
    landed = execution.solve(ROWS, Y)
    next(landed)
    execution.close()
    assert sorted(execution.stopped) == sorted(execution.started)
    with pytest.raises(RuntimeError, match="closed while rows were in work"):
        next(landed)
    assert right(values_of(execution.solve(ROWS, Y)))


def test_dispatch_what_a_user_should_know_is_said_once():
    def act(worker, chunk):
        return [Noticed("something odd"), *doubled(worker, chunk)]

    with pytest.warns(RuntimeWarning, match="something odd") as caught:
        assert right(values_of(Scripted(act=act).solve(ROWS, Y)))
    assert len(caught) == 1


def test_dispatch_batched_forms_that_a_factory_brings_are_used_from_the_first_chunk():
    class Built(Scripted):
        def wait(self):
            return [Ready(e.worker, ["solve"]) if isinstance(e, Ready) else e for e in self.events.popleft()]

    execution = Built(workers=1)
    assert right(values_of(execution.solve(ROWS, Y)))
    assert [len(rows) for rows in sent(execution)] == [3, 3, 3, 3]
    assert all(chunk.batched for _, chunk in execution.chunks)


def pace(seconds, target=0.05):
    made = Pace(target)
    made.saw("solve", [seconds] * 3)
    return made


def test_dispatch_one_row_at_a_time_while_nothing_is_known_and_where_solves_take_long():
    assert Pace(0.05).size("solve", 1000, 2) == 1
    assert pace(0.5).size("solve", 1000, 2) == 1
    assert pace(0.001).size("cost", 1000, 2) == 1
    assert pace(0.01, 0.25).size("solve", 24, 1) == 24, "one worker need not end together with others"


@pytest.mark.parametrize(("seconds", "rows"), [(0.005, 9), (0.001, 49), (1e-6, MAX_CHUNK_ROWS), (0.0, MAX_CHUNK_ROWS)])
def test_dispatch_quick_solves_go_in_chunks_of_about_the_target(seconds, rows):
    assert pace(seconds).size("solve", 10**6, 2) == rows


def test_dispatch_the_last_chunks_are_smaller_but_not_tiny():
    sizes, waiting = [], 400
    while waiting:
        sizes.append(pace(0.001, 0.25).size("solve", waiting, 2))
        waiting -= sizes[-1]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 100
    assert min(sizes[:-1]) == 63
    assert sum(sizes) == 400


def test_dispatch_the_pace_follows():
    followed = pace(0.001)
    for _ in range(30):
        followed.saw("solve", [0.5])
    assert followed.size("solve", 1000, 2) == 1


@pytest.mark.parametrize(("total", "workers", "rows"), [(1, 4, 1), (800, 2, 100), (7, 1, 2)])
def test_dispatch_batches(total, workers, rows):
    assert batch_size(total, workers) == rows


def test_dispatch_rows_that_took_longest_are_sent_first():
    pace = Pace(0.05)
    rows = np.array([4, 7, 9, 2])
    assert pace.longest_first("solve", rows, 2) == [0, 1, 2, 3]
    pace.saw("solve", [1.0])
    for row, seconds in ((7, 3.0), (2, 0.5), (9, 0.1)):
        pace.note("solve", row, seconds)
    assert pace.longest_first("solve", rows, 2) == [1, 0, 3, 2]
    assert pace.longest_first("solve", rows, 1) == [0, 1, 2, 3]
    assert pace.longest_first("cost", rows, 2) == [0, 1, 2, 3]
