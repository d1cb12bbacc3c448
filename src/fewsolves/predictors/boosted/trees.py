"""Boosting rounds that are trained for decisions, on top of a prediction-focused booster.

f (B, n_y)  forecasts of the booster, in standard deviations of y from its mean     c (B, n_c)  context, standardised
t           a round: one tree for each output, of depth DEPTH, over (c, f)          G (M, n_y)  slopes of the losses

    y_hat = f + b + sum_t h_t(c, f)         h_t fitted to -G at the y_hat of the rounds before, then made one step long

A round is an epoch: the method's slopes of all training rows, in batches of any size, are one custom
objective with a constant second derivative. Methods give slopes in any unit, so what a round changes is as long as the
step says, root mean square over rows and outputs. Trees are kept as arrays: saved without pickle, and used without the
library that grew them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from fewsolves.predictors.boosted.arrays import DEPTH, INNER, LEAVES
from fewsolves.predictors.predictor import Predictor

LIBRARIES = ("xgboost", "lightgbm")
LEAST, LARGE = 10, 10  # rows in a leaf of a round, at the least, and a tenth of all: slopes are noisier than truths
BOOSTER = "booster."  # before the names of arrays that hold the prediction-focused one


def booster(library: str) -> Any:
    """The prediction-focused one, as a regressor that is not fitted yet."""
    from fewsolves.predictors.boosted.booster import TreeBooster, library_of

    library_of(library)
    return TreeBooster(library)


TREES = ("feature", "threshold", "leaf")  # the arrays of all rounds


class BoostedTrees(nn.Module):
    """Takes standardised context and forecasts side by side; gives forecasts, a shift, and what the rounds add."""

    feature: Tensor  # (T, n_y, INNER)
    threshold: Tensor  # (T, n_y, INNER)
    leaf: Tensor  # (T, n_y, LEAVES)

    def __init__(self, n_context: int, n_y: int, library: str) -> None:
        super().__init__()
        self.n_context, self.n_y, self.library = n_context, n_y, library
        self.shift = nn.Parameter(torch.zeros(n_y, dtype=torch.float64))
        self.register_buffer("feature", torch.empty((0, n_y, INNER), dtype=torch.int64))
        self.register_buffer("threshold", torch.empty((0, n_y, INNER), dtype=torch.float32))
        self.register_buffer("leaf", torch.empty((0, n_y, LEAVES), dtype=torch.float64))

    def forward(self, u: Tensor) -> Tensor:
        y_hat: Tensor = u[:, -self.n_y :] + self.shift
        for feature, threshold, leaf in zip(self.feature, self.threshold, self.leaf, strict=True):
            y_hat = y_hat + _grown(u, feature, threshold, leaf)
        return y_hat

    def add(self, feature: Tensor, threshold: Tensor, leaf: Tensor) -> None:
        """One more round."""
        self.feature = torch.cat([self.feature, feature[None]])
        self.threshold = torch.cat([self.threshold, threshold[None]])
        self.leaf = torch.cat([self.leaf, leaf[None]])

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *others: Any) -> None:
        """Make room for the rounds of the file, and check them, since a file may hold anything."""
        parts = [state_dict.get(prefix + name) for name in TREES]
        if all(part is not None and part.ndim == 3 for part in parts):
            for name, part in zip(TREES, parts, strict=True):
                now = getattr(self, name)
                setattr(self, name, now.new_empty((len(parts[0]), *now.shape[1:])))
                if name == "feature" and part.numel() and not 0 <= part.min() <= part.max() < self.n_context + self.n_y:
                    raise ValueError(f"a tree refers to a column beyond the {self.n_context + self.n_y} that there are")
        super()._load_from_state_dict(state_dict, prefix, *others)


def _grown(u: Tensor, feature: Tensor, threshold: Tensor, leaf: Tensor) -> Tensor:
    """(B, n_y): what the trees of one round say."""
    x, outputs = u.float(), torch.arange(len(leaf))  # libraries compare in single precision
    node = torch.zeros((len(u), len(leaf)), dtype=torch.int64)
    for _ in range(DEPTH):
        goes_right = x.gather(1, feature[outputs, node]) >= threshold[outputs, node]
        node = 2 * node + 1 + goes_right.long()
    return leaf[outputs, node - INNER]


class Rounds:
    """Grows the rounds of a predictor from slopes at its training rows X (M, n_c + n_y)."""

    def __init__(self, predictor: Predictor, X: Tensor) -> None:
        from fewsolves.predictors.boosted.booster import library_of  # needs an extra, and scikit-learn

        net = predictor.net
        assert isinstance(net, BoostedTrees)
        self.net, self.std = net, predictor.y_std
        self.u = (X - predictor.x_mean) / predictor.x_std
        self.grower = library_of(net.library).grower(self.u.numpy(), max(LEAST, len(X) // LARGE))
        self._begin()

    def _begin(self) -> None:
        self.slopes = torch.zeros((len(self.u), self.net.n_y), dtype=torch.float64)
        self.seen = torch.zeros(len(self.u), dtype=torch.float64)

    def note(self, index: Tensor, slope: Tensor) -> None:
        """Slopes (B, n_y) of the sum of losses of these rows."""
        self.slopes[index] += slope.detach()
        self.seen[index] += 1

    def grow(self, step: float) -> None:
        """Add a round that changes predictions by `step` standard deviations of y, and clear the slopes."""
        slopes, known = self.slopes * self.std / self.seen.clamp(min=1)[:, None], self.seen > 0
        self._begin()
        size = slopes.square().mean().sqrt()
        if not size > 0 or not size.isfinite():
            return
        trees = self.grower((slopes / size).numpy(), known.double().numpy())
        feature, threshold, leaf = (torch.as_tensor(part) for part in trees)
        change = _grown(self.u[known], feature, threshold, leaf).square().mean().sqrt()
        if change > 0:
            self.net.add(feature, threshold, leaf * (step / change))


def rounds_of(predictor: Predictor, X: Tensor) -> Rounds | None:
    """The `Rounds` of a predictor of trees; None for any other."""
    return Rounds(predictor, X) if isinstance(predictor.net, BoostedTrees) else None


def interpolate_states(before: dict[str, Tensor], after: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """Interpolate between two states of one predictor; rounds that only `after` has are scaled by `share`."""
    state = {}
    for name, end in after.items():
        start = before[name]
        if start.shape != end.shape:
            rest = end[len(start) :]
            start = torch.cat([start, torch.zeros_like(rest) if name.endswith("leaf") else rest])
        state[name] = start + share * (end - start) if end.is_floating_point() else end
    return state
