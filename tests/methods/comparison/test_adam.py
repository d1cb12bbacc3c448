"""The kernels of torch's Adam without its class, and one thread for small work."""

import subprocess
import sys

import pytest
import torch

from fewsolves.methods.comparison.adam import MIN_WORK_FOR_THREADS, Adam, ThreadsFor

pytestmark = pytest.mark.portable


def parameters():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in ((9, 5), (9,))]


@pytest.mark.parametrize("fused", [True, False])
def test_adam_of_comparisons_has_the_numbers_of_torch(fused):
    ours, theirs = parameters(), parameters()
    adam, referee = Adam(ours, 0.01, fused=fused), torch.optim.Adam(theirs, lr=0.01, fused=fused)
    for step in range(20):
        for parameter in (*ours, *theirs):
            parameter.grad = torch.sin(7 * parameter.detach() + step)
        adam.step()
        referee.step()
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True)), step


def test_adam_of_comparisons_does_not_import_the_compiler_of_torch():
    code = """
import sys, torch
from fewsolves.methods.comparison.adam import Adam
w = torch.ones(3, requires_grad=True)
adam = Adam([w], 0.1)
w.sum().backward()
adam.step()
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("work, threads", [(MIN_WORK_FOR_THREADS - 1, 1), (MIN_WORK_FOR_THREADS, 3)])
def test_threads_are_for_large_work_and_given_back(work, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with pytest.raises(KeyError), ThreadsFor(work):
            assert torch.get_num_threads() == threads
            raise KeyError
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
