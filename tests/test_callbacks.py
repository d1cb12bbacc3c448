"""Callbacks on the estimator, and the ready ones: each takes what the user has made."""

import copy
import csv

import pytest
from sklearn.base import clone

import fewsolves as fs
from fewsolves.errors import InputError
from problems_of_users import NEWSVENDOR, QUICK, demand_table

pytestmark = pytest.mark.portable

X, Y = demand_table(30)


def fitted(*callbacks, **options):
    options = {"method": "sfge", "predictor": "linear", "settings": QUICK, "verbose": False} | options
    return fs.DecisionRegressor(NEWSVENDOR, callbacks=callbacks, **options).fit(X, Y)


class Uncopied:
    """As a SummaryWriter: it holds a thread, and cannot be copied."""

    def __init__(self):
        self.scalars, self.metrics = [], []

    def __deepcopy__(self, memo):
        raise TypeError("cannot be copied")

    def add_scalar(self, name, value, step):
        self.scalars.append((name, value, step))

    def log_metrics(self, metrics, step):
        self.metrics.append((metrics, step))


def test_callbacks_a_function_gets_each_epoch_and_may_end_the_training():
    seen = []

    def stop(record):
        seen.append((record.stage, record.epoch))
        return fs.callbacks.Stop("enough of it") if record.stage == "train" and record.epoch == 2 else None

    model = fitted(stop)
    assert seen == [("start", 1), ("start", 2), ("train", 1), ("train", 2)]
    assert model.stopped_.startswith("enough of it")


def test_callbacks_one_that_wants_to_is_told_of_answers_between_epochs():
    class Watching:
        def __init__(self):
            self.paid = []

        def __call__(self, record):
            pass

        def on_answer(self, calls):
            self.paid.append(calls.total())

    watching = Watching()
    model = fitted(watching)
    assert watching.paid == sorted(watching.paid)
    assert watching.paid[-1] == model.calls_.total()
    assert len(watching.paid) > len(model.history_)


def test_callbacks_tensorboard_and_mlflow_get_the_figures_of_each_epoch():
    logs = Uncopied()
    model = fitted(fs.callbacks.TensorBoard(logs), fs.callbacks.MLflow(logs, prefix="mine."))
    last = model.history_[-1]
    assert logs.metrics[-1][1] == len(model.history_) == 4
    assert logs.metrics[-1][0]["mine.validation_regret"] == last.validation_regret
    assert logs.metrics[-1][0]["mine.solves"] == sum(last.solves.values())
    assert "mine.validation_regret" not in logs.metrics[0][0], "a warm start has none"
    assert ("fewsolves/validation_regret", last.validation_regret, 4) in logs.scalars


def test_callbacks_a_csv_grows_epoch_by_epoch_with_the_columns_of_the_history(tmp_path):
    lengths = []

    def watch(record):
        lengths.append(len((tmp_path / "deep/history.csv").read_text().splitlines()))

    model = fitted(fs.callbacks.CSV(tmp_path / "deep/history.csv"), watch, folder=tmp_path / "run")
    assert lengths == [2, 3, 4, 5]
    with (tmp_path / "deep/history.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert (tmp_path / "run/history.csv").read_bytes() == (tmp_path / "deep/history.csv").read_bytes()
    assert [row["epoch"] for row in rows] == [str(record.epoch) for record in model.history_]


def test_callbacks_a_copy_of_a_model_logs_to_the_same_place():
    logs = Uncopied()
    model = clone(fs.DecisionRegressor(NEWSVENDOR, callbacks=[fs.callbacks.TensorBoard(logs)]))
    assert copy.deepcopy(model.callbacks[0]).writer is logs


@pytest.mark.parametrize("callbacks", [3, ["print"], print])
def test_callbacks_what_is_no_callback_is_refused_before_anything_is_paid(callbacks):
    def solve(y_hat):
        raise AssertionError("paid")

    model = fs.DecisionRegressor(fs.Problem(solve=solve, cost=NEWSVENDOR.cost), callbacks=callbacks)
    with pytest.raises(InputError, match="callbacks is a list of functions"):
        model.fit(X, Y)
