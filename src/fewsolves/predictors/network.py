"""The family "network": two hidden layers of SiLU units, shared by items where x has any."""

from __future__ import annotations

from typing import Any

from fewsolves.predictors.family import PredictorFamily
from fewsolves.predictors.items import arranged, forms_of
from fewsolves.predictors.net import Net
from fewsolves.predictors.predictor import network


class Network(PredictorFamily):
    """Two hidden layers of SiLU units."""

    known_as = forms_of("network")
    refits = True

    def net(self, given: Any, name: str, shape: tuple[int, ...], n_y: int, seed: int | None) -> Net:
        return arranged(network, name, shape, n_y, seed)


FAMILY = Network()
