"""Runs of the default that are killed continue from the end of their last stage, with the same bits and counts."""

import json
import multiprocessing
import os
import sys
import warnings
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import FewsolvesWarning
from fewsolves.execution.base import paid
from fewsolves.fitting.checkpoint import read_pair, write_pair
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.methods.staged import boundary
from fewsolves.methods.staged.boundary import KEPT, flattened, unflattened
from fewsolves.oracle import SolveConfig
from fewsolves.testing.problems import failing, newsvendor, selection
from problems_of_users import demand_table, shortage_cost

pytestmark = pytest.mark.usefixtures("no_second_look")
N = 36
SETTINGS = {"solves": 6}
FEW = {"settings": SETTINGS | {"cost_calls": 200}}  # where each is a call of Python
NEWSVENDOR, SELECTION = newsvendor(2, N), selection(3, N)
X, Y = demand_table(N, 2)


class CrashError(BaseException):  # errors of a callback do not end a run
    pass


def crash_after(number):
    """A callback that ends a run once this many records of training are in its history, whoever made them."""

    def callback(record):
        if record.stage == "train" and record.epoch >= number:
            raise CrashError

    return callback


def rated(y, z, rate):
    return float((z + rate * np.maximum(y - z, 0)).sum())


def rough(y, z, seed):
    return shortage_cost(y, z) + float(np.random.default_rng(seed).normal())


def route_of(y):
    return {"stops": [int(k) for k in np.argsort(y, kind="stable")], "loads": tuple(np.round(y, 1).tolist())}


def route_cost(y, z):
    return shortage_cost(y, np.array(z["loads"])) + z["stops"][0]


CASES = {
    "linear": (NEWSVENDOR[:3], {}),
    "network": (NEWSVENDOR[:3], {"predictor": "network"}),
    "linear cost": (SELECTION[:3], {}),
    "failures": (
        (failing(NEWSVENDOR).problem, NEWSVENDOR.X, NEWSVENDOR.Y),
        {"solving": SolveConfig(on_failure="skip")},
    ),
    "instances": (
        (fs.Problem(solve=lambda y, rate: np.round(y), cost=rated, instances=[2.0 + k % 7 for k in range(N)]), X, Y),
        FEW,
    ),
    "noisy cost": ((fs.Problem(solve=np.round, cost=rough, noisy="cost"), X, Y), FEW),
    "routes": ((fs.Problem(solve=route_of, cost=route_cost), X, Y), FEW),
    "last rows": (NEWSVENDOR[:3], {"validation": "last 40 %"}),
}


def trained(case, folder=None, callbacks=(), **more):
    table, of = CASES[case]
    options = {"predictor": "linear", "settings": SETTINGS, "folder": folder} | of | more
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(the outlook|.* calls? failed)")
        return fit(Plan(*table, method="staged", **options), callbacks=callbacks)


def same(one, other):
    states = zip(one.predictor.state_dict().values(), other.predictor.state_dict().values(), strict=True)
    assert all(a.tobytes() == b.tobytes() for a, b in states)
    assert one.best.values.tobytes() == other.best.values.tobytes()
    assert one.oracle.calls.counts == other.oracle.calls.counts
    assert one.oracle.calls.evaluations == other.oracle.calls.evaluations
    assert one.stopped == other.stopped
    assert json.dumps(one.report) == json.dumps(other.report)
    records = [
        [(r.train_loss, r.validation_regret, r.best_regret, r.start_regret, r.judged, r.cost_calls) for r in of.history]
        for of in (one, other)
    ]
    assert repr(records[0]) == repr(records[1])


@pytest.fixture(scope="module")
def whole():
    """Runs that are never killed, each made once."""
    made = {}

    def of(case):
        if case not in made:
            made[case] = trained(case)
        return made[case]

    return of


def training_records(fitted):
    return [record for record in fitted.history if record.stage == "train"]


def cost_calls_of_stages(fitted):
    """Of the start's reading and of each stage."""
    ends = [0, *(paid(one.cost_calls) for one in training_records(fitted) if one.judged is not None)]
    return [after - before for before, after in pairwise(ends)]


