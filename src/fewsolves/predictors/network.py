"""The family "network": two hidden layers of SiLU units."""

from __future__ import annotations

from typing import Any

from torch import nn

from fewsolves.predictors.family import PredictorFamily
from fewsolves.predictors.predictor import network


class Network(PredictorFamily):
    """Two hidden layers of SiLU units."""

    refits = True

    def accepts(self, given: Any) -> bool:
        return isinstance(given, str) and given == "network"

    def blank(self, given: Any, name: str, n_x: int, n_y: int) -> nn.Module:
        return network(n_x, n_y, seed=0)

    def net(self, given: Any, n_x: int, n_y: int, seed: int) -> nn.Module:
        return network(n_x, n_y, seed=seed)


FAMILY = Network()
