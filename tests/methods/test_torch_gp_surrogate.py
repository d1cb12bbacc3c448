"""The torch loss of the GP surrogate is the NumPy one: the training loop computes the same with either."""

import numpy as np
import pytest
import torch

import fewsolves as fs
from fewsolves.data import split_rows
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.methods.registry import METHODS
from problems_of_users import NEWSVENDOR, demand_table


class InTorch(type(METHODS["gp-surrogate"])):
    """The method with its loss for a torch loop."""

    name, summary = "gp-surrogate-in-torch", ""

    def loss(self, context):
        return fs.GPSurrogateLoss(context.train_oracle, config=self.settings, seed=context.rng)


@pytest.mark.parametrize("settings", [{}, {"fallback": "sfge", "train_sigma": True, "sigma": 0.1, "beta": 1e-6}])
def test_torch_gp_surrogate_trains_as_the_loss_in_numpy_does(settings):
    X, Y = demand_table(40, 2)
    split, settings = split_rows(40, rng=np.random.default_rng(0)), {"max_epochs": 4, "start_epochs": 4} | settings
    arrays, tensors = (
        fit(Plan(NEWSVENDOR, X, Y, split, method=method, predictor="linear", settings=settings))
        for method in ("gp-surrogate", InTorch())
    )
    losses = [[record.train_loss for record in fitted.history] for fitted in (arrays, tensors)]
    assert losses[0] == losses[1]
    assert np.array_equal(arrays.predictor(X), tensors.predictor(X))
    assert arrays.oracle.calls.counts == tensors.oracle.calls.counts
    assert np.array_equal(arrays.loss.noise.log_sigma, tensors.loss.arrays.noise.log_sigma)
    assert (np.ptp(arrays.loss.noise.log_sigma) > 0) == bool(settings.get("train_sigma"))


def test_torch_gp_surrogate_keeps_the_names_of_its_state():
    """As the checkpoints of earlier versions have them."""
    Y = demand_table(24, 2)[1]
    loss = fs.GPSurrogateLoss(NEWSVENDOR, Y)
    assert set(loss.state_dict()) == {"scale", "noise.log_sigma"}
    assert loss.state() is None
    loss.start(torch.as_tensor(Y + 1.0))
    assert {"scale", "noise.log_sigma"} <= set(loss.state().arrays)
