"""Callbacks on the estimator, and the ready ones: each takes what the user has made."""

import copy
import csv
from pathlib import Path

import pytest
from sklearn.base import clone

import fewsolves as fs
from fewsolves.callbacks import DESCRIPTION
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


def test_callbacks_with_on_answer_are_called_between_epochs():
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


class Recorded:
    """As `mlflow`, and as a run of Weights & Biases."""

    def __init__(self):
        self.logged, self.params, self.artifacts, self.config, self.summary = [], {}, [], {}, {}
        self.tags = {}

    def log(self, data, step):
        self.logged.append((step, data))

    def log_metrics(self, metrics, step=None):
        self.logged.append((step, metrics))

    def log_params(self, params):
        self.params |= params

    def set_tag(self, name, value):
        self.tags[name] = value

    def log_artifact(self, path):
        self.artifacts.append((Path(path).name, Path(path).read_text(encoding="utf-8")[:15]))


def test_callbacks_wandb_gets_epochs_and_the_fit():
    run = Recorded()
    log = fs.callbacks.WandB(run, prefix="mine.")
    model = fitted(log, budget=fs.Budget(solves=400))
    assert [step for step, _ in run.logged] == [1, 2, 3, 4]
    assert run.logged[-1][1]["mine.validation_regret"] == model.history_[-1].validation_regret
    log.log_fit(model)
    assert run.config["mine.method"] == "sfge"
    assert run.config["mine.budget.solves"] == 400, "a number, which W&B can plot and filter"
    assert run.summary["mine.result.regret"] == model.summary_.reached.best
    assert run.summary["mine.result.solves"] == model.calls_.total()


def test_callbacks_wandb_goes_on_after_the_steps_of_a_run_that_is_under_way():
    run = Recorded()
    run.step = 7  # as of a run that was resumed, or that has figures of the caller's own
    fitted(fs.callbacks.WandB(run))
    assert [step for step, _ in run.logged] == [7, 8, 9, 10]


def test_callbacks_mlflow_gets_parameters_results_and_the_report():
    pytest.importorskip("matplotlib")
    server = Recorded()
    log = fs.callbacks.MLflow(server)
    model = fitted(log)
    log.log_fit(model)
    assert server.params["problem"] == NEWSVENDOR.name
    assert server.params["train.max_epochs"] == str(QUICK["max_epochs"])
    assert server.params["rows"] == str(len(X))
    assert server.params["train.start_epochs"] != "null"
    names = ("start_regret", "regret", "solves", "solves_per_row")
    assert server.logged[-2][1].keys() == {f"result.{name}" for name in names}
    best = server.logged[-2][1]["result.regret"]
    steps = [step for step, _ in server.logged if step is not None]
    assert server.logged[-1] == (max(steps), {"best_regret": best}), "the curve ends at the result"
    assert server.tags[DESCRIPTION].startswith(model.summary_.message)
    assert server.artifacts == [("report.html", "<!doctype html>")]


def test_callbacks_the_losses_of_start_and_training_are_apart():
    server = Recorded()
    fitted(fs.callbacks.MLflow(server))
    by_step = [set(metrics) & {"start_loss", "train_loss"} for _, metrics in server.logged]
    assert by_step == [{"start_loss"}] * 2 + [{"train_loss"}] * 2


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


def unwell(record):
    raise ConnectionError("the server is down")


class Odd:
    """Answers what means nothing."""

    def __init__(self, answer):
        self.answer, self.called = answer, 0

    def __call__(self, record):
        self.called += 1
        return self.answer


class UnwellBetween:
    """Fails between two epochs."""

    def __init__(self):
        self.called = 0

    def __call__(self, record):
        return None

    def on_answer(self, calls):
        self.called += 1
        raise OSError(28, "No space left on device")


def test_callbacks_one_that_raises_is_switched_off_with_one_warning_and_the_fit_goes_on():
    alone, seen = fitted(), []
    with pytest.warns(UserWarning, match="callback unwell raised ConnectionError: the server is down") as found:
        model = fitted(unwell, seen.append)
    assert sum("callback" in str(one.message) for one in found) == 1
    assert len(seen) == len(model.history_), "the others are called as before"
    assert (model.predict(X) == alone.predict(X)).all()


@pytest.mark.parametrize("answer", [True, "stop", 0, 3.5, ()])
def test_callbacks_one_with_an_odd_answer_is_switched_off(answer):
    odd = Odd(answer)
    with pytest.warns(UserWarning, match=r"callback Odd returned .*Stop\('the reason'\)"):
        fitted(odd)
    assert odd.called == 1


def test_callbacks_one_that_fails_between_epochs_is_switched_off():
    between = UnwellBetween()
    with pytest.warns(UserWarning, match="callback UnwellBetween raised OSError"):
        fitted(between)
    assert between.called == 1


def test_callbacks_one_that_takes_its_record_apart_does_no_harm():
    taken = []

    def take(record):
        taken.append(dict(vars(record)))
        vars(record).clear()

    model = fitted(take, take)
    assert len(taken) == 2 * len(model.history_)
    assert taken[-1] == taken[-2] == vars(model.history_[-1])
