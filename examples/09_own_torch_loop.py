"""Orders in whole pallets cost less after a torch loop of your own, with a surrogate as
its loss.

You choose the network, the optimiser and the schedule:

    loss.start(y_hat)        pays for a few points around the predictions of each row
    loss(y_hat, index)       a scalar to differentiate; pays where it is not sure
    loss.begin_epoch()       refits the Gaussian processes

Run: python examples/09_own_torch_loop.py
"""

import copy

import numpy as np
import torch
from torch import nn

import fewsolves as fs

GOODS = 3


def order(demand):
    """Whole pallets of ten."""
    return 10 * np.ceil(np.maximum(demand, 0.0) / 10)


def true_cost(demand, ordered):
    """Storage, lost sales, and spoilage of what is left beyond fifty."""
    left = np.maximum(ordered - demand, 0.0)
    lost, spoiled = np.maximum(demand - ordered, 0.0), np.maximum(left - 50, 0.0)
    return float(np.sum(left + 6 * lost + 2 * spoiled))


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    demand = 40 + 12 * X[:, :3] + rng.gamma(1.5, 12.0, size=(n, GOODS))
    return X, np.maximum(demand, 0.0)


PROBLEM = fs.Problem(solve=order, cost=true_cost, name="pallets")


class Network(nn.Sequential):
    """What `fs.compare` needs is `predict`."""

    def predict(self, X):
        with torch.no_grad():
            return self(torch.as_tensor(X)).numpy()


def main(rows=300, epochs=15):
    (X, Y), (X_new, Y_new) = table(rows, seed=0), table(rows, seed=1)
    torch.manual_seed(0)
    net = Network(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, GOODS)).double()
    x, y = torch.as_tensor(X), torch.as_tensor(Y)

    optimiser = torch.optim.AdamW(net.parameters(), lr=0.01)
    for _ in range(300):  # first the ordinary way: least squares
        optimiser.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        optimiser.step()
    plain = copy.deepcopy(net)

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
    print(f"{loss.oracle.calls.total()} solves paid")
    loss.oracle.close()
    models = {"least squares": plain, "gp-surrogate": net}
    compared = fs.compare(models, X_new, Y_new, problem=PROBLEM)
    print(compared)
    return compared


if __name__ == "__main__":
    fs.plot.compare(main()).savefig("own_torch_loop.png")
