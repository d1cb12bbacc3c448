import numpy as np
import pytest
import torch

from fewsolves.errors import BudgetSpent
from fewsolves.methods.base import TrainConfig
from fewsolves.methods.reading import Reading
from fewsolves.methods.torch_loss import Loss
from fewsolves.oracle import Calls
from fewsolves.predictors.predictor import Predictor, linear
from fewsolves.training.history import History, Stop
from fewsolves.training.loop import Ending, Standing, stopping_rule, train
from problems_of_users import demand_table

X, _ = demand_table(40)


class Squares(Loss):
    """Pulls predictions to a target; may misbehave in a given epoch."""

    def __init__(self, target=5.0, act=lambda epoch: None):
        super().__init__()
        self.target, self.act, self.epoch = target, act, 0

    def begin_epoch(self, predict):
        self.epoch += 1

    def forward(self, y_hat, index):
        factor = self.act(self.epoch)
        return (y_hat - self.target).square().mean() * (1.0 if factor is None else factor)


class Script:
    """A monitor that reads given values in turn."""

    def __init__(self, *values):
        self.values = list(values)

    def __call__(self, predictor, *, final=False):
        value = self.values.pop(0) if len(self.values) > 1 else self.values[0]
        return None if value is None else Reading(np.array([value, value]))


def run(monitor, loss=None, callbacks=(), seed=0, **config):
    predictor = Predictor(linear(4, 3, seed=0))
    history = History(Calls(), callbacks)
    outcome = train(
        predictor,
        loss or Squares(),
        X,
        monitor=monitor,
        config=TrainConfig(**{"max_epochs": 10, "patience": 3} | config),
        rng=np.random.default_rng(seed),
        history=history,
    )
    return predictor, outcome, history.records


def weights(predictor):
    return torch.as_tensor(np.concatenate([p.ravel() for p in predictor.weights()]))


def test_loop_the_best_weights_are_kept():
    long = run(Script(9, 8, 7, 6, 5, 4, 3, 2, 1, 1.5, 1.5), max_epochs=10)[0]
    until_best = run(Script(9, 8, 7, 6, 5, 4, 3, 2, 1), max_epochs=8)[0]
    assert torch.equal(weights(long), weights(until_best))


def test_loop_patience_ends_training():
    _, outcome, records = run(Script(5, 4, 6, 6, 6, 6, 6))
    assert len(records) == 4
    assert outcome.stopped == "no better for 3 epochs"
    assert (outcome.first.mean, outcome.best.mean) == (5, 4)


def test_loop_a_tie_is_not_better():
    assert len(run(Script(5, 5, 5, 5, 5))[2]) == 3


def test_loop_epochs_without_a_reading_are_fine():
    _, outcome, records = run(Script(5, None, 4, None, None, None, None))
    assert [record.validation_regret for record in records] == [None, 4, None, None, None]
    assert outcome.best.mean == 4


def test_loop_a_callback_can_stop():
    _, outcome, records = run(Script(1), callbacks=[lambda record: Stop("enough") if record.epoch == 2 else None])
    assert outcome.stopped == "enough"
    assert len(records) == 2


def test_loop_ctrl_c_keeps_the_best_so_far():
    def interrupt(epoch):
        if epoch == 3:
            raise KeyboardInterrupt

    predictor, outcome, _ = run(Script(9, 8, 7, 6), loss=Squares(act=interrupt))
    assert outcome.stopped == "interrupted in epoch 3"
    assert outcome.best.mean == 7
    assert torch.equal(weights(predictor), weights(run(Script(9, 8, 7), max_epochs=2)[0]))


def test_loop_a_loss_that_is_not_finite_ends_training_with_the_best_so_far():
    predictor, outcome, _ = run(Script(9, 8, 7), loss=Squares(act=lambda epoch: float("nan") if epoch == 2 else 1.0))
    assert "the loss was nan in epoch 2" in outcome.stopped
    assert [warning.count("halved") for warning in outcome.warnings] == [1, 0]
    assert torch.isfinite(weights(predictor)).all()


def test_loop_training_follows_from_the_seed():
    same = [weights(run(Script(2, 1), seed=4)[0]) for _ in range(2)]
    assert torch.equal(*same)
    assert not torch.equal(same[0], weights(run(Script(2, 1), seed=5)[0]))


def test_loop_averaging_keeps_a_mean_of_the_weights():
    plain, averaged = (run(Script(9, 8, 7, 6, 5), averaging=a, max_epochs=4)[0] for a in (0.0, 3.0))
    assert torch.dist(weights(averaged), weights(Predictor(linear(4, 3, seed=0)))) < torch.dist(
        weights(plain), weights(Predictor(linear(4, 3, seed=0)))
    )


@pytest.mark.parametrize(("steps", "batches"), [(None, 2), (1, 1), (5, 5)])
def test_loop_an_epoch_has_as_many_steps_as_set(steps, batches):
    seen = []

    class Counting(Squares):
        def forward(self, y_hat, index):
            seen.append(len(index))
            return super().forward(y_hat, index)

    run(Script(1), loss=Counting(), max_epochs=1, steps_per_epoch=steps)
    assert len(seen) == batches


def test_loop_a_stop_is_distinguished_from_an_end():
    assert not run(Script(1))[1].ends_run
    assert run(Script(1), callbacks=[lambda record: Stop("enough")])[1].ends_run


@pytest.mark.parametrize(
    ("epoch", "stop", "spent", "ends"),
    [
        (4, None, False, None),
        (5, None, False, Ending("no better for 3 epochs")),
        (3, None, True, Ending("the budget was spent in epoch 3")),
        (9, Stop("enough"), True, Ending("enough", stop_requested=True)),
    ],
)
def test_loop_the_stopping_rule(epoch, stop, spent, ends):
    at = Standing(Reading(np.zeros(2)), {}, best_epoch=2, epoch=epoch)
    assert stopping_rule(at, TrainConfig(patience=3), stop=stop, spent=spent) == ends


def test_loop_a_budget_that_is_spent_ends_training_with_the_best_so_far():
    def spend(epoch):
        if epoch == 3:
            raise BudgetSpent("nothing is left")

    _, outcome, records = run(Script(9, 8, 7, 7.5), loss=Squares(act=spend))
    assert outcome.stopped == "the budget was spent in epoch 3"
    assert outcome.best.mean == 7
    assert np.isnan(records[-1].train_loss)


def test_loop_a_budget_that_does_not_cover_the_first_sample_ends_training_before_it_begins():
    class Expensive(Squares):
        def start(self, y_hat):
            raise BudgetSpent("nothing is left")

    predictor, outcome, records = run(Script(9, 8), loss=Expensive())
    assert outcome.stopped == "the budget was spent before the first epoch"
    assert records == []
    assert torch.equal(weights(predictor), weights(Predictor(linear(4, 3, seed=0))))


def test_loop_a_loss_may_compute_gradients_before_the_first_step():
    class Fitted(Squares):
        def start(self, y_hat):
            assert torch.is_grad_enabled()
            assert not y_hat.requires_grad

    assert run(Script(1), loss=Fitted(), max_epochs=1)[1].stopped == "the last epoch was reached"
