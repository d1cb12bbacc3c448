"""The surrogate as a loss in a torch loop of your own, with a network, an optimiser and a schedule that you choose.

    loss.start(y_hat)        pays for a few points around the predictions of each row
    loss(y_hat, index)       a scalar to differentiate; pays where the surrogate is not sure
    loss.begin_epoch()       refits the Gaussian processes

Run: python examples/09_own_torch_loop.py
"""

import numpy as np
import torch
from torch import nn

import fewsolves as fs

GOODS = 3


def order(demand):
    """Whole pallets of ten."""
    return 10 * np.ceil(np.maximum(demand, 0.0) / 10)


def true_cost(demand, ordered):
    """Storage for what is left, lost sales for what is missing, and spoilage beyond fifty."""
    left = np.maximum(ordered - demand, 0.0)
    return float(np.sum(left + 6 * np.maximum(demand - ordered, 0.0) + 2 * np.maximum(left - 50, 0.0)))


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.maximum(40 + 12 * X[:, :3] + rng.gamma(1.5, 12.0, size=(n, GOODS)), 0.0)


PROBLEM = fs.Problem(solve=order, cost=true_cost, name="pallets")


def mean_regret(net, X, Y):
    with torch.no_grad():
        y_hat = net(torch.as_tensor(X)).numpy()
    return fs.Oracle(PROBLEM, Y).regret(np.arange(len(Y)), y_hat, phase="test").mean()


def main(rows=300, epochs=15):
    (X, Y), (X_new, Y_new) = table(rows, seed=0), table(rows, seed=1)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, GOODS)).double()
    x, y = torch.as_tensor(X), torch.as_tensor(Y)

    optimiser = torch.optim.AdamW(net.parameters(), lr=0.01)
    for _ in range(300):  # first the ordinary way: least squares
        optimiser.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimiser.step()
    print(f"least squares  regret {mean_regret(net, X_new, Y_new):6.2f}")

    loss = fs.GPSurrogateLoss(PROBLEM, Y, seed=0)
    loss.start(net(x))
    optimiser = torch.optim.AdamW(net.parameters(), lr=0.003)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    for _ in range(epochs):
        loss.begin_epoch()
        for index in torch.randperm(len(x)).split(32):
            optimiser.zero_grad()
            loss(net(x[index]), index).backward()
            optimiser.step()
        schedule.step()
    paid = loss.oracle.calls.total()
    print(f"gp-surrogate   regret {mean_regret(net, X_new, Y_new):6.2f}   solves paid {paid:6d}")
    loss.oracle.close()


if __name__ == "__main__":
    main()
