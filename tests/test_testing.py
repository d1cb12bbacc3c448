"""The contract, on every method; and that it catches those who break it."""

import dataclasses

import numpy as np
import pytest
import torch

from fewsolves.losses.base import OracleLoss
from fewsolves.methods import METHODS, Method
from fewsolves.testing import CHECKS, check_calls, check_deterministic, check_gradient, check_labels, check_solves


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_the_contract(method, check):
    check(method)
