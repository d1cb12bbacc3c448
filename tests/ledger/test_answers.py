import numpy as np
import pytest

from fewsolves.execution.base import Failure
from fewsolves.ledger.answers import SAME
from fewsolves.ledger.decision import pack_decision
from fewsolves.ledger.keys import cost_key, solve_keys
from fewsolves.ledger.ledger import Ledger
from fewsolves.ledger.opening import IMPORTED
from fewsolves.ledger.sqlite.rows import PendingCall

pytestmark = pytest.mark.portable

POINT = np.array([1.0, 2.0])
DECISION = pack_decision(np.array([1.0, 0.0]))


def opened(folder, run="a", **options):
    return Ledger(folder, {}, [], 2, identity=run, **options)


def solve_at(point, k=0, row=0):
    (key,) = solve_keys(np.array([row]), point[None], own=False)
    return PendingCall("solve", "online", row, k, key, y_hat=point)


def recorded(folder, *calls, run="a"):
    """A ledger that is opened again after these calls with their answers."""
    ledger = opened(folder, run)
    for call, value in calls:
        ledger.record([call], [value], [0.5], [2])
    ledger.close()


def test_answers_are_found_by_position_and_hold_their_seconds(tmp_path):
    recorded(tmp_path, (solve_at(POINT), DECISION))
    ledger = opened(tmp_path)
    found = ledger.find(solve_at(POINT), content=False)
    assert (found.value, found.seconds, found.attempts) == (DECISION, 0.5, 2)
    assert found.own
    assert found.by_position
    assert ledger.find(solve_at(POINT, k=1), content=False) is None
    ledger.close()


def test_answers_of_other_runs_are_found_by_content_only(tmp_path):
    recorded(tmp_path, (solve_at(POINT), DECISION))
    ledger = opened(tmp_path, "b")
    assert ledger.find(solve_at(POINT), content=False) is None
    found = ledger.find(solve_at(POINT, k=7), content=True)
    assert (found.value, found.own, found.by_position) == (DECISION, False, False)
    assert ledger.find(solve_at(POINT + 1), content=True) is None
    ledger.close()


@pytest.mark.parametrize(("change", "taken"), [(0.1 * SAME, True), (10 * SAME, False)])
def test_answers_at_a_position_forgive_last_bits_and_no_more(tmp_path, change, taken):
    recorded(tmp_path, (solve_at(POINT), DECISION))
    ledger = opened(tmp_path)
    assert (ledger.find(solve_at(POINT * (1 + change)), content=False) is not None) == taken
    ledger.close()


@pytest.mark.parametrize("replays", [True, False])
def test_answers_include_failures_of_the_own_run_on_request(tmp_path, replays):
    recorded(tmp_path, (solve_at(POINT), Failure("timeout", "too long")))
    ledger = opened(tmp_path, replays_failures=replays)
    found = ledger.find(solve_at(POINT), content=True)
    assert found is None if not replays else found.value == Failure("timeout", "too long")
    ledger.close()


def test_answers_that_are_damaged_are_said_and_not_taken(tmp_path):
    recorded(tmp_path, (solve_at(POINT), DECISION))
    ledger = opened(tmp_path)
    ledger.file.change("UPDATE calls SET seconds = ? WHERE seq = 1", [(9.0,)])
    with pytest.warns(UserWarning, match=r"row 1 .* is damaged; that call is made again"):
        assert ledger.find(solve_at(POINT), content=False) is None
    ledger.close()


def test_answers_before_a_checkpoint_are_recalled_by_key(tmp_path):
    call = solve_at(POINT)
    recorded(tmp_path, (call, DECISION), (solve_at(POINT + 1, k=1), DECISION))
    ledger = opened(tmp_path)
    assert ledger.recall("solve", [call.key]) == {}, "nothing is remembered before the run goes on from somewhere"
    ledger.go_on_from(1, {})
    assert ledger.recall("solve", [call.key, solve_at(POINT + 1).key]) == {call.key: DECISION}
    ledger.close()


def test_answers_drawn_for_a_second_look_are_costs_with_their_solves_and_nothing_imported(tmp_path):
    solve = solve_at(POINT)
    cost = PendingCall("cost", "online", 0, 0, cost_key(DECISION.key, 0), decision_key=DECISION.key, solve=1)
    recorded(tmp_path, (solve, DECISION), (cost, 3.0))
    ledger = opened(tmp_path)
    ((found, of),) = ledger.sample_paid(5, seed=0)
    assert (found.value, of.seq) == (3.0, 1)
    assert ledger.sample_paid(0, seed=0) == []
    ledger.close()

    recorded(tmp_path / "history", (solve, DECISION), (cost, 3.0), run=IMPORTED)
    ledger = opened(tmp_path / "history")
    assert ledger.sample_paid(5, seed=0) == []
    ledger.close()
