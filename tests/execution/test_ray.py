"""What can be checked without a cluster; with one: faults/test_cluster.py."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import cloudpickle
import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import InputError
from fewsolves.execution import ray as ray_module
from fewsolves.execution.ray import Cluster, _Actor, _connect, _import_ray

ROWS, Y = np.arange(3), np.arange(6.0).reshape(3, 2)


def test_ray_without_ray_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'fewsolves\[ray\]'"):
        next(Cluster(fs.Problem(solve=abs, cost=max), 1).solve(ROWS, Y))


class FakeRay:
    """As far as connecting goes."""

    def __init__(self, ip):
        self.util, self.inits = SimpleNamespace(get_node_ip_address=lambda: ip), []

    def init(self, **given):
        self.inits.append(given)


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """An environment and a home that know nothing of Ray, which is not imported yet."""
    for name in [name for name in os.environ if name.startswith("RAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(os, "environ", dict(os.environ))
    real = sys.modules.pop("ray", None)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    (tmp_path / "ray.py").write_text("")
    yield os.environ
    sys.modules.pop("ray", None)  # the empty one, which the tests of a cluster would find
    if real is not None:
        sys.modules["ray"] = real


def cluster_settings(environment):
    return {name: value for name, value in environment.items() if name.startswith("RAY_")}


def test_ray_a_cluster_of_our_own_is_set_up_before_ray_is_imported(environment):
    _import_ray("ray")
    token = environment.pop("RAY_AUTH_TOKEN")
    assert len(token) == 64
    assert cluster_settings(environment) == {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_AUTH_MODE": "token",
    }


def test_ray_a_token_that_the_user_has_is_taken(environment, tmp_path):
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("mine")
    _import_ray("ray")
    assert "RAY_AUTH_TOKEN" not in environment


@pytest.mark.parametrize("address", ["head:6379", "ray"])
def test_ray_a_cluster_of_others_is_joined_as_the_user_has_set_it_up(environment, address):
    if address == "ray":
        environment["RAY_ADDRESS"] = "head:6379"
    before = cluster_settings(environment)
    _import_ray(address)
    assert cluster_settings(environment) == before
    fake = FakeRay("10.0.0.7")
    assert _connect(fake, address, 2) is False
    assert fake.inits[0]["address"] == (None if address == "ray" else address)


def test_ray_a_cluster_of_our_own_is_started_on_the_loopback_interface(environment):
    fake = FakeRay("127.0.0.1")
    assert _connect(fake, "ray", 2) is True
    (given,) = fake.inits
    assert (given["address"], given["num_cpus"], given["_node_ip_address"]) == ("local", 2, "127.0.0.1")
    assert given["include_dashboard"] is False


def test_ray_that_was_imported_too_early_starts_no_open_cluster(environment):
    fake = FakeRay("10.0.0.7")
    with pytest.raises(InputError, match="would listen on all network interfaces"):
        _connect(fake, "ray", 2)
    assert fake.inits == []


def test_ray_nothing_private_of_ray_is_imported():
    assert "_private" not in Path(ray_module.__file__).read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="worker processes need Linux or macOS")
def test_ray_what_a_user_should_know_comes_back_from_the_actor():
    def solve(y):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        return y

    problem = fs.Problem(solve=solve, cost=lambda y, z: 0.0)
    actor = _Actor((cloudpickle.dumps(problem), {}, []))
    try:
        answers, noticed = actor.run("solve", ROWS, [Y])
    finally:
        actor.processes.close()
    assert sum(len(some.at) for some in answers) == 3
    assert ["also returns from it" in said for said in noticed] == [True]
