import re

import pytest

import fewsolves as fs
from fewsolves.errors import InputError
from fewsolves.execution import Resources, Serial, register
from fewsolves.execution.processes import Processes
from fewsolves.execution.ray import Cluster
from fewsolves.execution.registry import find, names
from fewsolves.oracle import SolveConfig

PROBLEM = fs.Problem(solve=abs, cost=max)


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, Serial),
        ({"workers": 2}, Processes),
        ({"time_limit": 3}, Processes),
        ({"memory_limit": 2**30}, Processes),
        ({"execution": "processes"}, Processes),
        ({"execution": "serial"}, Serial),
        ({"execution": "ray"}, Cluster),
        ({"execution": "head:6379"}, Cluster),
    ],
)
def test_registry_settings_choose_the_execution(settings, kind):
    assert type(SolveConfig(**settings).start(PROBLEM)) is kind


def test_registry_every_execution_of_the_library_is_known_by_name():
    assert {"serial", "processes", "ray"} <= set(names())


@pytest.mark.parametrize("address", ["head:6379", "10.0.0.7:6379", "[fe80::1]:6379", "ray://head.cluster:10001"])
def test_registry_an_address_is_a_cluster_to_join_with_ray(address):
    cluster = SolveConfig(execution=address, workers=3, time_limit=2.0).start(PROBLEM)
    assert (cluster.address, cluster.workers, cluster.limits["time_limit"]) == (address, 3, 2.0)


@pytest.mark.parametrize("name", ["kubernetes", "", "head:", ":6379", "head:port", "http://head:1", "a b:1"])
def test_registry_what_is_neither_a_name_nor_an_address_is_refused_with_what_there_is(name):
    with pytest.raises(InputError, match=rf"'auto', .*'processes', 'ray', 'serial'.* got {re.escape(repr(name))}"):
        SolveConfig(execution=name)


@pytest.fixture
def registered(monkeypatch):
    """Names that are given here are taken back afterwards."""
    monkeypatch.setattr("fewsolves.execution.registry._STARTS", {name: find(name) for name in names()})


class Mine(Serial):
    def __init__(self, problem, resources):
        super().__init__(problem)
        self.resources = resources


def test_registry_an_execution_of_ones_own_is_registered_and_gets_its_resources(registered):
    register("my-batch_queue2", Mine)
    made = SolveConfig(execution="my-batch_queue2", workers=7, memory_limit=5).start(PROBLEM)
    assert type(made) is Mine
    assert made.problem is PROBLEM
    assert made.resources == Resources(workers=7, memory_limit=5)


def test_registry_an_own_name_may_be_registered_again(registered):
    register("mine", Mine)
    register("mine", lambda problem, resources: Serial(problem))
    assert type(SolveConfig(execution="mine").start(PROBLEM)) is Serial


@pytest.mark.parametrize("name", ["auto", "serial", "processes", "ray", "dispatch"])
def test_registry_names_of_the_library_are_not_to_be_had(name, registered):
    with pytest.raises(InputError, match="is a name that fewsolves uses"):
        register(name, Mine)


@pytest.mark.parametrize("name", ["", "head:6379", "a b", "7", "../x"])
def test_registry_a_name_is_plain(name, registered):
    with pytest.raises(InputError, match="the name of an execution has letters"):
        register(name, Mine)


def test_registry_this_process_takes_no_workers_and_no_limits():
    for given in ({"workers": 2}, {"time_limit": 1.0}, {"memory_limit": 1}):
        with pytest.raises(InputError, match="takes no workers"):
            SolveConfig(execution="serial", **given)
        with pytest.raises(InputError, match="takes no workers"):
            find("serial")(PROBLEM, Resources(**given))
