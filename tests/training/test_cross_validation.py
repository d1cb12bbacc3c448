import numpy as np
import pytest

from fewsolves.data import Scale
from fewsolves.methods.base import TrainConfig
from fewsolves.predictors.families import named
from fewsolves.predictors.predictor import Predictor, linear
from fewsolves.training import cross_validation
from fewsolves.training.cross_validation import out_of_fold

pytestmark = pytest.mark.portable

CONFIG = TrainConfig(max_epochs=200, learning_rate=0.01)


def squared_error(name, y, n=150):
    X = np.random.default_rng(0).uniform(-2, 2, (n, 2))
    Y = y(X)[:, None]
    predictor = Predictor(named(name).net(name, name, (2,), 1, seed=0), Scale.of(X), Scale.of(Y))
    before = [p.copy() for p in predictor.weights()]
    predictions = out_of_fold(name, predictor, X, Y, config=CONFIG, rng=np.random.default_rng(1))
    assert all(np.array_equal(a, b) for a, b in zip(before, predictor.weights(), strict=True)), "it stays untrained"
    return float(np.mean((predictions - Y) ** 2) / Y.var())


def test_cross_validation_a_curve_is_predicted_better_by_a_network_and_a_line_with_noise_by_a_line():
    assert (
        squared_error("network", lambda X: X[:, 0] ** 2) < 0.2 < 0.8 < squared_error("linear", lambda X: X[:, 0] ** 2)
    )
    noise = np.random.default_rng(2).normal(size=150)
    assert (
        squared_error("linear", lambda X: X[:, 0] + noise) < squared_error("network", lambda X: X[:, 0] + noise) + 0.05
    )


def test_cross_validation_noise_cannot_be_predicted_out_of_fold():
    noise = np.random.default_rng(2).normal(size=60)
    assert squared_error("network", lambda X: noise, n=60) > 0.9


@pytest.mark.parametrize("in_time", [False, True])
def test_cross_validation_rows_in_time_are_left_out_by_stretches(in_time, monkeypatch):
    days, left_out = np.arange(30.0)[:, None], []
    monkeypatch.setattr(cross_validation, "start", lambda *given, **_: left_out.append(given[3].X[:, 0]))
    predictor = Predictor(linear(1, 1, seed=0), Scale.of(days), Scale.of(days))
    out_of_fold(
        "linear",
        predictor,
        days,
        days,
        config=CONFIG,
        rng=np.random.default_rng(1),
        in_time=in_time,
    )
    assert sorted(np.concatenate(left_out)) == days.ravel().tolist()
    assert all(np.all(np.diff(fold) == 1) for fold in left_out) == in_time
