"""Descent, pairs and the stages: what they pay, what they find, what they hand back."""

import numpy as np
import pytest
import torch

import fewsolves as fs
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.methods.base import Outcome
from fewsolves.methods.reading import Reading
from fewsolves.methods.staged.descent import Descent, directions
from fewsolves.methods.staged.evidence import Evidence
from fewsolves.methods.staged.method import Staged, Stages
from fewsolves.methods.staged.pool import Pool, TooDear
from fewsolves.methods.staged.scene import Scene
from fewsolves.methods.staged.stand_ins import SharedGP, SPOPlus
from fewsolves.testing import newsvendor
from fewsolves.training.history import Stop
from problems_of_users import CHEAPEST, NEWSVENDOR, demand_table

QUICK = {"start_epochs": 60}


def trained(problem, X, Y, method="staged", budget=None, **settings):
    return fit(Plan(problem, X, Y, method=method, predictor="linear", settings=QUICK | settings, budget=budget))


def test_directions_are_orthogonal_and_as_long_as_normal_draws():
    made = directions(np.random.default_rng(0), 500, 6, 4)
    products = np.einsum("bmd,bnd->bmn", made[:, :4], made[:, :4])
    assert np.allclose(products - np.einsum("bmm->bm", products)[:, :, None] * np.eye(4), 0.0, atol=1e-9)
    assert (made**2).sum(-1).mean() == pytest.approx(4.0, rel=0.1)
    assert np.allclose(made.mean((0, 1)), 0.0, atol=0.1)


@pytest.mark.parametrize("method", ["pairs", "staged"])
@pytest.mark.parametrize("solves", [2, 6])
def test_no_more_is_paid_than_was_allowed_and_the_start_is_beaten(method, solves):
    table = newsvendor(3, n=120)
    fitted = trained(table.problem, table.X, table.Y, method, solves=solves)
    n_train = len(fitted.split.train)
    assert 0 < fitted.oracle.calls.training("solve") <= solves * n_train
    assert fitted.best.mean < fitted.start.mean
    assert fitted.best.mean < 0.8 * fitted.start.mean or method == "pairs"


@pytest.mark.parametrize("method", ["pairs", "staged"])
def test_a_budget_is_kept_and_the_best_so_far_is_handed_back(method):
    table = newsvendor(3, n=120)
    fitted = trained(table.problem, table.X, table.Y, method, budget=fs.Budget(solves=400))
    assert fitted.oracle.calls.total("solve") <= 400
    assert fitted.best.mean < fitted.start.mean  # what the last solves found was read, and kept


