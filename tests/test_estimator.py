import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import fewsolves as fs
from fewsolves.errors import InputError, NotApplicableError, SolverError
from fewsolves.methods.registry import find_method
from fewsolves.oracle.recheck import CHECKED
from fewsolves.testing.methods import known_settings
from problems_of_users import CHEAPEST, NEWSVENDOR, QUICK, demand_table, old_and_new


def regressor(problem=NEWSVENDOR, **changes):
    options = {"method": "sfge", "predictor": "linear", "settings": QUICK} | changes
    if options["settings"] is not None:
        options["settings"] = known_settings(find_method(options["method"]), options["settings"])
    return fs.DecisionRegressor(problem, **options)


CHECKS = parametrize_with_checks(
    [regressor(settings=QUICK | {"warm_start": False})],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "copies of a row may be split up"
    },
)


# a list: scikit-learn 1.6 gives a generator, which pytest 9 warns of
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
def test_estimator_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_estimator_learns_to_order_more_than_the_mean():
    (X, Y), (X_new, Y_new) = old_and_new(300, 300)
    plain = regressor(method="pfl", settings={"start_epochs": 200}).fit(X, Y)
    focused = regressor(settings={"learning_rate": 1e-2, "max_epochs": 60, "start_epochs": 200}).fit(X, Y)
    assert focused.score(X_new, Y_new) > 0.8 * plain.score(X_new, Y_new)
    assert focused.predict(X_new).mean() > plain.predict(X_new).mean()
    assert np.array_equal(focused.decide(X_new), focused.predict(X_new))
    assert focused.calls_.training() > 0 == plain.calls_.training()


def test_estimator_a_fit_is_a_function_of_data_settings_and_seed():
    X, Y = demand_table()
    one, two, other = (regressor(random_state=seed).fit(X, Y).predict(X) for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_estimator_processes_change_nothing():
    X, Y = demand_table(20)
    assert np.array_equal(regressor(workers=2).fit(X, Y).predict(X), regressor().fit(X, Y).predict(X))


def test_estimator_clone_pickle_and_cross_validation():
    X, Y = demand_table()
    fitted = regressor().fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert np.array_equal(again.decide(X), fitted.decide(X))
    assert not hasattr(clone(fitted), "predictor_")
    assert (cross_val_score(regressor(), X, Y, cv=3) <= 0).all()


def test_estimator_one_parameter_may_be_a_vector():
    X, Y = demand_table(n_y=1)
    flat, column = regressor().fit(X, Y[:, 0]), regressor().fit(X, Y)
    assert flat.predict(X).shape == (60,)
    assert column.predict(X).shape == (60, 1)
    assert np.array_equal(flat.predict(X), column.predict(X)[:, 0])
    assert flat.score(X, Y[:, 0]) == column.score(X, Y)


def test_estimator_a_module_of_the_users_own():
    X, Y = demand_table()
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    before = net[0].weight.clone()
    fitted = regressor(predictor=net).fit(X, Y)
    assert fitted.predict(X).shape == (60, 3)
    assert torch.equal(net[0].weight, before), "the module that was given stays as it was"


def curved(n=200):
    X, Y = demand_table(n)
    return X, Y + 3 * (X**2).sum(1, keepdims=True)


def test_estimator_the_predictor_that_predicts_better_is_taken():
    X, Y = curved(80)
    settings = {"start_epochs": 200}
    auto = regressor(method="pfl", predictor="auto", settings=settings).fit(X, Y)
    assert auto.predictor_name_ == "network"
    alone = regressor(method="pfl", predictor="network", settings=settings).fit(X, Y)
    assert auto.validation_regret_ == alone.validation_regret_


@pytest.mark.parametrize(("lower", "taken"), [(0.04, "linear"), (0.06, "network")])
def test_estimator_a_network_is_taken_where_its_loss_is_a_tenth_lower(lower, taken, monkeypatch):
    X, Y = demand_table(100)
    error = np.random.default_rng(0).normal(size=Y.shape)
    monkeypatch.setattr(
        "fewsolves.fitting.starts.out_of_fold",
        lambda name, untrained, X, Y, **_: (
            Y + (error[: len(Y)] if name == "linear" else (1 - lower) * error[len(Y) - 1 :: -1])
        ),
    )
    auto = regressor(method="pfl", predictor="auto").fit(X, Y)
    assert auto.predictor_name_ == taken


@pytest.mark.parametrize(("table", "taken"), [(demand_table, "linear"), (curved, "network")])
def test_estimator_only_regrets_that_clearly_disagree_overrule_the_prediction_loss(table, taken, monkeypatch):
    X, Y = table(200)
    monkeypatch.setattr(
        "fewsolves.fitting.starts.out_of_fold",
        lambda name, untrained, X, Y, **_: Y + (0.0 if name == "linear" else 1.0),
    )
    auto = regressor(method="pfl", predictor="auto", settings={"start_epochs": 200}).fit(X, Y)
    assert auto.predictor_name_ == taken


def test_estimator_instances_travel_with_the_rows():
    X, Y = demand_table()
    prices = np.linspace(1, 5, len(X))
    problem = fs.Problem(
        solve=lambda y_hat, price: y_hat / price, cost=lambda y, z, price: float(np.abs(y - z * price).sum())
    )
    fitted = regressor(problem).fit(X, Y, instances=prices)
    z = fitted.decide(X, instances=prices)
    assert np.allclose(z, fitted.predict(X) / prices[:, None])
    with pytest.raises(InputError, match="instances has 2 entries"):
        fitted.decide(X, instances=prices[:2])


def test_estimator_decisions_may_differ_in_length():
    X, Y = demand_table()
    problem = fs.Problem(solve=lambda y_hat: y_hat[y_hat > 10.5], cost=lambda y, z: float(len(z)))
    z = regressor(problem).fit(X, Y).decide(X)
    assert z.dtype == object
    assert len(z) == 60


def test_estimator_spo_plus_refuses_with_the_reason():
    with pytest.raises(NotApplicableError, match=r"linear.*the default, 'staged'"):
        regressor(method="spo+").fit(*demand_table())
    regressor(CHEAPEST, method="spo+").fit(*demand_table())


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"method": "magic"}, "unknown method 'magic'; choose one of pfl"),
        ({"predictor": "tree"}, "got 'tree'"),
        ({"settings": {"speed": 9}}, "no setting 'speed'; choose one of"),
        ({"workers": 0}, "at least 1"),
    ],
)
def test_estimator_wrong_arguments_say_what_is_right(changes, says):
    with pytest.raises(InputError, match=says):
        fs.DecisionRegressor(NEWSVENDOR, **{"method": "sfge", "predictor": "linear"} | changes).fit(*demand_table())


