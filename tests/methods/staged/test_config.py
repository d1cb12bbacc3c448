"""The settings of the default."""

import pytest

from fewsolves.errors import InputError
from fewsolves.methods.registry import find_method
from fewsolves.methods.staged.config import StagedConfig

pytestmark = pytest.mark.portable


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("solves", -1, "solves must be a number of at least 0"),
        ("most", 0, "most must be a number above 0"),
        ("cost_calls", -0.5, "cost_calls must be a number of at least 0"),
        ("solves_at_once", 0, "solves_at_once must be a whole number of at least 1"),
        ("warm_start", "yes", "warm_start must be"),
        ("patience", 20, "method 'staged' has no setting 'patience'"),
    ],
)
def test_config_a_setting_that_cannot_work_is_refused_by_name(setting, value, says):
    with pytest.raises(InputError, match=says):
        find_method("staged").with_settings({setting: value})


def test_config_without_settings_sets_no_number_of_solves():
    config = StagedConfig()
    assert config.solves is config.cost_calls is config.solves_at_once is None
    assert config.most > 0
