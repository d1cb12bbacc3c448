import numpy as np
import pytest
import torch

from fewsolves.predictors.torch_net import seeded
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.real.pjm import OVER, RAMP, UNDER, hourly_costs
from fewsolves_studies.benchmarks.real.ramped_schedule import schedules
from fewsolves_studies.real.published_nets import SHUFFLED, ResidualNet, costs_of_net, task_net


@pytest.fixture(scope="module")
def dataset():
    return load("pjm-schedule", train_days=600, test_days=100)


def test_published_nets_a_network_begins_at_least_squares():
    X, noise = torch.randn(50, 3), torch.randn(50, 2)
    Y = X @ torch.randn(3, 2) + 0.1 * noise
    net = ResidualNet(X, Y)
    design = np.column_stack([X, np.ones(50)])
    expected = design @ np.linalg.lstsq(design, Y.numpy(), rcond=None)[0]
    np.testing.assert_allclose(net.line(X).detach(), expected, atol=1e-4)


def test_published_nets_training_through_the_schedule_lowers_what_it_costs(dataset):
    X = torch.as_tensor(dataset.X[dataset.split.train], dtype=torch.float32)
    X, Y = (X - X.mean(0)) / X.std(0), torch.as_tensor(dataset.Y[dataset.split.train], dtype=torch.float32)
    start, trained = (seeded(lambda steps=steps: task_net(X, Y, steps=steps, start=40), 0) for steps in (0, 40))
    cost = [
        hourly_costs(Y.numpy(), net.eval().schedule(X).detach().numpy()).sum(axis=1).mean() for net in (start, trained)
    ]
    assert cost[1] < 0.98 * cost[0]
    assert (trained.spread != start.spread).all(), "the spread is trained too"


def test_published_nets_every_network_predicts_every_day(dataset):
    assert np.isfinite(costs_of_net("RMSE net", dataset, steps=4)).all()
    assert np.isfinite(costs_of_net("task net", dataset, steps=4, start=4)).all()
    in_order, shuffled = (costs_of_net(name, dataset, rounds=2, epochs=2) for name in ("weighted RMSE net", SHUFFLED))
    assert np.isfinite(in_order).all() and np.isfinite(shuffled).all() and (in_order != shuffled).any()


def test_published_nets_under_a_spread_of_one_every_hour_weighs_about_the_same():
    load = np.full((1, 24), 1.7)
    plan = schedules(load, np.ones(24), UNDER, OVER, RAMP)[0]
    weights = np.concatenate([hourly_costs(load + error, plan) for error in (-0.1, 0.0, 0.1)])
    assert weights.max() < 1.25 * weights.min(), "errors of a tenth, larger than most"