def test_estimator_a_solver_that_fails_is_named_before_training():
    def solve(y_hat):
        raise RuntimeError("no licence")

    with pytest.raises(SolverError, match="no licence"):
        regressor(fs.Problem(solve=solve, cost=NEWSVENDOR.cost)).fit(*demand_table())


def test_estimator_a_budget_is_kept_and_reported():
    X, Y = demand_table()
    model = regressor(budget=fs.Budget(solves=120), settings=QUICK | {"max_epochs": 9})
    with pytest.warns(UserWarning, match="the budget has no room for"):
        model.fit(X, Y)
    assert model.calls_.total("solve") <= 120
    assert model.stopped_.startswith("the budget was spent")
    with pytest.raises(InputError, match="raise it to solves="):
        regressor(budget=fs.Budget(solves=10)).fit(X, Y)


def test_estimator_a_folder_makes_the_second_fit_free(tmp_path):
    X, Y = demand_table()
    solved = []

    def solve(y_hat):
        solved.append(1)
        return y_hat

    problem = fs.Problem(solve=solve, cost=NEWSVENDOR.cost)
    first = regressor(problem, folder=tmp_path / "run").fit(X, Y)
    paid = len(solved)
    again = regressor(problem, folder=tmp_path / "run").fit(X, Y)
    assert 0 < paid <= len(solved) <= paid + CHECKED, "but for a second look at what is on record"
    assert np.array_equal(first.predict(X), again.predict(X))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"time_limit": -1.0}, "time_limit must be a number above 0"),
        ({"on_failure": "hope"}, "on_failure must be 'raise'"),
        ({"execution": "serial", "workers": 2}, "execution='serial' runs in this process"),
        ({"asynchronous": True}, "asynchronous=True is for gp-surrogate"),
    ],
)
def test_estimator_how_solves_run_is_checked(changes, says):
    with pytest.raises(InputError, match=says):
        regressor(**changes).fit(*demand_table())


