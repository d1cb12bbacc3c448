import pytest

from fewsolves.ledger.ledger import Ledger
from fewsolves.oracle.budget import Budget, BudgetLeft
from fewsolves.oracle.calls import Calls
from fewsolves.oracle.charging import Charge, Charging

pytestmark = pytest.mark.portable


def charging(ledger=None, **limits):
    calls = Calls()
    return Charging(calls, BudgetLeft(Budget(**limits), calls), ledger)


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path, {}, [], 2, identity="a")
    yield ledger
    if not ledger.closed:
        ledger.close()


def test_charging_counts_what_is_answered_and_keeps_what_is_not():
    one = charging()
    charge = Charge("solve", "online")
    with one.during(charge):
        one.sent(5)
        one.answered(charge, 3, 1.5)
    assert one.calls.total() == 3
    assert one.calls.seconds == 1.5
    assert one.calls.unanswered["solve"] == 2


def test_charging_holds_when_the_call_breaks_off():
    one = charging()
    with pytest.raises(KeyboardInterrupt), one.during(Charge("cost", "online")):
        one.sent(4)
        raise KeyboardInterrupt
    assert one.calls.unanswered["cost"] == 4


def test_charging_of_the_test_is_no_part_of_a_budget(ledger):
    one = charging(ledger)
    with one.during(Charge("solve", "test")):
        one.sent(4)
    assert one.calls.unanswered["solve"] == 0
    assert ledger.begun("solve") == 0


def test_charging_is_in_the_ledger_before_the_call_begins(ledger):
    one = charging(ledger)
    with one.during(Charge("solve", "online")):
        one.sent(4)
        assert ledger.begun("solve") == 4
    assert one.seconds > 0, "what writing took is no part of a call"


def test_charging_goes_on_without_a_ledger_that_is_closed(ledger):
    one = charging(ledger)
    ledger.close()
    with one.during(Charge("solve", "online")):
        one.sent(2)
    assert one.calls.unanswered["solve"] == 2
    one.count_unanswered(["solve"])


def test_charging_repeats_no_more_than_the_budget_has_room_for():
    one = charging(solves=6)
    charge = Charge("solve", "online")
    with one.during(charge):
        one.sent(4)
        assert one.may_repeat(charge, 5) == 2
        assert one.may_repeat(Charge("solve", "test"), 5) == 5
        one.answered(charge, 4, 0.0)


def test_charging_counts_what_earlier_starts_never_heard_of(tmp_path):
    first = Ledger(tmp_path, {}, [], 2, identity="a")
    with charging(first).during(Charge("solve", "online")) as _:
        first.charge("solve", 3)
        first.give_up("solve", 3)
    first.close()
    second = Ledger(tmp_path, {}, [], 2, identity="a")
    one = charging(second)
    one.count_unanswered(["solve"])
    assert one.calls.unanswered["solve"] == 3
    one.count_unanswered(["solve"])
    assert one.calls.unanswered["solve"] == 3, "each once"
    second.close()
