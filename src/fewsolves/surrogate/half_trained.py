"""Model-based sampling (Shah et al., 2024): the errors that models really make, on their way through training.

X (n, n_x), Y (n, d)     training rows
points (K, n, d)         what K half-trained models predict for them; the first of each run is not trained at all
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from fewsolves.predictor import Predictor
from fewsolves.problem import Array


def half_trained(
    redraw: Callable[..., Predictor],
    X: Array,
    Y: Array,
    *,
    runs: Sequence[int],
    learning_rate: float,
    steps: int,
    even_in: Literal["steps", "loss"],
    rng: np.random.Generator,
) -> Array:
    """Points from `len(runs)` trainings, `runs[k]` of them from the k-th; `redraw(seed=)` gives a model to train.

    They are spaced evenly in steps, or in the loss: late models of a run hardly differ.
    """
    x, y = torch.as_tensor(X), torch.as_tensor(Y)
    parts = []
    for count in runs:
        model = redraw(seed=int(rng.integers(2**63)))
        predictions, losses = _train(model, x, y, learning_rate, max(steps, count))
        levels = np.arange(len(losses), dtype=float) if even_in == "steps" else -losses
        parts.append(predictions[_evenly(levels, count)])
    return torch.cat(parts).numpy()


def _train(model: Predictor, x: Tensor, y: Tensor, learning_rate: float, steps: int) -> tuple[Tensor, Array]:
    """Predictions (steps, n, d) before each full-batch step on the squared error, and the losses (steps,)."""
    adam = torch.optim.Adam(model.parameters(), lr=learning_rate, fused=True)
    predictions, losses = [], []
    for _ in range(steps):
        adam.zero_grad()
        y_hat = model(x)
        loss = ((y_hat - y) / model.y_std).square().mean()
        loss.backward()
        adam.step()
        predictions.append(y_hat.detach())
        losses.append(float(loss.detach()))
    return torch.stack(predictions), np.array(losses)


def _evenly(levels: Array, count: int) -> Array:
    """`count` distinct positions at which the running maximum of `levels` passes evenly spaced heights."""
    heights = np.linspace(levels[0], levels.max(), count)
    found = np.searchsorted(np.maximum.accumulate(levels), heights)
    least, most = np.arange(count), len(levels) - count + np.arange(count)
    return np.minimum(np.maximum.accumulate(np.maximum(found - least, 0)) + least, most)  # each beyond the one before