def test_estimator_solves_that_fail_are_left_out_of_the_score():
    X, Y = demand_table()

    def solve(y_hat):
        if y_hat[0] > 12.5:
            raise RuntimeError("no solution")
        return y_hat

    model = regressor(fs.Problem(solve=solve, cost=NEWSVENDOR.cost), method="pfl")
    model.fit(X[Y[:, 0] < 12], Y[Y[:, 0] < 12])
    model.on_failure = "skip"
    with pytest.warns(fs.FewsolvesWarning, match="of 60 rows 29 have no label"):
        assert np.isfinite(model.score(X, Y))
    with pytest.raises(SolverError, match="every solve of the"):
        model.score(X[:3], Y[:3] + 1000.0)


def test_estimator_the_last_rows_choose_the_result():
    X, Y = demand_table()
    last_quarter = regressor(validation="last 25 %").fit(X, Y)
    given = regressor(validation=range(45, 60)).fit(X, Y)
    assert np.array_equal(last_quarter.predict(X), given.predict(X))
    assert last_quarter.calls_.counts["solve"]["labels"] == 60
    with pytest.raises(InputError, match="validation is a share"):
        regressor(validation="last").fit(X, Y)


@pytest.mark.parametrize("method", ["pfl", "sfge", "shift", "gp-surrogate", "staged"])
def test_estimator_rows_of_no_weight_cost_nothing_and_teach_nothing(method):
    X, Y = demand_table()
    weight, solved = (np.arange(60) % 3 > 0).astype(float), []

    def solve(y_hat):
        solved.append(1)
        return y_hat

    spoiled = np.where(weight[:, None] > 0, Y, 1e6)
    problem = fs.Problem(solve=solve, cost=NEWSVENDOR.cost)
    models = [
        regressor(problem, method=method, validation="last 25 %").fit(X, table, sample_weight=weight)
        for table in (Y, spoiled)
    ]
    assert np.array_equal(*(model.predict(X) for model in models))
    assert models[0].calls_.counts["solve"]["labels"] <= 40


@pytest.mark.parametrize("method", ["pfl", "sfge", "gp-surrogate", "staged"])
@pytest.mark.filterwarnings("ignore:the surrogate is over-confident", "ignore:.*training solves gained nothing")
def test_estimator_a_weight_pulls_the_predictor_to_its_rows(method):
    """The same x, two demands: the prediction goes to the heavier one."""
    X, Y = np.zeros((80, 1)), np.tile([[10.0], [20.0]], (40, 1)) + np.random.default_rng(0).normal(size=(80, 1))
    heavy = {"low": np.tile([9.0, 1.0], 40), "high": np.tile([1.0, 9.0], 40), "none": None}
    problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: float(np.abs(y - z).sum()))
    settings = {"start_epochs": 400 if method == "pfl" else 100} | (
        {"solves": 4.0} if method == "staged" else {"learning_rate": 0.02, "max_epochs": 10}
    )
    found = {
        name: float(
            regressor(problem, method=method, settings=settings, validation=range(60, 80))
            .fit(X, Y, sample_weight=weight)
            .predict(X[:1])[0, 0]
        )
        for name, weight in heavy.items()
    }
    assert found["low"] + 0.3 < found["none"] < found["high"] - 0.3


def test_estimator_a_score_may_be_weighted():
    X, Y = demand_table()
    model = regressor(method="pfl").fit(X, Y)
    one = np.eye(60)[7]
    assert model.score(X, Y, sample_weight=one) == pytest.approx(model.score(X[7:8], Y[7:8]))
    assert model.score(X, Y, sample_weight=np.full(60, 3.0)) == pytest.approx(model.score(X, Y))


def test_estimator_groups_are_not_torn_apart():
    X, Y = demand_table()
    same_group = np.repeat(np.arange(12), 5)
    model = regressor(validation=0.25)
    model.fit(X, Y, groups=same_group)
    with pytest.raises(InputError, match="one label per row"):
        model.fit(X, Y, groups=same_group[:3])


