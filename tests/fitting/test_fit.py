import numpy as np
import pytest
import torch

import fewsolves as fs
from fewsolves.data import split_rows
from fewsolves.errors import SolverError
from fewsolves.execution import processes as solving_module
from fewsolves.execution.serial import Serial
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.methods.base import GradientTrainer, TrainConfig
from fewsolves.methods.registry import METHODS
from fewsolves.methods.torch_loss import Loss
from fewsolves.oracle import SolveConfig
from fewsolves.predictors.predictor import Predictor, linear
from fewsolves.testing.methods import known_settings
from fewsolves.training.history import Stop
from problems_of_users import CHEAPEST, NEWSVENDOR, QUICK, demand_table

X, Y = demand_table(40, 2)
SPLIT = split_rows(40, rng=np.random.default_rng(0), valid=0.2)


class Pull(Loss):
    """Pulls every prediction towards one number: a high one saves the newsvendor, a low one ruins him."""

    def __init__(self, target):
        super().__init__()
        self.target = target

    def forward(self, y_hat, index):
        return (y_hat - self.target).abs().mean()

    def finish(self, y_hat):
        return {"warnings": ["mind the gap"], "mean_prediction": float(y_hat.mean())}


def pulling(target, **train):
    train = {"learning_rate": 0.03, "max_epochs": 4, "start_epochs": 3} | train

    class Pulling(GradientTrainer):
        name, summary, common = "pull", "", TrainConfig(**train)

        def loss(self, context):
            return Pull(target)

    return Pulling()


def fitted(method="pfl", problem=NEWSVENDOR, settings=None, predictor="linear", X=X, Y=Y, callbacks=(), **options):
    if settings is None:
        settings = known_settings(METHODS[method], QUICK) if isinstance(method, str) else {}
    plan = Plan(problem, X, Y, SPLIT, method=method, predictor=predictor, settings=settings, **options)
    return fit(plan, callbacks=callbacks)


def weights(predictor):
    return torch.as_tensor(np.concatenate([p.ravel() for p in predictor.weights()]))


def regret(found, predictor=None):
    rows = SPLIT.valid
    y_hat = (predictor or found.predictor)(torch.as_tensor(X[rows])).detach().numpy()
    return found.oracle.part(rows).regret(np.arange(len(rows)), y_hat, phase="test")


def test_fit_the_guard_keeps_the_start_when_nothing_beats_it():
    start, ruined = fitted("pfl", settings={"start_epochs": 3}), fitted(pulling(0.0))
    assert torch.equal(weights(ruined.predictor), weights(start.predictor))
    assert np.array_equal(ruined.best.values, ruined.start.values)
    assert "the last epoch was reached; kept its start, which nothing clearly beat on validation" in ruined.stopped
    assert [record.stage for record in ruined.history] == ["start"] * 3 + ["train"] * 4
    assert np.array_equal(regret(ruined), ruined.best.values)


def test_fit_what_clearly_beats_its_start_is_kept():
    saved = fitted(pulling(40.0))
    assert saved.best.mean < saved.start.mean
    assert saved.stopped == "the last epoch was reached"
    assert not torch.equal(weights(saved.predictor), weights(fitted("pfl", settings={"start_epochs": 3}).predictor))
    assert np.array_equal(regret(saved), saved.best.values)


@pytest.mark.parametrize(("guard", "kept"), [(0.0, False), (1e9, True)])
def test_fit_the_guard_is_counted_in_standard_errors(guard, kept):
    found = fitted(pulling(40.0, guard=guard))
    assert ("kept its start" in found.stopped) is kept
    assert (found.best.mean == found.start.mean) is kept


def test_fit_the_report_is_about_the_predictor_that_is_handed_back():
    for target in (0.0, 40.0):
        found = fitted(pulling(target))
        y_hat = found.predictor(torch.as_tensor(X[SPLIT.train]))
        assert found.report == {"mean_prediction": pytest.approx(y_hat.mean().item())}
        assert found.warnings == ["mind the gap"]


def test_fit_without_a_warm_start_there_is_no_start_to_keep():
    found = fitted(pulling(0.0, warm_start=False))
    assert {record.stage for record in found.history} == {"train"}
    assert "kept" not in found.stopped
    assert found.best.mean <= found.start.mean, "the untrained weights are among those it chooses from"
    found = fitted("spo+", problem=CHEAPEST)
    assert {record.stage for record in found.history} == {"train"}
    assert {
        record.stage for record in fitted("spo+", problem=CHEAPEST, settings=QUICK | {"warm_start": True}).history
    } == {
        "start",
        "train",
    }


def test_fit_prediction_focused_learning_pays_for_its_reading_only():
    found = fitted("pfl")
    paid = {phase: n for phase, n in found.oracle.calls.by_phase("solve").items() if n}
    assert paid == {"probe": 1, "labels": 2 + len(SPLIT.valid), "validation": len(SPLIT.valid)}
    assert found.loss is None
    assert found.report == {}
    assert found.stopped == "the last epoch was reached"
    assert found.best is found.start


def test_fit_a_method_may_adjust_the_start_instead_of_training():
    found = fitted("shift", settings={"start_epochs": 3})
    assert found.best.mean < found.start.mean
    assert {record.stage for record in found.history} == {"start"}
    assert "shifted" in found.stopped
    guarded = fitted("shift", settings={"start_epochs": 3, "guard": 1e9})
    assert np.array_equal(guarded.predictor.y_mean, fitted("pfl", settings={"start_epochs": 3}).predictor.y_mean)


