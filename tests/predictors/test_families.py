import pytest

from fewsolves.errors import InputError
from fewsolves.predictors.families import family_of, named
from fewsolves.predictors.linear import Linear
from fewsolves.predictors.network import Network

pytestmark = pytest.mark.portable


@pytest.mark.parametrize(("name", "kind"), [("linear", Linear), ("linear-flat", Linear), ("network-by-item", Network)])
def test_families_are_found_by_the_names_that_select_them(name, kind):
    assert type(named(name)) is kind
    assert family_of(name) is named(name)


def test_families_have_no_name_for_what_the_user_built():
    assert named("given") is None
    assert named("MyRegressor") is None


def test_families_refuse_an_unknown_name_and_say_what_was_meant():
    with pytest.raises(InputError, match="linear"):
        family_of("liner")


def test_families_a_name_that_no_family_has_is_refused_with_those_there_are():
    with pytest.raises(
        InputError, match="'auto', 'lightgbm', 'linear', 'network', 'xgboost', a torch module"
    ) as raised:
        family_of("lineer")
    assert "did you mean 'linear'?" in str(raised.value)
    assert "-by-item" not in str(raised.value)
