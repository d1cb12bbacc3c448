import collections
import functools
import os
import subprocess
import sys
import threading
import types
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import LedgerError
from fewsolves.ledger.identity.held_data import ASSIGNED, CHANGES, NOT_FOLLOWED, changed_items, held_data
from fewsolves.ledger.ledger import open_ledger
from fewsolves.ledger.opening import HELD, ReadingOf, recorded_items

Y = np.arange(20.0).reshape(10, 2)
PRICES = {"a": [1.0, 2.0], "b": np.arange(3)}
LIMITS = [1000]
settings = types.ModuleType("settings_of_the_user")
settings.limit, settings.other, settings.__file__ = 5, 1, "/home/user/settings.py"


class Plant:
    def __init__(self, limit, parts=()):
        self.limit, self.parts, self.solved, self.log = limit, parts, 0, []
        self.lock = threading.Lock()

    def solve(self, y_hat):
        self.solved += 1
        return np.minimum(y_hat, self.limit)

    def noting(self, y_hat):
        self.log.append(1)
        return y_hat


@dataclass
class Config:
    limit: float
    names: tuple = ()


def cost(y, z):
    return float(abs(y - z).sum())


def items(function):
    return held_data({"solve": function})


def differ(one, other):
    return changed_items(items(one), items(other))


def test_held_data_a_parameter_of_a_bound_object_counts():
    assert differ(Plant(1000).solve, Plant(5).solve) == ["solve: Plant.limit"]
    assert differ(Plant(5).solve, Plant(5).solve) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"limit": 1}, {"limit": 2}),
        ([1, [2, 3]], [1, [2, 4]]),
        ({1, 2}, {1, 3}),
        (Config(1.0), Config(2.0)),
        (Config(1.0, ("a",)), Config(1.0, ("b",))),
        (np.zeros(3), np.ones(3)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.array(["a", None], dtype=object), np.array(["b", None], dtype=object)),
        (collections.deque([1]), collections.deque([2])),
        (Plant(1, parts=[Config(1.0)]), Plant(1, parts=[Config(2.0)])),
        ([functools.partial(cost, z=1)], [functools.partial(cost, z=2)]),
        (types.SimpleNamespace(a=np.float64(1)), types.SimpleNamespace(a=np.float64(2))),
    ],
)
def test_held_data_whatever_holds_it(one, other):
    def reads(held):
        def solve(y_hat):
            return held

        return solve

    assert differ(reads(one), reads(one)) == []
    assert differ(reads(one), reads(other)) == ["solve: held"]
    assert differ(Plant(1, parts=one).solve, Plant(1, parts=other).solve) == ["solve: Plant.parts"]


def with_prices(y_hat):
    return y_hat * PRICES["a"][0] + settings.limit


def through_another(y_hat):
    return with_prices(y_hat)


@pytest.mark.parametrize("function", [with_prices, through_another])
def test_held_data_of_the_module_and_of_other_modules_count(function, monkeypatch):
    before = items(function)
    monkeypatch.setitem(PRICES, "a", [3.0, 2.0])
    assert changed_items(before, items(function)) == ["solve: PRICES"]
    monkeypatch.setattr(settings, "other", 7)
    assert "solve: settings.limit" not in changed_items(before, items(function)), "what is not read does not count"
    monkeypatch.setattr(settings, "limit", 7)
    assert "solve: settings.limit" in changed_items(before, items(function))


def test_held_data_a_name_of_the_module_that_an_attribute_has_too_does_not_count(tmp_path, monkeypatch):
    plant = Plant(5)
    monkeypatch.setitem(globals(), "limit", 1)
    problem = fs.Problem(solve=plant.solve, cost=cost)
    open_ledger(tmp_path, problem, Y, identity="a").close()
    monkeypatch.setitem(globals(), "limit", 2)
    open_ledger(tmp_path, problem, Y, identity="a").close()


def test_held_data_what_the_functions_assign_is_left_out_and_what_cannot_be_followed_is_listed():
    found = items(Plant(1).solve)
    assert found["solve: Plant.solved"].startswith(ASSIGNED)
    assert found["solve: Plant.lock (lock)"] == NOT_FOLLOWED


class Adjustable(Plant):
    """With a setter that no solve calls, and a counter behind a property and another method, which each solve calls."""

    FLOOR = 0.0

    def __init__(self, limit):
        super().__init__(0)
        self._count = self.steps = 0
        self.set_limit(limit)

    def set_limit(self, limit):
        self.limit = limit

    @property
    def count(self):
        return self._count

    @count.setter
    def count(self, count):
        self._count = count

    def step(self):
        self.steps += 1

    def solve(self, y_hat):
        self.count += 1
        self.step()
        return np.clip(y_hat, self.FLOOR, self.limit)


def test_held_data_what_a_setter_assigns_counts_where_the_functions_do_not_call_it():
    assert differ(Adjustable(1000).solve, Adjustable(5).solve) == ["solve: Adjustable.limit"]
    used, fresh = Adjustable(5), Adjustable(5)
    used.solve(Y[0])
    assert differ(used.solve, fresh.solve) == []
    held = {"of": [used]}
    assert differ(lambda y: held["of"][0].solve(y), lambda y: held["of"][0].solve(y)) == []


def test_held_data_of_the_class_count(monkeypatch):
    before, plants = items(Adjustable(5).solve), [Adjustable(5)]
    reads = lambda y: plants[0].solve(y)  # noqa: E731
    held = items(reads)
    monkeypatch.setattr(Adjustable, "FLOOR", 1.0)
    assert changed_items(before, items(Adjustable(5).solve)) == ["solve: Adjustable.FLOOR"]
    assert changed_items(held, items(reads)) == ["solve: plants"]