class FakeProcesses(Serial):
    """Worker processes as far as `fit` can see them."""

    made: tuple = ()

    def __init__(self, problem, workers, **limits):
        super().__init__(problem)
        self.workers, self.closed = workers, 0
        FakeProcesses.made = (*FakeProcesses.made, self)

    def close(self):
        self.closed += 1


@pytest.fixture
def processes(monkeypatch):
    monkeypatch.setattr(solving_module, "Processes", FakeProcesses)
    monkeypatch.setattr(FakeProcesses, "made", ())
    return FakeProcesses


def test_fit_worker_processes_are_closed(processes):
    fitted("sfge", solving=SolveConfig(workers=3))
    (made,) = processes.made
    assert made.workers == 3
    assert made.closed == 1


def test_fit_worker_processes_are_closed_after_an_error(processes):
    calls = []

    def solve(y_hat):
        calls.append(1)
        if len(calls) > 60:
            raise RuntimeError("licence lost")
        return y_hat

    with pytest.raises(SolverError, match="licence lost"):
        fitted("sfge", problem=fs.Problem(solve=solve, cost=NEWSVENDOR.cost), solving=SolveConfig(workers=2))
    (made,) = processes.made
    assert made.closed == 1


def test_fit_test_rows_are_not_looked_at():
    instances = np.isin(np.arange(40), SPLIT.test)

    def solve(y_hat, tested):
        assert not tested
        return y_hat

    problem = fs.Problem(
        solve=solve, cost=lambda y, z, tested: NEWSVENDOR.cost(y, z) if not tested else 1 / 0, instances=instances
    )
    spoiled = X.copy(), Y.copy()
    spoiled[0][SPLIT.test], spoiled[1][SPLIT.test] = 1e6, -1e6
    one = fitted("gp-surrogate", problem=problem)
    two = fitted("gp-surrogate", problem=problem, X=spoiled[0], Y=spoiled[1])
    assert torch.equal(weights(one.predictor), weights(two.predictor))


def test_fit_is_a_function_of_its_seed():
    one, two, other = (fitted("gp-surrogate", seed=seed, settings=QUICK | {"guard": -1e9}) for seed in (1, 1, 2))
    assert torch.equal(weights(one.predictor), weights(two.predictor))
    assert not torch.equal(weights(one.predictor), weights(other.predictor))


def test_fit_callbacks_see_every_epoch_and_may_end_training():
    seen = []

    def until_the_first(record):
        seen.append(record)
        return Stop("enough") if (record.stage, record.epoch) == ("train", 1) else None

    found = fitted("sfge", callbacks=[until_the_first])
    epochs = [("start", 1), ("start", 2), ("train", 1)]
    assert [(record.stage, record.epoch) for record in seen] == epochs
    assert [(record.stage, record.epoch) for record in found.history] == epochs
    assert found.stopped.startswith("enough")


def test_fit_a_predictor_of_ones_own_stays_as_it_was():
    own = Predictor(linear(4, 2, seed=0))
    before = weights(own).clone()
    found = fitted("sfge", predictor=own, settings=QUICK | {"guard": -1e9})
    assert torch.equal(weights(own), before)
    assert not torch.equal(weights(found.predictor), before)
    assert found.predictor_name == "given"


def test_fit_a_surrogate_reports_how_it_did():
    found = fitted("gp-surrogate")
    assert set(found.report) == {"calibration", "effective_sample_size", "samples_per_example"}
    assert all(0 <= record.trusted <= 1 for record in found.history if record.stage == "train")
    assert all(record.trusted is None for record in found.history if record.stage == "start")


@pytest.mark.parametrize("at", ["network", "linear"])
def test_fit_ctrl_c_in_the_start_ends_the_fit(at):
    """Whichever predictor was being started: what there is is handed back, and nothing is paid for in training."""
    starts = []

    def interrupt(record):
        starts.append(record.epoch)
        if record.stage == "start" and starts.count(1) == {"network": 1, "linear": 2}[at]:
            raise KeyboardInterrupt

    found = fitted("sfge", predictor="auto", callbacks=[interrupt])
    assert "interrupted in epoch 1" in found.stopped
    assert {record.stage for record in found.history} == {"start"}
    assert found.oracle.calls.training() == 0
    assert np.isfinite(found.best.mean)


@pytest.mark.parametrize("method", ["pfl", "sfge", "shift"])
@pytest.mark.parametrize("at", ["network", "linear"])
def test_fit_a_stop_in_the_start_ends_the_run(method, at):
    starts = []

    def enough(record):
        starts.append(record.epoch)
        return Stop("enough") if starts.count(1) == {"network": 1, "linear": 2}[at] else None

    found = fitted(method, predictor="auto", callbacks=[enough])
    assert found.stopped == "enough"
    assert {record.stage for record in found.history} == {"start"}
    assert found.oracle.calls.training() == 0


def test_fit_ctrl_c_in_training_hands_back_the_best_so_far():
    def interrupt(record):
        if (record.stage, record.epoch) == ("train", 2):
            raise KeyboardInterrupt

    found = fitted(pulling(40.0), callbacks=[interrupt])
    assert found.stopped == "interrupted in epoch 2"
    assert found.best.mean < found.start.mean
