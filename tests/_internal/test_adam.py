"""The numbers of torch's own Adam, to the last bit, without what its class brings along."""

import subprocess
import sys

import pytest
import torch

from fewsolves._internal.adam import Adam

pytestmark = pytest.mark.portable


def parameters():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in ((9, 5), (9,))]


def slope(parameter, step):
    """Some gradient; the second parameter has none at every third step."""
    return None if parameter.ndim == 1 and step % 3 == 0 else torch.sin(7 * parameter.detach() + step)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("eps", [1e-8, 1e-30])
def test_adam_the_numbers_are_those_of_torch(fused, eps):
    ours, theirs = parameters(), parameters()
    adam, referee = Adam(ours, 0.01, eps=eps, fused=fused), torch.optim.Adam(theirs, lr=0.01, eps=eps, fused=fused)
    for step in range(50):
        adam.learning_rate = referee.param_groups[0]["lr"] = 0.01 / (1 + step)
        for parameter in (*ours, *theirs):
            parameter.grad = slope(parameter, step)
        adam.step()
        referee.step()
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True)), step


def test_adam_a_restored_one_goes_on_as_before():
    ours, again = parameters(), parameters()
    adam = Adam(ours, 0.01)
    for step in range(5):
        if step == 3:
            for there, here in zip(again, ours, strict=True):
                there.data.copy_(here.data)
            restored = Adam(again, 0.01)
            restored.restore({k: {name: value.clone() for name, value in one.items()} for k, one in adam.state.items()})
        for parameter in ours:
            parameter.grad = slope(parameter, step)
        adam.step()
        if step >= 3:
            for parameter in again:
                parameter.grad = slope(parameter, step)
            restored.step()
    assert all(torch.equal(a, b) for a, b in zip(ours, again, strict=True))


def test_adam_gradients_are_forgotten_and_nothing_moves_without_one():
    ours = parameters()
    adam, before = Adam(ours, 0.01), [one.detach().clone() for one in ours]
    ours[0].grad = slope(ours[0], 1)
    adam.zero_grad()
    adam.step()
    assert all(torch.equal(a, b) for a, b in zip(ours, before, strict=True)) and not adam.state


def test_adam_a_step_does_not_import_the_compiler_of_torch():
    code = """
import sys, torch
from fewsolves._internal.adam import Adam
w = torch.ones(3, requires_grad=True)
adam = Adam([w], 0.1)
w.sum().backward()
adam.step()
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
