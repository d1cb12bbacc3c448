import pytest

import fewsolves as fs
from fewsolves.errors import InputError


def test_two_callables_are_enough():
    problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: 0.0)
    assert problem.instances is None


@pytest.mark.parametrize("given", [{}, {"solve": lambda y: y}, {"cost": lambda y, z: 0.0}])
def test_a_missing_callable_is_named(given):
    missing = "solve" if "solve" not in given else "cost"
    with pytest.raises(InputError, match=f"`{missing}=`"):
        fs.Problem(**given)


def test_what_is_not_callable_is_refused():
    with pytest.raises(InputError, match=r"must be a function, got int"):
        fs.Problem(solve=3, cost=lambda y, z: 0.0)


def test_linear_takes_two_words():
    with pytest.raises(InputError, match="'min', 'max' or None"):
        fs.Problem(solve=lambda y: y, cost=lambda y, z: 0.0, linear="maximise")