@pytest.mark.parametrize("method", ["pfl", "sfge", "shift", "gp-surrogate", "staged", "egl-mse"])
def test_estimator_a_solver_never_sees_a_prediction_beyond_the_bounds(method):
    X, Y = demand_table(40)
    Y, seen = np.maximum(Y - 8.0, 0.0), []

    def solve(y_hat):
        seen.append(y_hat)
        return y_hat

    problem = fs.Problem(solve=solve, cost=NEWSVENDOR.cost, lower=0.0, upper=[20.0, 20.0, 30.0])
    model = regressor(problem, method=method).fit(X, Y)
    model.decide(10 * X)
    assert np.min(seen) >= 0.0
    assert (np.max(seen, axis=0) <= [20.0, 20.0, 30.0]).all()
    assert model.predict(10 * X).min() >= 0.0
    with pytest.raises(InputError, match="beyond the bounds"):
        model.score(X, Y - 5.0)


def test_estimator_methods_that_solve_beyond_any_bounds_say_so():
    bounded = fs.Problem(solve=CHEAPEST.solve, cost=CHEAPEST.cost, linear="min", lower=0.0)
    with pytest.raises(NotApplicableError, match="2 y_hat - y"):
        regressor(bounded, method="spo+").fit(*demand_table())


def test_estimator_a_fit_tells_what_came_of_it():
    X, Y = demand_table()
    fitted = regressor(method="gp-surrogate", settings=QUICK | {"guard": -1e9}).fit(X, Y)
    assert fitted.summary_.message.startswith("Regret fell by ")
    assert fitted.summary_.solves == fitted.calls_.total("solve")
    assert not fitted.kept_start_
    assert fitted.warnings_ == fitted.failures_ == []
    assert sorted([*fitted.split_.train, *fitted.split_.valid]) == list(range(60))
    assert fitted.calibration_.n == len(fitted.split_.train)
    assert fitted.run_.result["calibration"]["n"] == fitted.calibration_.n
    rows = np.arange(len(fitted.split_.train))
    y_hat = torch.as_tensor(fitted.predict(X[fitted.split_.train]))
    mean, std = pickle.loads(pickle.dumps(fitted)).surrogate_.regret(y_hat, rows)
    assert mean.shape == std.shape == rows.shape
    plain = regressor().fit(X, Y)
    assert plain.surrogate_ is plain.calibration_ is None


def test_estimator_a_start_that_was_kept_is_a_warning_and_its_calibration_stays():
    X, Y = demand_table()
    message = "Nothing was gained: no predictor clearly beat the prediction-focused start"
    with pytest.warns(UserWarning, match=message) as caught:
        fitted = regressor(method="gp-surrogate", settings=QUICK | {"guard": 1e9}).fit(X, Y)
    assert Path(caught[0].filename).samefile(__file__), "it points to the call of `fit`"
    assert fitted.kept_start_
    assert fitted.warnings_ == [fitted.summary_.message]
    assert "kept its start" in fitted.stopped_
    assert fitted.calibration_.n > 20, "it was paid for"
    assert fitted.validation_regret_ == fitted.start_validation_regret_


def test_estimator_calls_that_failed_are_listed_with_their_rows():
    X, Y = demand_table()

    def solve(y_hat):
        if abs(y_hat - Y[3]).max() < 1e-9:
            raise fs.Infeasible("nothing fits")
        return y_hat

    model = regressor(fs.Problem(solve=solve, cost=NEWSVENDOR.cost), on_failure="skip")
    with pytest.warns(UserWarning, match="nothing fits"):
        model.fit(X, Y)
    assert {failure.row for failure in model.failures_} == {3}
    assert any("This row is left out" in message for message in model.warnings_)
    assert 3 not in model.split_.train


def test_estimator_a_folder_gets_history_result_and_report(tmp_path):
    X, Y = demand_table()
    fitted = regressor(folder=tmp_path / "run", write_report=True).fit(X, Y)
    page = (tmp_path / "run" / "report.html").read_text()
    assert fitted.summary_.next in page
    assert "newsvendor" in page
    again = fs.report(tmp_path / "run", tmp_path / "again.html")
    assert again.read_text() == page
    assert fs.report(fitted, tmp_path / "fitted.html").read_text() == page


