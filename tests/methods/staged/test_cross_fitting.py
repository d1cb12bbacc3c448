"""The decisions of a run of the default, by themselves; whole fits are in test_method.py."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from fewsolves.methods.staged import cross_fitting
from fewsolves.methods.staged.config import StagedConfig
from fewsolves.methods.staged.cross_fitting import CrossFitting
from fewsolves.methods.staged.evidence import Change
from fewsolves.methods.staged.stand_ins import Prior
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.oracle import Budget

pytestmark = pytest.mark.portable
N = 50


def allowed(monkeypatch, config, budget=None, room=math.inf, lost=0):
    """What `_allowed` returns, and whether the number of solves was set, where `room` solves are left and `lost` ones
    were cut off by a kill."""
    rows = SimpleNamespace(n=N, oracle=SimpleNamespace(calls=SimpleNamespace(unanswered={"solve": lost})))
    monkeypatch.setattr(cross_fitting, "TrainingRows", lambda *_: rows)
    monkeypatch.setattr(cross_fitting, "build_folds", lambda *_: SimpleNamespace(in_time=False))
    context = SimpleNamespace(
        split=SimpleNamespace(train=np.arange(40), valid=np.arange(40, N)),
        oracle=SimpleNamespace(part=lambda table: None),
        budget_left=SimpleNamespace(budget=budget or Budget(), room=lambda phase: room),
        rng=None,
        weights=None,
        unlabelled=(),
    )
    run = CrossFitting(context, config)
    return run._allowed(), run._given


@pytest.mark.parametrize(
    ("settings", "of", "expected"),
    [
        ({}, {}, (32 * N, False)),
        ({"most": 3.0}, {}, (3 * N, False)),
        ({"solves": 2.5}, {}, (125, True)),
        ({"solves": 2.5}, {"room": 70}, (70, True)),
        ({}, {"budget": Budget(solves=300), "room": 230}, (230, True)),
        ({}, {"budget": Budget(solves=300), "room": 230, "lost": 4}, (234, True)),
        ({}, {"budget": Budget(seconds=9.0)}, (32 * N, False)),
    ],
)
def test_cross_fitting_pays_what_is_set_as_far_as_the_budget_has_room(settings, of, expected, monkeypatch):
    assert allowed(monkeypatch, StagedConfig(**settings), **of) == expected


def taken(change, *, prior=None, in_time=False, further=False):
    stand_in = None if prior is None else SimpleNamespace(expected=prior)
    folds = SimpleNamespace(in_time=in_time)
    run = SimpleNamespace(folds=folds, tuning=Tuning(), stand_in=stand_in, start_regret=1.0)
    return CrossFitting._taken(run, change, further=further)


def test_cross_fitting_takes_a_change_that_the_evidence_shows_and_none_that_it_refutes():
    for of in ({}, {"prior": Prior(0.0, 0.1)}, {"further": True}):
        assert taken(Change(-0.3, 0.01), **of)
        assert not taken(Change(0.3, 0.01), **of)


def test_cross_fitting_takes_an_unclear_change_by_the_prior_of_its_source():
    unclear = Change(0.01, 1.0)
    assert taken(unclear, prior=Prior(-0.2, 0.1))
    assert not taken(unclear, prior=Prior(0.2, 0.1))


def test_cross_fitting_takes_a_further_change_in_time_order_only_where_it_is_clear():
    assert taken(Change(-0.02, 0.1), further=True), "by the prior of later stages"
    assert not taken(Change(-0.02, 0.1), further=True, in_time=True)
    assert taken(Change(-0.3, 0.01), further=True, in_time=True)
