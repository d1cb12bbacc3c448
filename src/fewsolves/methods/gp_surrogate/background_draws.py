"""Asynchronous solves of the GP surrogate: the draws of `Acquire`, solved in the background while training continues.

An example has at most one request under way, and training is never more than an epoch ahead: what was sent before
the last epoch has landed when the next begins. So as many solves are paid as in the synchronous mode, a little later,
by workers that need not wait for the end of each mini-batch.
"""

from __future__ import annotations

import numpy as np

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.fallback import Noise
from fewsolves.methods.gp_surrogate.surrogate.regret import RegretSurrogate
from fewsolves.oracle import Oracle
from fewsolves.oracle.background_solves import BackgroundSolves, SentPoint
from fewsolves.problem import Array


class InFlight:
    """Sends draws around predictions, and hands what lands to the surrogate."""

    def __init__(self, oracle: Oracle, noise: Noise) -> None:
        self.noise, self.solves = noise, BackgroundSolves(oracle)
        self.under_way = np.zeros(len(oracle), dtype=bool)
        self._epoch = 0

    def send(self, u: Array, rows: Array) -> None:
        """A draw near each u (B, d), for these examples."""
        draw, scale = self.noise.draw(u), self.noise.scale
        drawn = zip(rows, draw.point * scale, u * scale, strict=True)
        width = draw.sigma * scale
        self.solves.send([SentPoint(int(row), y_hat, self._epoch, centre, width) for row, y_hat, centre in drawn])
        self.under_way[rows] = True

    def begin_epoch(self, surrogate: RegretSurrogate) -> None:
        """Wait for what was sent before the last epoch."""
        self.solves.wait(self._epoch)
        self._epoch += 1
        self.collect(surrogate)

    def collect(self, surrogate: RegretSurrogate) -> None:
        """The surrogate learns from what has landed."""
        landed = self.solves.landed()
        self.under_way[[request.row for request, _ in landed]] = False
        usable = [(request, regret) for request, regret in landed if np.isfinite(regret)]
        if usable:
            requests, regret = zip(*usable, strict=True)
            rows, y_hat, _, centre, sigma = (np.stack(column) for column in zip(*requests, strict=True))
            scale = self.noise.scale
            surrogate.samples.add(rows, y_hat / scale, regret, centre / scale, sigma / scale)
            surrogate.learn()

    def finish(self, surrogate: RegretSurrogate) -> None:
        """Wait for everything."""
        self.solves.wait()
        self.collect(surrogate)


def refuse(fallback: str, correction: float) -> None:
    """Raise where the loss needs the answer of a solve at once."""
    if fallback != "acquire" or correction:
        raise InputError(
            "asynchronous solves need fallback='acquire' and correction=0: other fallbacks take their gradient "
            "from the answer of the solve, and have to wait for it"
        )
