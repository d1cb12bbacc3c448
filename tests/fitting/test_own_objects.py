"""Runs in one folder whose objects compute something different are different runs."""

import dataclasses
import types
import weakref

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.fitting.own_objects import OwnObjects
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.prepare import prepare
from fewsolves.methods.registry import METHODS
from problems_of_users import NEWSVENDOR, demand_table

torch = pytest.importorskip("torch")
nn = torch.nn

X, Y = demand_table(30)
RATE = 2.0
TABLE = {"rate": 1.0}


def rated(x):
    return x * RATE


class Net(nn.Module):
    share = 1.0

    def __init__(self, attribute=1.0, buffer=1.0, frozen=False, hidden=0.0):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(X.shape[1], Y.shape[1])
        self.attribute, self.tensor = attribute, torch.ones(1)
        self.register_buffer("unsaved", torch.full((1,), buffer), persistent=False)
        self.not_registered = [nn.Linear(1, 1)]
        self.act = torch.relu
        with torch.no_grad():
            self.not_registered[0].bias += hidden
        if frozen:
            self.layer.bias.requires_grad_(False)

    def forward(self, x):
        return rated(self.act(self.layer(x)) * self.attribute + self.unsaved) * self.share * TABLE["rate"]


class Twice(Net):
    def forward(self, x):
        return 2 * super().forward(x)


Twice.__name__ = Twice.__qualname__ = "Net"  # as after an edit of the code


def with_tensor():
    net = Net()
    net.tensor[0] = 5.0
    return net


def with_hook():
    net = Net()
    net.register_forward_hook(lambda _, x, y: 3 * y)
    return net


def with_another_forward():
    net = Net()
    net.forward = types.MethodType(lambda self, x: self.layer(x), net)
    return net


def with_another_activation():
    net = Net()
    net.act = torch.tanh
    return net


MODULES = {
    "attribute": lambda: Net(attribute=2.0),
    "buffer that is not saved": lambda: Net(buffer=2.0),
    "frozen": lambda: Net(frozen=True),
    "module in a list": lambda: Net(hidden=1.0),
    "code of forward": Twice,
    "tensor": with_tensor,
    "hook": with_hook,
    "forward of one object": with_another_forward,
    "activation": with_another_activation,
}


def about(**options):
    return prepare(Plan(NEWSVENDOR, X, Y, **{"method": "pfl"} | options)).about


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("changed", MODULES)
def test_own_objects_modules_that_compute_something_else_are_other_runs(changed, wrapped):
    make = (lambda net: fs.Predictor(net)) if wrapped else (lambda net: net)
    assert about(predictor=make(Net())) == about(predictor=make(Net()))
    assert about(predictor=make(MODULES[changed]())) != about(predictor=make(Net()))


@pytest.mark.parametrize("place", ["global", "dict", "class"])
def test_own_objects_what_a_module_reads_counts(monkeypatch, place):
    before = about(predictor=Net())
    if place == "global":
        monkeypatch.setitem(globals(), "RATE", 3.0)
    elif place == "dict":
        monkeypatch.setitem(TABLE, "rate", 3.0)
    else:
        monkeypatch.setattr(Net, "share", 3.0)
    assert about(predictor=Net()) != before


def test_own_objects_settings_of_a_layer_that_are_not_in_its_text_count():
    def attention(heads):
        torch.manual_seed(0)
        return nn.ModuleList([nn.MultiheadAttention(4, heads)])

    assert repr(attention(1)) == repr(attention(2))
    assert OwnObjects.of({"predictor": attention(1)}) != OwnObjects.of({"predictor": attention(2)})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
def test_own_objects_that_were_used_are_the_same():
    net = Net()
    before = about(predictor=net)
    net.train()
    net(torch.ones(2, X.shape[1])).sum().backward()
    assert about(predictor=net) == before
    assert about(predictor=torch.compile(net)) == about(predictor=torch.compile(Net()))


class Own(type(METHODS["pfl"])):
    name, summary = "own", "a method of the user"

    def __init__(self, power):
        self.power = power


def test_own_objects_methods_of_the_user_count_and_those_of_fewsolves_do_not():
    assert about(method=Own(1)) == about(method=Own(1))
    assert about(method=Own(1)) != about(method=Own(2))
    assert not [name for name in about() if name.startswith("all of the")]


def test_own_objects_that_cannot_be_looked_into_are_named_when_a_run_is_started_again(tmp_path):
    net = Net()
    net.owner = weakref.ref(Net)
    plan = Plan(NEWSVENDOR, X, Y, method="pfl", predictor=net, folder=tmp_path, settings={"start_epochs": 1})
    fs.fit(plan)
    with pytest.warns(fs.FewsolvesWarning, match=r"not everything in .* predictor.owner \(ReferenceType\)"):
        fs.fit(plan)


def test_own_objects_a_finished_run_does_not_come_back_for_another_module(tmp_path):
    def predicted(net):
        options = {"predictor": net, "folder": tmp_path, "verbose": False, "settings": {"start_epochs": 1}}
        return fs.DecisionRegressor(NEWSVENDOR, "pfl", **options).fit(X, Y).predict(X)

    first = predicted(Net())
    assert np.abs(predicted(Net(attribute=7.0)) - first).max() > 1
    assert (predicted(Net()) == first).all()


def test_own_objects_groups_and_given_validation_rows_identify_a_run_that_cross_fits():
    drawn = about(method="staged")
    split = prepare(Plan(NEWSVENDOR, X, Y, method="staged")).split
    assert about(method="staged", validation=split.valid) != drawn
    assert about(method="staged", split=split) == about(method="staged", validation=split.valid)
    halves, thirds = np.arange(30) // 15, np.arange(30) // 10
    assert about(method="staged", split=split, groups=halves) != about(method="staged", split=split, groups=thirds)
    texts = np.array(["a", "b"], dtype=object)[halves]
    assert about(method="staged", split=split, groups=halves) == about(method="staged", split=split, groups=texts)


def test_own_objects_feasible_counts_with_what_it_reads_and_so_does_linear():
    def of(limit, **options):
        limits = {"most": limit}
        problem = dataclasses.replace(NEWSVENDOR, feasible=lambda z, _: z.sum() < limits["most"], **options)
        return prepare(Plan(problem, X, Y, method="staged")).about

    assert of(5.0) == of(5.0) != of(6.0)
    assert of(5.0, version="a") == of(6.0, version="a"), "with a version, only its code counts"
    assert of(5.0, linear="min") != of(5.0)
