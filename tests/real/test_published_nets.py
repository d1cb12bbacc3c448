import numpy as np
import pytest
import torch

from fewsolves.benchmarks.catalogue import load
from fewsolves.real.published_nets import ResidualNet, costs_of_net


@pytest.fixture(scope="module")
def dataset():
    return load("pjm-schedule", train_days=200, test_days=100)


def test_a_network_begins_at_least_squares():
    X, noise = torch.randn(50, 3), torch.randn(50, 2)
    Y = X @ torch.randn(3, 2) + 0.1 * noise
    net = ResidualNet(X, Y)
    design = np.column_stack([X, np.ones(50)])
    expected = design @ np.linalg.lstsq(design, Y.numpy(), rcond=None)[0]
    np.testing.assert_allclose(net.line(X).detach(), expected, atol=1e-4)


def test_training_through_the_schedule_costs_less_than_least_squares(dataset):
    rmse = costs_of_net("RMSE net", dataset, steps=40).mean()
    assert costs_of_net("task net", dataset, steps=40, start=40).mean() < rmse
    assert np.isfinite(costs_of_net("weighted RMSE net", dataset, rounds=2, epochs=2)).all()
