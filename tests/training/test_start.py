import numpy as np
import pytest

from fewsolves.data import Scale
from fewsolves.methods.base import TrainConfig
from fewsolves.oracle import Calls
from fewsolves.predictors.predictor import Predictor, linear, network
from fewsolves.training.history import History, Stop
from fewsolves.training.start import Rows, start

pytestmark = pytest.mark.portable

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = X @ RNG.normal(size=(3, 2)) + 0.1 * RNG.normal(size=(80, 2))
TRAIN, VALID = Rows(X[:60], Y[:60]), Rows(X[60:], Y[60:])


def started(name, callback=lambda record: None, **config):
    predictor = Predictor((network if name == "network" else linear)(3, 2, seed=0), Scale.of(X[:60]), Scale.of(Y[:60]))
    history = History(Calls(), [callback])
    rng = np.random.default_rng(1)
    return start(name, predictor, TRAIN, VALID, config=TrainConfig(**config), rng=rng, history=history), history


def test_start_a_linear_start_is_solved_for_in_one_epoch_and_as_good_as_a_trained_one():
    solved, history = started("linear")
    assert [(record.stage, record.epoch) for record in history.records] == [("start", 1)]
    assert solved.stopped == "solved in closed form"
    trained, _ = started("linear", start_epochs=500)
    assert solved.first.mean == trained.first.mean
    assert solved.best.mean <= 1.02 * trained.best.mean


def test_start_a_network_is_trained_and_a_module_that_is_linear_in_its_weights_is_solved_for():
    assert len(started("network")[1].records) > 1
    assert started("given")[0].stopped == "solved in closed form"


def test_start_epochs_of_the_settings_are_trained():
    assert len(started("linear", start_epochs=3)[1].records) == 3
    assert len(started("linear", start_epochs=0)[1].records) == 0


def test_start_a_callback_may_end_it():
    found, _ = started("linear", lambda record: Stop("enough"))
    assert (found.stopped, found.ends_run) == ("enough", True)

    def interrupt(record):
        raise KeyboardInterrupt

    found, _ = started("linear", interrupt)
    assert found.interrupted and found.best.mean < found.first.mean


def test_start_rows_of_little_weight_count_little():
    weights = np.r_[np.full(30, 1.99), np.full(30, 0.01)]
    other = Y[:60] + np.r_[np.zeros(30), np.full(30, 50.0)][:, None]  # the last thirty are far off
    predictor = Predictor(linear(3, 2, seed=0), Scale.of(X[:60]), Scale.of(other))
    rows = Rows(TRAIN.X, other, weights)
    start("linear", predictor, rows, VALID, config=TrainConfig(), rng=RNG, history=History(Calls()))
    assert np.abs(predictor(TRAIN.X[:30]) - other[:30]).mean() < 2
