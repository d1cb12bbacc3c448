"""What is compiled ahead is all that there is to compile."""

import pkgutil
from importlib import import_module

import numpy as np
import pytest
import torch

import fewsolves as fs
from fewsolves.methods.gp_surrogate import gp, surrogate
from fewsolves.methods.gp_surrogate.config import PAPER
from fewsolves.methods.gp_surrogate.surrogate.compiling import compile_all


def compiled():
    """The kinds of arguments for which each function of the two folders has machine code."""
    parts = [(folder.__name__, pkgutil.iter_modules(folder.__path__)) for folder in (gp, surrogate)]
    names = [f"{folder}.{module.name}" for folder, modules in parts for module in modules]
    contents = [vars(import_module(name)).values() for name in names]
    return {one: tuple(one.overloads) for content in contents for one in content if hasattr(one, "overloads")}


@pytest.mark.parametrize("config", [fs.GPSurrogateConfig(), PAPER], ids=["default", "paper"])
def test_compiling_a_loss_compiles_nothing_after_that(config):
    compile_all()
    before, Y = compiled(), np.random.default_rng(0).normal(size=(12, 3))
    problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: float(np.abs(y - z).sum()))
    loss, index = fs.GPSurrogateLoss(problem, Y, config), torch.arange(12)
    loss.start(torch.as_tensor(Y + 1.0))
    for _ in range(3):
        loss.begin_epoch()
        loss(torch.as_tensor(Y + 0.5).requires_grad_(), index).backward()
    loss.state()
    assert compiled() == before
