"""Settings: what they accept, what they refuse and how, and where they tell about themselves."""

from __future__ import annotations

import dataclasses
import pydoc
from typing import Any, Literal

import numpy as np
import pytest

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.gp.processes import GPConfig
from fewsolves.methods.registry import METHODS
from fewsolves.oracle import Budget, SolveConfig
from fewsolves.settings import identity_of, setting, settings, settings_of, values_of

pytestmark = pytest.mark.portable


@settings
class Bread:
    """How to bake."""

    flour: Literal["rye", "wheat"] = setting("what it is made of")
    loaves: int = setting("how many", default=2, least=1)
    heat: float | None = setting("of the oven; None: as it is", default=None, above=0, most=300)
    crust: bool = setting("whether it has one", default=True)
    name: str = setting("what it is called", default="loaf")
    size: tuple[float, float] | None = setting("length and width", default=None)
    label: Any = setting("whatever you like", default=None)


@settings
class Cake(Bread):
    """How to bake a cake."""

    sugar: float = setting("how sweet", default=0.5, least=0, most=1)

    def __post_init__(self) -> None:
        if self.flour == "rye" and self.sugar:
            raise InputError("rye takes no sugar")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"loaves": "abc"}, "loaves must be a whole number of at least 1, got 'abc'"),
        ({"loaves": 0}, "loaves must be a whole number of at least 1, got 0"),
        ({"loaves": 2.5}, "loaves must be a whole number of at least 1, got 2.5"),
        ({"loaves": True}, "loaves must be a whole number of at least 1, got True"),
        ({"loaves": None}, "loaves must be a whole number of at least 1, got None"),
        ({"heat": 0}, "heat must be a number above 0 and at most 300 or None, got 0"),
        ({"heat": 301.0}, "got 301.0"),
        ({"heat": float("nan")}, "got nan"),
        ({"heat": float("inf")}, "got inf"),
        ({"heat": "200"}, "got '200'"),
        ({"heat": np.array([1.0, 2.0])}, r"got array\(\[1., 2.\]\)"),
        ({"crust": 1}, "crust must be True or False, got 1"),
        ({"crust": "yes"}, "crust must be True or False, got 'yes'"),
        ({"name": 3}, "name must be a text, got 3"),
        ({"flour": "oats"}, "flour must be 'rye' or 'wheat', got 'oats'"),
        ({"flour": ["rye"]}, r"flour must be 'rye' or 'wheat', got \['rye'\]"),
        ({"size": (1.0,)}, "size must be 2 numbers or None"),
        ({"size": (1.0, "wide")}, "size must be 2 numbers or None"),
        ({"name": 7 * "x" * 100, "loaves": "y" * 1000}, "got 'y{79}$"),
    ],
)
def test_settings_what_is_not_allowed_is_refused_with_name_value_and_what_is(wrong, says):
    with pytest.raises(InputError, match=says):
        Bread(**{"flour": "rye"} | wrong)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"loaves": np.int32(3)}, 3),
        ({"loaves": 1e6}, 1_000_000),
        ({"heat": np.float32(0.5)}, 0.5),
        ({"heat": np.int64(7)}, 7),
        ({"heat": 200}, 200),
        ({"heat": None}, None),
        ({"crust": np.bool_(False)}, False),
        ({"size": [1, 2.5]}, (1, 2.5)),
        ({"label": {"any": "thing"}}, {"any": "thing"}),
    ],
)
def test_settings_numbers_of_numpy_become_pythons_and_whole_ones_stay_whole(given, kept):
    made = getattr(Bread(flour="wheat", **given), next(iter(given)))
    assert made == kept
    assert type(made) is type(kept)


def test_settings_a_setting_without_a_default_must_be_given():
    with pytest.raises(TypeError, match="flour"):
        Bread()


def test_settings_is_a_frozen_dataclass_like_any_other():
    bread = Bread(flour="rye")
    assert dataclasses.asdict(bread) == vars(bread)
    assert repr(bread) == ("Bread(flour='rye', loaves=2, heat=None, crust=True, name='loaf', size=None, label=None)")
    assert dataclasses.replace(bread, loaves=3) == Bread(flour="rye", loaves=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        bread.loaves = 3
    with pytest.raises(InputError, match="loaves"):
        dataclasses.replace(bread, loaves=0)


def test_settings_are_inherited_and_checked_together():
    assert [one.name for one in settings_of(Cake)][-2:] == ["label", "sugar"]
    with pytest.raises(InputError, match="loaves"):
        Cake(flour="wheat", loaves=0)
    with pytest.raises(InputError, match="sugar must be a number between 0 and 1, got 2"):
        Cake(flour="wheat", sugar=2)
    with pytest.raises(InputError, match="rye takes no sugar"):
        Cake(flour="rye")

    @settings
    class SmallCake(Cake):
        """No rule of its own."""

    with pytest.raises(InputError, match="rye takes no sugar"):
        SmallCake(flour="rye")


def test_settings_help_tells_every_setting_with_its_default_and_what_is_allowed():
    text = " ".join(pydoc.render_doc(Cake, renderer=pydoc.plaintext).replace("|", " ").split())
    assert "How to bake a cake. Attributes:" in text
    assert "flour: what it is made of ('rye' or 'wheat')" in text
    assert "heat: of the oven; None: as it is (a number above 0 and at most 300 or None; default None)" in text
    assert "sugar: how sweet (a number between 0 and 1; default 0.5)" in text


CONFIGS = [
    SolveConfig(),
    Budget(),
    GPConfig(),
    *(part for one in METHODS.values() for part in (one.settings, one.common)),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
def test_settings_every_setting_of_the_library_is_documented_and_its_own_value_allowed(config):
    for one in settings_of(config):
        assert one.meaning, one.name
        assert one.check(one.default) is one.default
        assert f"    {one.name}: {one.meaning[:20]}" in type(config).__doc__


def test_settings_a_setting_that_came_later_leaves_earlier_runs_what_they_were():
    @settings
    class Before:
        n: int = setting("a number", default=1)

    was = identity_of(Before(n=3))

    @settings
    class After:
        kernel: str = setting("new", default="rbf", since="0.2")
        n: int = setting("a number", default=1)

    assert identity_of(After(n=3)).partition("(")[2] == was.partition("(")[2]
    assert values_of(After(n=3)) == values_of(Before(n=3)) == {"n": 3}
    assert "kernel='matern'" in identity_of(After(n=3, kernel="matern"))
    assert values_of(After(kernel="matern")) == {"kernel": "matern", "n": 1}


def test_settings_a_later_setting_that_changes_nothing_leaves_a_run_the_same():
    @settings
    class Config:
        rate: float = setting("", default=0.1)
        most: int | None = setting("", default=150, since="9.0", without=None)

    assert values_of(Config()) == values_of(Config(most=None)) == {"rate": 0.1}
    assert values_of(Config(most=50)) == {"rate": 0.1, "most": 50}