@pytest.mark.parametrize("case", CASES)
def test_boundary_a_run_that_is_killed_twice_ends_as_one_that_is_not(case, whole, tmp_path):
    expected = whole(case)
    number = len(training_records(expected))
    for after in (number // 3, number - 2):
        with pytest.raises(CrashError):
            trained(case, tmp_path, [crash_after(after)])
    same(trained(case, tmp_path), expected)
    assert not list(tmp_path.glob("checkpoint*"))


def counted(calls):
    """The newsvendor, counting the calls that its user sees."""
    return counting(calls, lambda kind, number: None)


def counting(calls, before):
    """The same; `before` is called before each of them."""

    def call(kind, number):
        before(kind, number)
        calls[kind] += number

    def cost(y, z):
        call("cost", len(y))
        return NEWSVENDOR.problem.cost_batch(y, z)

    def solve(y_hat):
        call("solve", len(y_hat))
        return y_hat

    return fs.Problem(solve_batch=solve, cost_batch=cost, version="one")


def of_newsvendor(problem, folder=None, callbacks=(), **of):
    options = {"predictor": "linear", "settings": SETTINGS, "folder": folder} | of
    return fit(Plan(problem, NEWSVENDOR.X, NEWSVENDOR.Y, method="staged", **options), callbacks=callbacks)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_boundary_a_resumed_run_makes_at_most_the_cost_calls_of_one_stage_again(share, whole, tmp_path):
    expected, calls, begun = whole("linear"), Counter(), []
    number = len(training_records(expected))
    with pytest.raises(CrashError):
        of_newsvendor(counted(calls), tmp_path, [begun.append, crash_after(max(2, int(share * number)))])
    resumed = of_newsvendor(counted(calls), tmp_path)
    same(resumed, expected)
    again = calls["cost"] - expected.oracle.calls.total("cost")
    assert 0 <= again <= max(cost_calls_of_stages(expected))
    assert resumed.oracle.calls.unanswered["cost"] == again, "spent, and counted apart"
    assert calls["solve"] == expected.oracle.calls.total("solve"), "no solve is paid twice"


def ending_with(after):
    """A problem whose solver ends its process at a call."""
    left = [after]

    def solve(y_hat):
        left[0] -= 1
        if left[0] == 0:
            os._exit(3)
        return np.round(y_hat)

    return fs.Problem(solve=solve, cost=shortage_cost, version="one")


def with_rounding(problem, folder, workers=1, callbacks=()):
    options = {"predictor": "linear", "solving": SolveConfig(workers=workers), **FEW}
    return fit(Plan(problem, X, Y, method="staged", folder=folder, **options), callbacks=callbacks)


def gone_in_epoch(epoch):
    return lambda record: os._exit(3) if record.stage == "train" and record.epoch >= epoch else None


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
@pytest.mark.parametrize("workers", [1, 2])
def test_boundary_a_process_that_is_gone_is_continued_by_another(workers, tmp_path):
    never = 10**9
    parts = (ending_with(160), tmp_path) if workers == 1 else (ending_with(never), tmp_path, 2, [gone_in_epoch(12)])
    process = multiprocessing.get_context("fork").Process(target=with_rounding, args=parts)
    process.start()
    process.join()
    assert process.exitcode == 3
    assert list(tmp_path.glob("checkpoint-of-stages-*.json"))
    same(with_rounding(ending_with(never), tmp_path, workers), with_rounding(ending_with(never), None))


def test_boundary_a_budget_of_cost_calls_holds_across_a_kill(tmp_path):
    calls, budget = Counter(), fs.Budget(cost_calls=4000)
    for after in (3, 12, None):
        callbacks = [] if after is None else [crash_after(after)]
        try:
            fitted = of_newsvendor(counted(calls), tmp_path, callbacks, budget=budget)
        except CrashError:
            continue
    assert calls["cost"] <= 4000
    assert fitted.stopped.startswith("schedule complete"), "and what is left of it suffices"


# what is not trusted


@pytest.fixture
def crashed(whole, tmp_path):
    """The folder of a run that was killed in its last stage."""
    with pytest.raises(CrashError):
        trained("linear", tmp_path, [crash_after(len(training_records(whole("linear"))) - 2)])
    assert len(list(tmp_path.glob("checkpoint-of-stages-*"))) == 4
    return tmp_path


def facts_of(path):
    return read_pair(path.with_suffix(".safetensors"), path)


def newest(folder):
    return max(folder.glob("checkpoint-of-stages-*.json"), key=lambda path: facts_of(path)[1]["number"])


def rewritten(path, change):
    """The same checkpoint with other facts, under digests that fit."""
    arrays, facts = facts_of(path)
    arrays, own = dict(arrays), facts["facts"]["own"]
    change(arrays, own)
    write_pair(path.with_suffix(".safetensors"), path, arrays, facts)


def parts_made(monkeypatch):
    """The parts of the schedule that a run makes by itself."""
    made, end = [], boundary.end_stage
    monkeypatch.setattr(
        "fewsolves.methods.staged.cross_fitting.end_stage", lambda run, name: (made.append(name), end(run, name))
    )
    return made


def test_boundary_that_is_damaged_gives_way_to_the_one_before(crashed, whole, monkeypatch):
    path = newest(crashed).with_suffix(".safetensors")
    path.write_bytes(path.read_bytes()[:-1])
    made = parts_made(monkeypatch)
    with pytest.warns(FewsolvesWarning, match="is damaged and not used"):
        resumed = trained("linear", crashed)
    same(resumed, whole("linear"))
    assert made == [stage["name"] for stage in resumed.report["schedule"]][-2:]


CHANGES = {
    "another version": lambda arrays, own: own["written_by"].update(fewsolves="0.1.0"),
    "other constants": lambda arrays, own: own["written_by"]["tuning"].update(folds=4),
    "a part is missing": lambda arrays, own: own.pop("judge"),
    "an unknown stand-in": lambda arrays, own: own["stand_ins"][0].update(name="crystal ball"),
    "other known decisions": lambda arrays, own: own["pool"].update(given="0" * 64),
    "points of another shape": lambda arrays, own: arrays.update({"pool.points": np.zeros((2, 2))}),
    "no random stream": lambda arrays, own: own.update(rng={"bit_generator": "MT19937"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_boundary_that_does_not_fit_is_not_used(change, crashed, whole, monkeypatch):
    for path in crashed.glob("checkpoint-of-stages-*.json"):
        rewritten(path, CHANGES[change])
    made = parts_made(monkeypatch)
    with pytest.warns(FewsolvesWarning, match="does not fit and is not used"):
        resumed = trained("linear", crashed)
    same(resumed, whole("linear"))
    assert made == [stage["name"] for stage in resumed.report["schedule"]], "all of them: it was replayed"


def test_boundary_of_other_settings_is_not_looked_at(crashed, monkeypatch):
    other = {"settings": {"solves": 3}}
    made = parts_made(monkeypatch)
    assert made == [stage["name"] for stage in trained("linear", crashed, **other).report["schedule"]]


def test_boundary_is_not_saved_where_answers_depend_on_what_the_ledger_has_not(tmp_path):
    """Hints come from earlier solves, which a run that continues from a boundary has not made."""
    problem = fs.Problem(solve=lambda y, hint=None: np.round(y), cost=shortage_cost)
    assert problem.takes_hint
    with pytest.raises(CrashError):
        fit(Plan(problem, X, Y, method="staged", predictor="linear", settings=SETTINGS, folder=tmp_path),
            callbacks=[crash_after(20)])  # fmt: skip
    assert not list(tmp_path.glob("checkpoint*"))


# what is saved


def test_boundary_keeps_each_attribute_of_a_run_or_it_is_made_again(monkeypatch):
    """A new attribute that changes from stage to stage belongs into `KEPT`; one that does not, here."""
    seen, end = set(), boundary.end_stage
    monkeypatch.setattr(
        "fewsolves.methods.staged.cross_fitting.end_stage", lambda run, name: (seen.update(vars(run)), end(run, name))
    )
    trained("network")
    saved_apart = {"last", "schedule", "judge", "pool", "start", "best", "current", "candidates", "stand_in", "rows"}
    made_again = {"context", "config", "tuning", "folds", "models", "_table", "_given"}
    within_a_stage = {"_corrected", "_spare"}
    assert seen == {*KEPT} | saved_apart | made_again | within_a_stage


def test_boundary_trees_come_back_as_they_were():
    tree = {
        "none": None, "flag": True, "inf": float("inf"), "numpy": np.float64(0.1), "text": "a", "large": 2**100,
        "pair": (1, [2.5, ("b",)]), "empty": np.empty((0, 3)), "bits": np.array([True, False]),
        "turned": np.arange(6.0).reshape(2, 3).T, "inner": {"a": np.arange(3)},
    }  # fmt: skip
    arrays = {}
    back = unflattened(json.loads(json.dumps(flattened(tree, arrays))), arrays)
    assert set(arrays) == {"empty", "bits", "turned", "inner.a"}
    assert back["turned"].flags.f_contiguous
    for name in ("empty", "bits", "turned"):
        assert back[name].dtype == tree[name].dtype
        assert np.array_equal(back.pop(name), tree.pop(name))
    assert np.array_equal(back.pop("inner")["a"], tree.pop("inner")["a"])
    assert back == tree


@pytest.mark.parametrize(
    "value",
    [{1}, {1: 2}, object(), np.array(["a"]), {"!": 1}],
    ids=["set", "number as key", "object", "array of text", "key of ours"],
)
def test_boundary_of_what_no_file_keeps_is_refused(value):
    with pytest.raises(TypeError, match=r"a\.0 is a .*, which is not saved"):
        flattened({"a": [value]}, {})


def test_boundary_without_a_folder_costs_nothing(monkeypatch):
    monkeypatch.setattr(boundary, "flattened", None)  # is not called
    assert trained("linear", settings={"solves": 2}).report["stages"]
