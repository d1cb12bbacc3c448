"""Intervals of a mean over days that follow each other: the block bootstrap, paired by day.

d (n,)  differences of cost, day by day; neighbouring days resemble each other, so blocks of a week are drawn whole
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fewsolves.problem import Array

BLOCK, DRAWS = 7, 4000


class Interval(NamedTuple):
    """A mean and where it lies with 95 %."""

    mean: float
    low: float
    high: float


def interval(values: Array, *, block: int = BLOCK, draws: int = DRAWS, seed: int = 0) -> Interval:
    """Of the mean of `values`; blocks run round the end."""
    n = len(values)
    width = min(block, n)
    starts = np.random.default_rng(seed).integers(0, n, (draws, -(-n // width)))
    sums = np.concatenate([[0.0], np.cumsum(np.concatenate([values, values[:width]]))])
    blocks = (sums[starts + width] - sums[starts]) / width
    low, high = np.quantile(blocks.mean(axis=1), [0.025, 0.975])
    return Interval(float(np.mean(values)), float(low), float(high))
