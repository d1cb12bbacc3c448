"""A network that reads maps leads to quicker paths when a torch loop of your own trains
it for them.

A map of 24 x 24 pixels shows four kinds of ground. Crossing a square of 4 x 4 pixels
takes a time that depends on the ground in the square. The network predicts the times of
the 6 x 6 squares; the decision is the quickest path from one corner to the other.

    loss(y_hat, index)       a scalar to differentiate; pays up to `solves=`

Run: python examples/13_images_own_torch_loop.py
"""

import copy
import heapq

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import fewsolves as fs

SIDE, PIXELS, KINDS = 6, 4, 4
TIMES = np.array([1.0, 2.5, 5.0, 9.0])  # of crossing one kind of ground
MOVES = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if (r, c) != (0, 0)]


def quickest_path(times):
    """Dijkstra from the first square to the last: 1 for each square on the path."""
    times = times.reshape(SIDE, SIDE)
    best, before, queue = {(0, 0): times[0, 0]}, {}, [(times[0, 0], (0, 0))]
    while queue:
        total, (r, c) = heapq.heappop(queue)
        if total > best[r, c]:
            continue
        for at in ((r + dr, c + dc) for dr, dc in MOVES):
            inside = 0 <= at[0] < SIDE and 0 <= at[1] < SIDE
            if inside and total + times[at] < best.get(at, np.inf):
                best[at], before[at] = total + times[at], (r, c)
                heapq.heappush(queue, (best[at], at))
    path, at = np.zeros((SIDE, SIDE)), (SIDE - 1, SIDE - 1)
    while at != (0, 0):
        path[at], at = 1.0, before[at]
    path[0, 0] = 1.0
    return path.ravel()


def time_needed(times, path):
    return float(times @ path)


PROBLEM = fs.Problem(
    solve=quickest_path, cost=time_needed, lower=0.1, name="quickest path"
)


def maps(n, seed):
    """Images (n, KINDS, 24, 24), and the times (n, 36) of their squares."""
    rng = np.random.default_rng(seed)
    smooth = nn.AvgPool2d(7, stride=1, padding=3)(
        torch.as_tensor(rng.normal(size=(n, KINDS, 24, 24)))
    )
    kind = smooth.argmax(dim=1).numpy()
    image = np.eye(KINDS)[kind].transpose(0, 3, 1, 2)
    ground = TIMES[kind].reshape(n, SIDE, PIXELS, SIDE, PIXELS).mean(axis=(2, 4))
    squares = image.reshape(n, KINDS, SIDE, PIXELS, SIDE, PIXELS)
    mixed = squares.mean(axis=(3, 5)).max(axis=1)  # 1: of one kind
    times = ground * (1 + 2 * (1 - mixed)) * rng.uniform(0.7, 1.3, size=ground.shape)
    return torch.as_tensor(image, dtype=torch.float32), times.reshape(n, -1)


class Network(nn.Sequential):
    """What `fs.compare` needs is `predict`."""

    def predict(self, images):
        with torch.no_grad():
            return self(torch.as_tensor(images)).double().numpy()


def network():
    return Network(
        nn.Conv2d(KINDS, 4, PIXELS, stride=PIXELS),
        nn.ReLU(),
        nn.Conv2d(4, 1, 1),
        nn.Softplus(),
        nn.Flatten(),
    )


def main(rows=300, epochs=20):
    (x, Y), (x_new, Y_new) = maps(rows, seed=0), maps(300, seed=1)
    torch.manual_seed(0)
    net, y = network(), torch.as_tensor(Y, dtype=torch.float32)
    batches = DataLoader(
        TensorDataset(x, y, torch.arange(rows)), batch_size=32, shuffle=True
    )

    optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(4 * epochs):  # first the ordinary way: least squares
        for images, times, _ in batches:
            optimiser.zero_grad()
            nn.functional.mse_loss(net(images), times).backward()
            optimiser.step()
    plain = copy.deepcopy(net)

    loss = fs.DecisionLoss(PROBLEM, Y, solves=4, epochs=epochs)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    for _ in range(epochs):
        for images, _, index in batches:
            optimiser.zero_grad()
            loss(net(images), index).backward()
            optimiser.step()
        schedule.step()
    print(f"{loss.calls.total()} solves paid")
    loss.oracle.close()
    models = {"least squares": plain, "decision loss": net}
    compared = fs.compare(models, x_new.numpy(), Y_new, problem=PROBLEM)
    print(compared)
    return compared


if __name__ == "__main__":
    fs.plot.compare(main()).savefig("images_own_torch_loop.png")
