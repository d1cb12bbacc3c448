"""A plan: what it refuses before anything is paid, what it fills in, and that a run stays the same run."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import fewsolves as fs
from fewsolves.cli import main
from fewsolves.data import Split
from fewsolves.errors import InputError, NotApplicableError
from fewsolves.fitting.folder import digest_of_call
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.prepare import prepare
from fewsolves.methods.registry import METHODS
from fewsolves.oracle import Budget, SolveConfig
from problems_of_users import NEWSVENDOR, demand_table, shortage_cost

X, Y = demand_table(30)


class Solver:
    """Counts its calls."""

    def __init__(self):
        self.calls = 0
        self.problem = fs.Problem(solve=self.solve, cost=self.cost, name="counted")

    def solve(self, y_hat):
        self.calls += 1
        return y_hat

    def cost(self, y, z):
        self.calls += 1
        return shortage_cost(y, z)


WRONG = [
    ({"settings": {"patience": "abc"}}, "patience must be a whole number of at least 1, got 'abc'"),
    ({"settings": {"patience": -5}}, "patience must be a whole number of at least 1, got -5"),
    ({"settings": {"batch_size": 0}}, "batch_size must be a whole number of at least 1, got 0"),
    ({"settings": {"learning_rate": float("nan")}}, "learning_rate must be a number above 0, got nan"),
    ({"settings": {"max_epochs": True}}, "max_epochs must be a whole number of at least 0, got True"),
    ({"settings": {"smoothing": "foo"}}, "smoothing must be 'samples', 'centres', 'bandwidth' or 'off', got 'foo'"),
    ({"settings": {"pessimism": -1}}, "pessimism must be a number of at least 0, got -1"),
    ({"settings": {"sharing": True}}, "it needs design='box'"),
    ({"settings": {"speed": 9}}, "has no setting 'speed'; did you mean 'spread'\\? It has averaging, batch_size, beta"),
    ({"settings": {"patienc": 9}}, "has no setting 'patienc'; did you mean 'patience'\\? It has averaging"),
    (
        {"method": "staged", "settings": {"patience": 9}},
        "method 'staged' has no setting 'patience'; choose one of cost_calls",
    ),
    ({"settings": ["patience"]}, "settings is a mapping"),
    ({"settings": fs.TrainConfig()}, "settings is a mapping"),
    ({"settings": {"fallback": "spo+"}}, "fallback 'spo\\+' does not fit 'counted'"),
    ({"method": "magic"}, "unknown method 'magic'; choose one of pfl"),
    ({"method": "spo+"}, "linear in the predicted parameters"),
    ({"predictor": "tree"}, "got 'tree'"),
    ({"predictor": 3}, "got 3"),
    ({"budget": 1000}, "budget must be a Budget or None, got 1000; write Budget\\(solves=1000\\)"),
    ({"budget": "much"}, "got 'much'; such as Budget"),
    ({"budget": Budget(solves=10)}, "raise it to solves="),
    ({"method": "sfge", "solving": SolveConfig(asynchronous=True)}, "asynchronous=True is for gp-surrogate"),
    (
        {"settings": {"fallback": "sfge"}, "solving": SolveConfig(asynchronous=True)},
        "asynchronous solves need fallback='acquire'",
    ),
    ({"ledger": "somewhere"}, "give folder= too"),
    ({"problem": shortage_cost}, "problem must be a Problem, got <function shortage_cost"),
    ({"problem": NEWSVENDOR.with_instances(range(3))}, "instances has 3 entries, Y has 30 rows"),
    ({"solving": {"workers": 2}}, "solving must be a SolveConfig or None"),
    ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
    ({"seed": "lucky"}, "seed must be a whole number of at least 0, got 'lucky'"),
    ({"X": X[1:]}, "X has 29 rows and Y has 30"),
    ({"Y": np.where(Y[4, 1] == Y, np.nan, Y)}, "Y contains NaN at row 4, column 1"),
    ({"X": X[:4], "Y": Y[:4]}, "n_samples=4"),
    ({"split": Split(np.arange(20), np.arange(20, 31), np.arange(0))}, "a row to valid on that the table has not"),
    ({"split": Split(np.arange(-1, 20), np.arange(20, 30), np.arange(0))}, "a row to train on that the table has not"),
]


@pytest.mark.parametrize(("wrong", "says"), WRONG, ids=lambda given: "-".join(given) if isinstance(given, dict) else "")
def test_plan_what_cannot_work_is_refused_before_anything_is_paid(wrong, says, tmp_path):
    solver = Solver()
    given = {"problem": solver.problem, "X": X, "Y": Y, "method": "gp-surrogate"} | wrong
    with pytest.raises((InputError, NotApplicableError), match=says):
        prepare(Plan(**given))
    assert solver.calls == 0


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"settings": {"solves": "abc"}}, "solves must be"),
        ({"settings": {"patience": 7}}, "has no setting 'patience'"),
        ({"budget": 1000}, "write Budget"),
        ({"workers": "two"}, "workers must be a whole number of at least 1, got 'two'"),
    ],
)
def test_plan_the_estimator_refuses_it_too(wrong, says):
    solver = Solver()
    with pytest.raises(InputError, match=says):
        fs.DecisionRegressor(solver.problem, **wrong).fit(X, Y)
    assert solver.calls == 0


@pytest.mark.parametrize("setting", ["patience=abc", "batch_size=0", "smoothing=foo", "pessimism=-1"])
def test_plan_the_command_line_refuses_it_too(setting, tmp_path):
    arguments = ["train", "--benchmark", "kp-capacity", "--method", "gp-surrogate", "--data", "n=40", "--set", setting]
    done = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "run")])
    assert done.exit_code == 2
    name, _, value = setting.partition("=")
    assert f"Error: {name} must be" in done.output
    assert value in done.output
    assert not (tmp_path / "run").exists(), "no ledger: nothing was paid"


def test_plan_what_is_left_open_is_filled_in():
    prepared = prepare(Plan(NEWSVENDOR, X, Y, method="sfge", seed=np.int64(3)))
    plan = prepared.plan
    assert [len(part) for part in vars(prepared.split).values()] == [24, 6, 0]
    assert plan.solving == SolveConfig()
    assert plan.budget == Budget()
    assert plan.method.common.warm_start is True
    assert prepared.starts == ("network", "linear")
    assert type(plan.seed) is int
    assert plan.folder is plan.ledger is None


def test_plan_is_frozen_and_can_be_replaced_with_changes(tmp_path):
    plan = Plan(NEWSVENDOR, X, Y, method="sfge", settings={"patience": 7}, folder=str(tmp_path))
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.seed = 3
    other = dataclasses.replace(plan, seed=3)
    assert (other.checked.seed, other.checked.method.common.patience, other.checked.folder) == (3, 7, tmp_path)
    with pytest.raises(InputError, match="predictor"):
        dataclasses.replace(plan, predictor="tree")


def test_plan_the_table_is_the_plans_own():
    mine = Y.copy()
    plan = Plan(NEWSVENDOR, X, mine, method="pfl")
    mine[:] = 0
    assert np.array_equal(plan.checked.Y, Y)


SMALL_X = np.arange(12.0).reshape(6, 2) / 4
SMALL_SPLIT = Split(np.arange(3), np.arange(3, 5), np.arange(5, 6))
# of runs by version 0.1.0 (commit e118d38): folders that it left behind go on only while these stay
IDENTITIES = {
    "pfl": "26398d21dd5772bc8bd8105cdab9a608",
    "shift": "02bdaca3781e7338a886b1df14791747",
    "sfge": "887633b3d013658f0a3db249895b265b",
    "spo+": "98b302220d71cad21e224844927f9462",
    "gp-surrogate": "c715fbe535f0739a664b05c8a24d984c",
    "gp-surrogate-paper": "9514b37531096f566fd8fb2caaa9fa96",
    "memo": "5eba05c63c61d2c19e93f94a12442c1e",
    "pg": "698957a53a4b86f043627c96738fd36f",
    "perturbed-fy": "71df71e58e45583381bed2fcec49199f",
    "lancer": "679907be09c8eb302ae422aaa6ed134b",
    "lodl-mse": "caf70ab49f72b7fbccf643f20eb99c70",
    "lodl-directed-quadratic": "6076fcc063915b26bcf4da652805c722",
    "egl-mse": "54cb0516d7456ee9600a125d24a08121",
    "egl-directed-mse": "b4af48f9df3f8b02a3d7ab545bc2c3c7",
}
LINEAR = fs.Problem(solve=lambda y: y, cost=lambda y, z: 0.0, linear="min")
ADAM = {"start_epochs": 500}  # every start was made so then


@pytest.mark.parametrize("method", IDENTITIES)
def test_plan_a_run_is_the_same_run_as_in_version_0_1_0(method):
    plan = Plan(LINEAR, SMALL_X, SMALL_X, SMALL_SPLIT, method=method, settings=ADAM, predictor="linear", seed=3)
    assert digest_of_call(prepare(plan).about) == IDENTITIES[method]


def test_plan_so_is_one_with_settings_and_terms_of_its_own():
    changed = ADAM | {"patience": 7, "sigma": 0.2, "learning_rate": 1}
    plan = Plan(LINEAR, SMALL_X, SMALL_X, SMALL_SPLIT, method="sfge", settings=changed)
    assert digest_of_call(prepare(plan).about) == "f9047012f04191c160539b36ca30f0af"
    assert digest_of_call(plan.checked.terms) == "60dc19477056edc5a623886cd09686f3"
    solving = SolveConfig(on_failure="penalise", penalty=3.0, workers=2)
    plan = Plan(LINEAR, *demand_table(20), method="pfl", budget=Budget(solves=100, seconds=60), solving=solving)
    assert digest_of_call(plan.checked.terms) == "bf1182f3fe81d50b52f46dc437f70515"


def test_plan_what_makes_a_run_tells_runs_apart():
    def identity(**changes):
        given = {"method": "sfge", "X": X, "predictor": "linear"} | changes
        return json.dumps(prepare(Plan(NEWSVENDOR, Y=Y, **given)).about, sort_keys=True)

    torch.manual_seed(0)
    one, other = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)
    plans = [{}, {"seed": 1}, {"settings": {"patience": 3}}, {"X": X + 1}, {"predictor": one}, {"predictor": other}]
    assert len({identity(**changes) for changes in plans}) == len(plans)
    assert identity(predictor=one) == identity(predictor=one)


def test_plan_every_method_can_be_planned():
    for name in METHODS:
        assert Plan(LINEAR, X, Y, method=name).checked.method.name == name