def test_the_same_run_gives_the_same_weights():
    table = newsvendor(2, n=80)
    weights = [trained(table.problem, table.X, table.Y, solves=2).predictor.state_dict() for _ in range(2)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_where_nothing_is_to_be_gained_few_solves_are_paid_and_it_is_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    Y = 5 + X @ rng.normal(size=(2, 3)) + 0.2 * rng.normal(size=(200, 3))  # its mean is linear, and so is the cost
    fitted = trained(CHEAPEST, X, Y, start_epochs=500, solves=32)
    assert fitted.oracle.calls.training("solve") <= 2 * len(fitted.split.train)
    assert "little or nothing to gain" in fitted.stopped
    assert 0.0 <= fitted.report["gain_bound"] <= 1.0


def test_rows_with_known_data_of_their_own_share_no_decisions():
    X, Y = demand_table(80, 2)
    problem = fs.Problem(
        solve=lambda y, limit: np.minimum(y, limit),
        cost=lambda y, z, limit: float((z + 9 * np.maximum(y - z, 0)).sum()),
        instances=[100.0 + row for row in range(80)],
    )
    fitted = trained(problem, X, Y, solves=4)
    assert fitted.report["stand_in"] is None
    assert fitted.best.mean <= fitted.start.mean


def test_what_the_stages_found_is_told():
    table = newsvendor(2, n=120)
    fitted = trained(table.problem, table.X, table.Y, solves=6)
    assert set(fitted.report["pilot"]["signals"]) >= {"gp"}
    assert fitted.report["stages"][0]["stage"] == "correction", "rows are few"
    assert any(record.validation_regret is not None for record in fitted.history)


def test_a_callback_may_end_it():
    table = newsvendor(2, n=80)
    plan = Plan(table.problem, table.X, table.Y, method="staged", predictor="linear", settings=QUICK)
    fitted = fit(plan, callbacks=[lambda record: Stop("enough") if record.stage == "train" else None])
    assert fitted.stopped.startswith("enough")


def stages_of(problem, X, Y, **settings):
    """The stages of a run before it begins, and what validates them."""
    made = {}

    class Untrained(Staged):
        def train(self, context):
            made["stages"] = Stages(context)
            start = context.validate(context.predictor)
            made["stages"].start = made["stages"].best = start
            made["stages"].kept = made["stages"]._weights()
            return Outcome(start, start, "not trained")

    fit(Plan(problem, X, Y, method=Untrained(), predictor="linear", settings=QUICK | settings))
    return made["stages"]


@pytest.mark.parametrize(("z", "taken"), [(-3.0, 1.0), (-0.5, 0.5), (-0.1, 0.1), (3.0, 0.0)])
def test_what_is_in_doubt_is_taken_in_part(z, taken):
    X, Y = demand_table(60, 1)
    stages = stages_of(NEWSVENDOR, X, Y)
    noise = Reading(np.resize([-1.0, 1.0], len(stages.start.values)))
    readings = iter([z * noise.error + noise.values, -noise.error + noise.values])  # of the whole, and of a part
    stages.validate = lambda predictor: Reading(stages.start.values + next(readings))
    before = stages.predictor.y_mean.clone()
    stages.predictor.y_mean += 4.0
    stages._accept("any")
    assert torch.allclose(stages.predictor.y_mean, before + 4.0 * taken)
    assert stages.report["stages"][0]["accepted"] == pytest.approx(taken)


@pytest.mark.parametrize(("z", "taken"), [(-0.5, 0.5), (0.1, 0.0)])
def test_a_part_that_no_budget_is_left_to_read_is_taken_where_the_whole_was_better(z, taken):
    X, Y = demand_table(60, 1)
    stages = stages_of(NEWSVENDOR, X, Y)
    noise = Reading(np.resize([-1.0, 1.0], len(stages.start.values)))
    readings = iter([Reading(stages.start.values + z * noise.error + noise.values), None])
    stages.validate = lambda predictor: next(readings)
    before = stages.predictor.y_mean.clone()
    stages.predictor.y_mean += 4.0
    stages._accept("any")
    assert torch.allclose(stages.predictor.y_mean, before + 4.0 * taken)


@pytest.mark.parametrize(("optimum", "reached"), [(4.0, 4.0), (16.0, 16.0), (100.0, 32.0)])
def test_what_is_clear_and_too_short_is_taken_further(optimum, reached):
    X, Y = demand_table(60, 1)
    stages = stages_of(NEWSVENDOR, X, Y)
    before = stages.predictor.y_mean.clone()
    off = lambda: abs(float((stages.predictor.y_mean - before)[0]) - optimum)  # noqa: E731
    stages.start = stages.best = Reading(off() + np.linspace(0, 1, 20))
    stages.validate = lambda predictor: Reading(off() + np.linspace(0, 1, 20))
    stages.predictor.y_mean += 4.0
    stages._accept("any", further=True)
    assert torch.allclose(stages.predictor.y_mean, before + reached)
    assert stages.report["stages"][0]["accepted"] == reached / 4.0


def test_few_rows_are_moved_as_far_as_they_should():
    """A unit that is missing costs a hundred times a spare one: with 50 rows most of a standard deviation is needed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    Y = 20 + X @ np.ones((2, 1)) + 2 * rng.normal(size=(50, 1))
    problem = fs.Problem(solve=lambda y: y.copy(), cost=lambda y, z: float((z + 100 * np.maximum(y - z, 0)).sum()))
    fitted = trained(problem, X, Y, solves=2)
    correction = fitted.report["stages"][0]
    assert correction["stage"] == "correction"
    assert correction["change"] < -0.6 * fitted.start.mean


def test_a_stand_in_that_promised_what_was_not_so_is_dropped():
    X, Y = demand_table(60, 1)
    stages = stages_of(NEWSVENDOR, X, Y)
    stages.stand_in, stages.strong = SharedGP(Pool(stages.scene, 1.0)), True
    stages._correct = stages._descend = lambda *_, **__: None
    stages._accept = lambda *_, **__: Evidence(Reading(np.array([1.0, 1.1, 0.9])), 1.0)
    assert stages._by_stand_in(8.0) is None
    assert stages.stand_in is None


def test_a_descent_ends_where_paid_regrets_rise_while_those_of_the_stand_in_fall():
    descent = Descent.__new__(Descent)
    rising, falling = np.linspace(1.0, 3.0, 90), np.linspace(1.0, 0.5, 90)
    descent._audits = [(rising, falling)]
    assert descent._rising()
    descent._audits = [(rising, rising)]
    assert not descent._rising(), "the stand-in knows"
    descent._audits = [(falling, falling)]
    assert not descent._rising()
    descent._audits = [(rising[:20], falling[:20])]
    assert not descent._rising(), "too few to tell"


def test_where_cost_calls_are_too_dear_pairs_go_on(monkeypatch):
    def too_dear(self, *_):
        raise TooDear("cost calls take 9 s each")

    monkeypatch.setattr(Pool, "_charge", too_dear)
    table = newsvendor(2, n=120)
    fitted = trained(table.problem, table.X, table.Y, solves=6)
    assert "9 s each" in fitted.report["known_decisions"]
    assert fitted.report["stand_in"] is None
    assert fitted.oracle.calls.training("solve") > 4 * len(fitted.split.train)


def test_known_decisions_that_are_given_up_in_the_first_stage_leave_the_other_solves_to_a_line_search(monkeypatch):
    def give_up(self, solves, *, first):
        self._forget(TooDear("cost calls take 9 s each"))

    searched, shift = [], Stages._shift
    monkeypatch.setattr(Stages, "_descend", give_up)
    monkeypatch.setattr(Stages, "_shift", lambda self, solves: searched.append(shift(self, solves)))
    table = newsvendor(2, n=200)
    fitted = trained(table.problem, table.X, table.Y, solves=3)
    assert searched
    assert fitted.oracle.calls.training("solve") > 2 * len(fitted.split.train)


def test_solves_that_gained_nothing_are_a_warning():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    Y = 5 + X @ rng.normal(size=(2, 3)) + 0.2 * rng.normal(size=(200, 3))
    fitted = trained(CHEAPEST, X, Y, start_epochs=500, solves=32)
    assert any("training solves gained nothing" in warning for warning in fitted.warnings)


@pytest.mark.parametrize(("z", "taken"), [(-0.4, 0.0), (-1.0, 0.5), (-2.0, 1.0)])
def test_what_spo_plus_finds_must_be_clearer(z, taken):
    X, Y = demand_table(60, 1)
    stages = stages_of(NEWSVENDOR, X, Y, solves=16, few_rows=0)
    noise = Reading(np.resize([-1.0, 1.0], len(stages.start.values)))
    stages.validate = lambda predictor: Reading(stages.start.values + z * noise.error + noise.values)
    stages.stand_in = SPOPlus(Pool(stages.scene, 16.0))
    stages._descend = lambda *given, **named: stages.predictor.y_mean.add_(4.0)
    stages._by_stand_in(16.0)
    assert stages.report["stages"][0]["accepted"] == pytest.approx(taken)


@pytest.mark.parametrize(("rows", "ends"), [(12, False), (2000, True)])
def test_few_rows_that_cannot_rule_out_a_gain_end_no_budget(rows, ends):
    X, Y = demand_table(60, 1)
    stages = stages_of(NEWSVENDOR, X, Y, solves=16)
    noise = np.resize([-1.0, 1.0], rows)
    stages.start = stages.best = Reading(np.full(rows, 2.0))
    stages.validate = lambda predictor: Reading(stages.start.values + noise)  # no better, and as noisy as rows are few
    stages.strong = True
    stages.stand_in = SharedGP(Pool(stages.scene, 16.0))
    stages._correct = stages._descend = lambda *given, **named: None
    told = stages._by_stand_in(16.0)
    assert (told is not None and "little or nothing to gain" in told) == ends


def test_without_a_limit_and_a_stand_in_two_solves_per_row_must_show_a_gain():
    X = np.random.default_rng(0).normal(size=(150, 2))
    Y = 5 + X @ np.array([[1.0, 0.5, -1.0], [0.2, -0.7, 0.4]])
    problem = fs.Problem(
        solve=lambda y, price: np.eye(3)[np.argmin(price * y)],
        cost=lambda y, z, price: float(price * y @ z),
        instances=[1.0 + row % 3 for row in range(150)],  # rows share no decisions: pairs would have to find it
    )
    fitted = trained(problem, X, Y, start_epochs=100)
    assert fitted.oracle.calls.training("solve") <= 2 * len(fitted.split.train)
    assert "no gain was seen" in fitted.stopped
    assert 0.0 <= fitted.report["shift_gain_bound"] < 1.0


def test_units_are_smaller_where_the_start_is_near_to_the_truth():
    X, Y = demand_table(60, 2)
    stages = stages_of(NEWSVENDOR, X, Y)
    scene = Scene(stages.scene.oracle, stages.scene.X, np.random.default_rng(0))
    far = scene.std.clone()
    noise = np.random.default_rng(1).normal(size=scene.oracle.Y.shape) * far.numpy()
    scene.measure(scene.oracle.Y + noise)
    assert scene.narrow == 1.0
    scene.measure(scene.oracle.Y + 0.1 * noise)
    assert 0.2 < scene.narrow < 0.3
    assert torch.allclose(scene.std, scene.narrow * far)


def test_a_start_without_regret_is_the_end():
    X = np.random.default_rng(0).normal(size=(120, 2))
    problem = fs.Problem(solve=lambda y: np.zeros(1), cost=lambda y, z: float(y.sum()))
    fitted = trained(problem, X, X @ np.ones((2, 3)))
    assert "nothing to gain" in fitted.stopped
    assert fitted.oracle.calls.training("solve") == 0
    assert fitted.report["gain_bound"] == 0.0