def test_estimator_a_report_needs_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted = regressor().fit(*demand_table())
    assert fitted.report() == Path("report.html")
    assert "newsvendor" in Path("report.html").read_text()
    assert fitted.report("elsewhere.html").exists()
    with pytest.raises(NotFittedError):
        regressor().report()


def test_estimator_a_notebook_shows_what_came_of_it_or_what_will_be_fitted():
    new = regressor()._repr_mimebundle_()
    assert "sk-estimator" in new["text/html"]
    fitted = regressor(fs.Problem(solve=NEWSVENDOR.solve, cost=NEWSVENDOR.cost, name="<b>")).fit(*demand_table())
    shown = fitted._repr_mimebundle_()
    assert shown["text/plain"] == repr(fitted)
    assert fitted.summary_.next in shown["text/html"]
    assert "48 to train, 12 to validate" in shown["text/html"]


def test_estimator_a_plain_install_fits_without_a_report(tmp_path):
    """Without the extra `report` a folder gets all but the page; asked for, it says what to install."""
    code = (
        "import sys; sys.modules['matplotlib'] = sys.modules['jinja2'] = sys.modules['rich'] = None\n"
        "import fewsolves as fs\n"
        "from problems_of_users import NEWSVENDOR, demand_table\n"
        "quick = {'max_epochs': 1, 'start_epochs': 1}\n"
        "model = fs.DecisionRegressor(NEWSVENDOR, 'sfge', 'linear', quick, folder=sys.argv[1])\n"
        "model.fit(*demand_table())\n"
        "try: model.report()\n"
        "except ImportError as error: print(error)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "pip install 'fewsolves[report]'" in done.stdout
    assert (tmp_path / "result.json").exists()
    assert not (tmp_path / "report.html").exists()


def test_estimator_a_setting_is_a_parameter_that_a_search_reaches():
    model = fs.DecisionRegressor(NEWSVENDOR, "sfge", settings={"max_epochs": 2})
    assert model.get_params()["settings__max_epochs"] == 2
    assert "settings__max_epochs" not in model.get_params(deep=False)
    before = model.settings
    assert clone(model).set_params(settings__patience=7, method="sfge").settings == {"max_epochs": 2, "patience": 7}
    assert model.set_params(settings__max_epochs=3) is model
    assert (model.settings, before) == ({"max_epochs": 3}, {"max_epochs": 2}), "the user's mapping is not changed"
    fresh = fs.DecisionRegressor(NEWSVENDOR).set_params(settings__patience=7)
    assert fresh.settings == {"patience": 7}
    with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
        model.set_params(nothing=1)
    with pytest.raises(fs.InputError, match="no setting 'speed'"):
        model.set_params(settings__speed=1).fit(*demand_table(20, 2))


def test_estimator_a_warning_points_at_the_line_that_called_fit():
    flat = fs.Problem(solve=NEWSVENDOR.solve, cost=lambda y, z: 1.0)
    with pytest.warns(UserWarning, match="the regret is flat") as caught:
        regressor(flat).fit(*demand_table(20, 2))
    assert {Path(one.filename).name for one in caught} == {"test_estimator.py"}


def test_estimator_missing_instances_are_refused_by_name():
    X, Y = demand_table()
    problem = fs.Problem(solve=lambda y, known: y / known["price"], cost=lambda y, z, known: float(z.sum()))
    frame = pd.DataFrame({"price": np.linspace(1, 2, 60), "site": ["a", "b"] * 30}, index=range(100, 160))
    by_frame = regressor(problem, method="pfl").fit(X, Y, instances=frame)
    by_dicts = regressor(problem, method="pfl").fit(X, Y, instances=frame.to_dict("records"))
    assert np.array_equal(by_frame.decide(X, instances=frame), by_dicts.decide(X, instances=frame.to_dict("records")))
    for forgetful in (lambda: by_frame.decide(X), lambda: by_frame.score(X, Y)):
        with pytest.raises(InputError, match="known data by row: give instances=, one entry for each row of X"):
            forgetful()
    with pytest.raises(InputError, match="instances is a sequence with one entry per row"):
        by_frame.decide(X, instances={"price": 1.0})


def test_estimator_a_saved_model_asks_for_forgotten_instances_too(tmp_path):
    X, Y = demand_table()
    problem = fs.Problem(solve=lambda y, known: y / known, cost=lambda y, z, known: float(z.sum()))
    loaded = fs.load(regressor(problem, method="pfl").fit(X, Y, instances=[2.0] * 60).save(tmp_path), problem)
    with pytest.raises(InputError, match="give instances="):
        loaded.decide(X)
    assert loaded.decide(X[:2], instances=[2.0, 2.0]).shape == (2, 3)


def test_estimator_a_call_that_fails_can_be_made_again():
    X, Y = demand_table()

    def solve(y_hat, known):
        if known["site"] == 7:
            raise RuntimeError("no licence")
        return y_hat

    known = [{"site": k} for k in range(60)]
    problem = fs.Problem(solve=solve, cost=lambda y, z, known: NEWSVENDOR.cost(y, z), instances=known)
    with pytest.raises(SolverError, match="no licence") as failed:
        regressor(problem).fit(X, Y)
    error = failed.value
    assert (error.row, error.kind) == (7, "solve")
    assert error.arguments[1] == {"site": 7}
    with pytest.raises(RuntimeError, match="no licence"):
        problem.solve(*error.arguments)
    assert f"problem.solve(np.array({error.y_hat.tolist()}), {{'site': 7}})" in error.__notes__[0]


def test_estimator_after_a_fit_that_failed_is_not_fitted():
    X, Y = demand_table()
    model = regressor(fs.Problem(solve=lambda y_hat: 1 / 0, cost=NEWSVENDOR.cost))
    with pytest.raises(SolverError, match="division by zero"):
        model.fit(pd.DataFrame(X).add_prefix("x"), Y)
    for call in (
        lambda: model.predict(X),
        lambda: model.decide(X),
        lambda: model.refit(X, Y),
        lambda: model.score(X, Y),
    ):
        with pytest.raises(NotFittedError):
            call()


def test_estimator_failures_that_do_not_stop_a_fit_name_the_call():
    X, Y = demand_table()

    def cost(y, z):
        if not np.array_equal(y, z) and z[1] > 13.0:
            raise ValueError("too much")
        return NEWSVENDOR.cost(y, z)

    def solve(y_hat):
        if y_hat[0] > 13.0 and y_hat[0] not in Y:
            raise ValueError("too dear")
        return y_hat

    model = regressor(fs.Problem(solve=solve, cost=cost), on_failure="skip", validation=0.4)
    with pytest.warns(UserWarning, match="calls failed"):
        model.fit(X, Y)
    kinds = {one.kind: one for one in model.failures_}
    with pytest.raises(ValueError, match="too dear"):
        eval(kinds["solve"].call, {"np": np, "problem": model.problem})
    assert kinds["solve"].y_hat[0] > 13.0
    with pytest.raises(ValueError, match="too much"):
        eval(kinds["cost"].call, {"np": np, "problem": model.problem})
    assert kinds["cost"].y_hat is None


def test_estimator_names_of_targets_are_kept_and_set_output_is_respected():
    X, Y = demand_table()
    frame, truth = pd.DataFrame(X, index=range(7, 67)).add_prefix("x"), pd.DataFrame(Y, columns=["a", "b", "c"])
    truth.index = frame.index
    model = regressor(method="pfl").fit(frame, truth)
    predicted = model.predict(frame[:3])
    assert isinstance(predicted, pd.DataFrame)
    assert (list(predicted.columns), list(predicted.index)) == (["a", "b", "c"], [7, 8, 9])
    assert isinstance(model.set_output(transform="default").predict(frame), np.ndarray)
    assert isinstance(clone(model).fit(frame, truth).predict(frame), np.ndarray), "a clone keeps it"
    plain = regressor(method="pfl").fit(X, Y)
    assert isinstance(plain.predict(X), np.ndarray)
    assert list(plain.set_output(transform="pandas").predict(X).columns) == ["y0", "y1", "y2"]
    with config_context(transform_output="pandas"):
        assert isinstance(regressor(method="pfl").fit(X, Y).predict(X), pd.DataFrame)
    assert model.score(frame, truth) == plain.score(X, Y)
    assert np.array_equal(model.decide(frame), plain.decide(X))
    decided = clone(model).set_output(transform="pandas").fit(frame, truth).decide(frame[:3])
    assert (list(decided.columns), list(decided.index)) == (["a", "b", "c"], [7, 8, 9]), "a decision for each target"
    assert isinstance(plain.set_output(transform="default").decide(X), np.ndarray)
    with pytest.raises(InputError, match="'default', 'pandas' or None, got 'list'"):
        model.set_output(transform="list")


@pytest.mark.parametrize("method", ["sfge", "staged", "pfl"])
def test_estimator_refuses_a_profit_given_as_a_cost(method):
    X, Y = demand_table()
    problem = fs.Problem(lambda y: y, lambda y, z: -NEWSVENDOR.cost(y, z))
    with pytest.raises(InputError, match=r"`cost` is a profit: it is minimised, so return its negative. Or `solve` is"):
        fs.DecisionRegressor(problem, method, predictor="linear", validation=0.3, verbose=False).fit(X, Y)


def test_estimator_advises_only_methods_that_the_budget_pays_for():
    """The default labels a sample of the rows with so few solves; other methods label and validate on all."""
    X, Y = demand_table(80)
    with pytest.raises(InputError, match=r"raise it to solves=\d+ at least, or give fewer rows: no method fits"):
        regressor(budget=fs.Budget(solves=10), method="staged").fit(X, Y)


def test_estimator_warns_of_decisions_that_are_better_than_those_at_the_truth():
    X, Y = demand_table(80)
    swapped = fs.Problem(  # the truth is the first argument of `cost`
        solve=np.ceil, cost=lambda z, y: float(10 * np.maximum(y - z, 0).sum() + np.maximum(z - y, 0).sum())
    )
    with pytest.warns(fs.FewsolvesWarning, match=r"regrets of the result are below 0[\s\S]*its second the decision"):
        regressor(swapped, method="staged", predictor="linear", settings={"solves": 4}).fit(X, Y)


def test_estimator_recognises_swapped_tables_and_one_column():
    X, Y = demand_table()

    def solve(y_hat):
        if len(y_hat) != 3:
            raise ValueError("Invalid shape of `A`")
        return y_hat

    model = fs.DecisionRegressor(fs.Problem(solve, NEWSVENDOR.cost), predictor="linear", verbose=False)
    said = r"of `A`. X and Y are swapped: .* answers the first row of X \(X is \(60, 3\), Y is \(60, 4\)\)"
    with pytest.raises(fs.SolverError, match=said):
        model.fit(Y, X)
    said = r"`solve` got 4 numbers, .*; X has 5 \(X is \(60, 5\), Y is \(60, 4\)\). .* X and Y are swapped"
    with pytest.raises(fs.SolverError, match=said):
        model.fit(np.zeros((60, 5)), X)
    with pytest.raises(fs.SolverError, match="`solve` got one number, since Y has one column"):
        model.fit(X, Y[:, 0])
    said = r"5 of the first 5 calls failed [\s\S]* of `A`. X and Y are swapped: "
    with pytest.raises(fs.SolverError, match=said):
        model.set_params(on_failure="skip").fit(Y, X)
    with pytest.raises(fs.SolverError, match=r"of `A`. X and Y are swapped: "):
        fs.quote(model.problem, Y, X)
    [found] = fs.doctor(model.problem, Y, X).findings
    assert found.do.startswith("X and Y are swapped: `solve` fails at a row of Y, and answers the first row of X")


@pytest.mark.parametrize("lower", [0.0, [0.0, 0.0, 0.0]])
def test_estimator_recognises_swapped_tables_by_bounds_before_anything_is_paid(lower):
    X, Y = demand_table()
    solved = []
    problem = fs.Problem(lambda y: solved.append(y) or y, NEWSVENDOR.cost, lower=lower)
    said = r"X and Y seem to be swapped: X, of shape \(60, 3\), lies within .* and Y, of shape \(60, 4\), does not"
    with pytest.raises(InputError, match=said):
        fs.DecisionRegressor(problem, verbose=False).fit(np.abs(Y), X)
    with pytest.raises(InputError, match=said):
        fs.doctor(problem, np.abs(Y), X)
    assert not solved
    with pytest.raises(InputError, match=r"^Y has .* beyond the bounds"):
        fs.DecisionRegressor(problem, verbose=False).fit(X, Y - 100)


def test_estimator_one_event_is_one_warning():
    X, Y = demand_table()
    flat = fs.Problem(lambda y: y, lambda y, z: 1.0)
    with pytest.warns(fs.FewsolvesWarning) as caught:
        model = fs.DecisionRegressor(flat, "sfge", predictor="linear", settings=QUICK, verbose=False).fit(X, Y)
    assert len(caught) == 1
    assert len(model.warnings_) > 1
    assert str(caught[0].message) == "\n".join(model.warnings_)


def test_estimator_regrets_that_are_now_and_then_below_zero_are_not_remarked_on(recwarn):
    X, Y = demand_table()
    off = fs.Problem(solve=lambda y: y + 0.3, cost=NEWSVENDOR.cost)  # a heuristic that is a little off
    model = regressor(off, settings=QUICK | {"start_epochs": 100}).fit(X, Y)
    assert not [one for one in recwarn if "below 0" in str(one.message)]
    assert model.start_validation_regret_ > 0


def test_estimator_texts_in_x_are_refused_with_what_to_do():
    words = np.array([["rain", 1.0]] * 20, dtype=object)
    with pytest.raises(fs.InputError, match=r"string to float: 'rain'. Encode texts .* a forecaster of your own"):
        fs.DecisionRegressor(NEWSVENDOR).fit(words, np.ones((20, 1)))


def test_estimator_a_ledger_of_another_problem_is_adopted_as_its_error_says(tmp_path):
    X, Y = demand_table(40, 2)
    first, rounded = (fs.Problem(solve=solve, cost=NEWSVENDOR.cost) for solve in (NEWSVENDOR.solve, np.round))
    options = {"method": "sfge", "predictor": "linear", "settings": QUICK, "verbose": False, "folder": tmp_path}
    fs.DecisionRegressor(first, **options).fit(X, Y)
    with pytest.raises(fs.errors.LedgerError, match=r"another problem: .*DecisionRegressor\(adopt=True\)"):
        fs.DecisionRegressor(rounded, **options).fit(X, Y)
    adopted = fs.DecisionRegressor(rounded, adopt=True, **options).fit(X, Y)
    assert adopted.calls_.shared["solve"] + adopted.calls_.replayed["solve"] > 0


@pytest.mark.parametrize("name", ["instances", "sample_weight", "groups"])
def test_estimator_refuses_what_comes_beside_x_with_its_labels_in_another_order(name):
    X, Y = demand_table(12)
    beside = pd.Series(np.arange(12) % 3)[::-1]
    with pytest.raises(InputError, match=rf"X and {name} have the same labels in another order: row 0 is 0 in X and"):
        regressor().fit(pd.DataFrame(X), Y, **{name: beside})


@pytest.mark.parametrize("saved", [False, True])
def test_estimator_refuses_to_judge_rows_with_labels_in_another_order(saved, tmp_path):
    X, Y = demand_table(12)
    model = regressor(method="pfl").fit(X, Y)
    if saved:
        model.save(tmp_path)
        model = fs.load(tmp_path, NEWSVENDOR)
    table, truth = pd.DataFrame(X), pd.DataFrame(Y)
    assert model.score(table, truth) == model.score(X, Y)
    ones = pd.Series(np.ones(12))[::-1]
    for judged in (
        lambda: model.score(table, truth[::-1]),
        lambda: model.regrets(table, truth[::-1]),
        lambda: model.score(table, truth, sample_weight=ones),
        lambda: model.decide(table, ones),
        lambda: fs.compare({"a": model, "b": model}, table, truth[::-1]),
    ):
        with pytest.raises(InputError, match="same labels in another order"):
            judged()


def test_estimator_refuses_to_judge_by_a_truth_of_other_columns_and_to_save_nowhere():
    X, Y = demand_table(12)
    model = regressor(method="pfl").fit(X, Y)
    for judged in (model.score, model.regrets):
        with pytest.raises(InputError, match=r"y has shape \(12, 1\), and the model predicts 3 parameters"):
            judged(X, Y[:, :1])
    with pytest.raises(InputError, match="a model is saved in a folder: give its path, got None"):
        model.save(None)