class Forwarding:
    """Says KeyError where it should say AttributeError."""

    def __init__(self, **data):
        self.__dict__["data"] = data

    def __getattr__(self, name):
        return self.__dict__["data"][name]

    def solve(self, y_hat):
        return np.minimum(y_hat, self.limit)


def test_held_data_an_object_may_answer_for_attributes_as_it_likes(tmp_path):
    held = Forwarding(limit=5)
    for solve in (held.solve, lambda y: held.solve(y)):
        problem = fs.Problem(solve=solve, cost=cost)
        open_ledger(tmp_path, problem, Y, identity="a", adopt=True).close()
    assert differ(Forwarding(limit=1).solve, Forwarding(limit=2).solve) == ["solve: Forwarding.data"]


def test_held_data_objects_that_refer_to_themselves_or_to_many_have_an_end():
    plant = Plant(1)
    plant.parts = [plant, {"again": plant}]
    assert differ(plant.solve, plant.solve) == []
    deep = []
    for _ in range(100):
        deep = [deep]
    assert any(value == NOT_FOLLOWED for value in items(Plant(1, parts=deep).solve).values())


def test_held_data_a_ledger_is_refused_with_what_changed_and_adopted_on_demand(tmp_path):
    one, other = (fs.Problem(solve=Plant(limit).solve, cost=cost) for limit in (1000, 5))
    open_ledger(tmp_path, one, Y, identity="a").close()
    with pytest.raises(LedgerError, match=r"solve: Plant\.limit changed"):
        open_ledger(tmp_path, other, Y, identity="a")
    open_ledger(tmp_path, other, Y, identity="a", adopt=True).close()
    open_ledger(tmp_path, other, Y, identity="a").close()


def test_held_data_a_finished_run_does_not_come_back_for_another_limit(tmp_path):
    X, table = np.random.default_rng(0).normal(size=(30, 2)), 5 + np.random.default_rng(1).normal(size=(30, 2))
    options = {"method": "pfl", "predictor": "linear", "folder": tmp_path, "verbose": False}
    fs.DecisionRegressor(fs.Problem(solve=Plant(1000).solve, cost=cost), **options).fit(X, table)
    with pytest.raises(LedgerError, match=r"Plant\.limit changed"):
        fs.DecisionRegressor(fs.Problem(solve=Plant(5).solve, cost=cost), **options).fit(X, table)


def test_held_data_that_a_run_has_changed_are_not_compared(tmp_path):
    plant = Plant(1)
    problem = fs.Problem(solve=plant.noting, cost=cost)
    ledger = open_ledger(tmp_path, problem, Y, identity="a")
    plant.noting(Y[0])
    ledger.close()
    ledger = open_ledger(tmp_path, problem, Y, identity="a")
    items = recorded_items(dict(ledger.file.query("SELECT name, value FROM meta"))[HELD])
    ledger.close()
    assert items["solve: Plant.log"].startswith(CHANGES)


def test_held_data_a_version_stands_for_what_cannot_be_seen_and_for_data_that_do_not_matter(tmp_path):
    problem = fs.Problem(solve=Plant(1000).solve, cost=cost, version="model of May")
    open_ledger(tmp_path, problem, Y, identity="a").close()
    with pytest.raises(LedgerError, match="version changed"):
        open_ledger(tmp_path, replace(problem, version="model of June"), Y, identity="a")
    open_ledger(tmp_path, replace(problem, solve=Plant(5).solve), Y, identity="a").close()


@pytest.mark.parametrize("rubbish", ["", "[]", "{", "[" * 10_000, '{"a": 1}', None])
def test_held_data_items_that_are_damaged_are_no_items(rubbish):
    assert recorded_items(rubbish) == {}


HASHED = """
import sys
import networkx as nx
from fewsolves.ledger.identity.fingerprint import digest_of
from fewsolves.ledger.identity.held_data import held_data

names = {"north", "south", "east", "west"}
graph = nx.Graph()
graph.add_edges_from((a, b) for a in names for b in names if a < b)
limits = {frozenset((a, b)): 1 for a in names for b in names}
space = {}
exec("def chosen(y): return y in {'north', 'south', 'east', 'west'}", space)
chosen = space["chosen"]

def solve(y):
    if len(y) == 2:
        import plant_a as data
    else:
        import plant_b as data
    return y * data.LIMIT * len(graph) * len(limits) * len(names) * chosen(y)

print(digest_of(solve), held_data({"solve": solve}))
"""


def test_held_data_do_not_depend_on_the_order_of_hashes(tmp_path):
    pytest.importorskip("networkx")
    for name, text in {"plant_a": "LIMIT = 5", "plant_b": "LIMIT = 1", "program": HASHED}.items():
        (tmp_path / f"{name}.py").write_text(text)
    command, found = [sys.executable, str(tmp_path / "program.py")], []
    for seed in "0123":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        found.append(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert len(set(found)) == 1
    assert "plant_a.LIMIT" in found[0]
    assert "plant_b.LIMIT" in found[0]


def test_held_data_a_device_or_a_pipe_cannot_be_depended_on(tmp_path):
    """Only their names were compared."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), str(pipe)):
        problem = fs.Problem(solve=Plant(3).solve, cost=lambda y, z: 0.0, depends_on=[path])
        with pytest.raises(fs.InputError, match=r"depends_on\[0\] \(it is no regular file\) cannot be compared"):
            ReadingOf(problem, Y).held()
