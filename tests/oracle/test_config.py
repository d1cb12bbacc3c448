import pytest

from fewsolves.errors import InputError
from fewsolves.execution.base import Resources
from fewsolves.execution.serial import Serial
from fewsolves.oracle import SolveConfig
from problems_of_users import NEWSVENDOR

pytestmark = pytest.mark.portable


def test_config_solves_in_this_process_unless_something_needs_another():
    execution = SolveConfig().start(NEWSVENDOR)
    assert isinstance(execution, Serial)
    execution.close()
    assert SolveConfig().resources == Resources()


def test_config_hands_its_limits_to_the_execution():
    config = SolveConfig(workers=2, time_limit=1.5, memory_limit=10**9)
    assert config.resources == Resources(workers=2, time_limit=1.5, memory_limit=10**9)


@pytest.mark.parametrize("limits", [{"workers": 2}, {"time_limit": 1.0}, {"memory_limit": 10**9}])
def test_config_refuses_limits_that_this_process_cannot_keep(limits):
    with pytest.raises(InputError):
        SolveConfig(execution="serial", **limits)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"workers": 0}, "workers"),
        ({"time_limit": 0}, "time_limit"),
        ({"memory_limit": -1}, "memory_limit"),
        ({"on_failure": "hope"}, "on_failure"),
        ({"grace": -1.0}, "grace"),
        ({"penalty": 3.0}, "on_failure='penalise'"),
        ({"execution": "carrier pigeons"}, "carrier pigeons"),
    ],
)
def test_config_refuses_what_is_not_allowed_by_name(wrong, message):
    with pytest.raises(InputError, match=message):
        SolveConfig(**wrong)


def test_config_a_penalty_goes_with_its_policy():
    assert SolveConfig(on_failure="penalise", penalty=3.0).penalty == 3.0
