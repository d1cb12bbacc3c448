"""A run with a folder: what it leaves there, how it goes on, what it shares."""

import dataclasses
import errno
import json
import os

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.data import split_rows
from fewsolves.errors import LedgerError
from fewsolves.fitting import checkpoint
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.ledger.sqlite.file import LEDGER_FILE
from fewsolves.methods.registry import find_method
from fewsolves.testing.methods import known_settings
from fewsolves.training.steps import Steps
from fewsolves_studies.benchmarks.catalogue import load
from fewsolves_studies.benchmarks.run import run
from problems_of_users import CHEAPEST, QUICK, demand_table, pick, price

pytestmark = pytest.mark.usefixtures("no_second_look")
X, Y = demand_table(40)
TRAINED = QUICK | {"max_epochs": 5, "guard": -1e9}  # the result is what was trained, not the start
METHODS = (
    "sfge",
    "gp-surrogate",
    "gp-surrogate-paper",
    "memo",
    "spo+",
    "perturbed-fy",
    "lancer",
    "lodl-mse",
    "egl-mse",
)


class Counted:
    def __init__(self):
        self.solves = 0
        self.problem = fs.Problem(solve=self.solve, cost=price, linear="min", name="counted")

    def solve(self, y_hat):
        self.solves += 1
        return pick(y_hat)


class CrashError(BaseException):  # errors of a callback do not end a run
    pass


def trained(problem, folder, method="sfge", callbacks=(), settings=None, **options):
    split = split_rows(len(X), rng=np.random.default_rng(0), test=0.0)
    chosen = TRAINED | ({"samples": 8} if method.startswith(("lodl", "egl")) else {}) | (settings or {})
    chosen = known_settings(find_method(method), chosen)
    options = {"predictor": "linear", "settings": chosen, "folder": folder} | options
    return fit(Plan(problem, X, Y, split, method=method, **options), callbacks=callbacks)


def crash_in(epoch):
    def callback(record):
        if record.stage == "train" and record.epoch == epoch:
            raise CrashError

    return callback


def same(one, other):
    assert all(
        np.array_equal(a, b)
        for a, b in zip(one.predictor.state_dict().values(), other.predictor.state_dict().values(), strict=True)
    )
    assert one.best.values.tobytes() == other.best.values.tobytes()
    assert one.oracle.calls.counts == other.oracle.calls.counts
    assert one.stopped == other.stopped
    assert [r.train_loss for r in one.history] == pytest.approx(
        [r.train_loss for r in other.history], rel=0, abs=0, nan_ok=True
    )
    assert [r.validation_regret for r in one.history] == [r.validation_regret for r in other.history]
    assert one.report == other.report


@pytest.fixture
def checkpoint_each_epoch(monkeypatch):
    monkeypatch.setattr(checkpoint, "SHORTEST", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 1e9)


@pytest.fixture
def epochs(monkeypatch):
    """The epochs of training that are computed, not restored."""
    seen, epoch = [], Steps.epoch

    def watched(self, number):
        seen.append(number)
        return epoch(self, number)

    monkeypatch.setattr(Steps, "epoch", watched)
    return seen


@pytest.mark.parametrize("method", METHODS)
def test_folder_a_run_that_crashed_goes_on_and_ends_as_if_it_had_not(method, tmp_path, checkpoint_each_epoch, epochs):
    whole = trained(CHEAPEST, None, method)
    first, second = Counted(), Counted()
    with pytest.raises(CrashError):
        trained(first.problem, tmp_path, method, callbacks=[crash_in(4)])
    epochs.clear()
    resumed = trained(second.problem, tmp_path, method)
    same(resumed, whole)
    in_the_start, replays = 0 if method == "spo+" else 2, method == "lancer"
    assert epochs[in_the_start:] == ([1, 2, 3, 4, 5] if replays else [4, 5]), "from the checkpoint of the third epoch"
    reference = Counted()
    trained(reference.problem, None, method)
    assert first.solves + second.solves == reference.solves


def test_folder_a_solver_that_is_not_deterministic_goes_on_by_position(tmp_path, checkpoint_each_epoch):
    first, second, reference = Counted(), Counted(), Counted()
    for counted in (first, second, reference):
        counted.problem = dataclasses.replace(counted.problem, noisy="both")
    with pytest.raises(CrashError):
        trained(first.problem, tmp_path, callbacks=[crash_in(4)])
    resumed = trained(second.problem, tmp_path)
    same(resumed, trained(reference.problem, None))
    assert first.solves + second.solves == reference.solves


def test_folder_validation_that_is_spared_goes_on_as_it_was(tmp_path, checkpoint_each_epoch):
    spared = {"max_epochs": 12, "validation_move": 0.1, "validation_share": 0.9, "learning_rate": 0.01}
    whole = trained(CHEAPEST, None, settings=spared)
    readings = [record.validation_regret is not None for record in whole.history if record.stage == "train"]
    assert 1 < sum(readings) < 6, "some epochs are read, some are not"
    with pytest.raises(CrashError):
        trained(CHEAPEST, tmp_path, settings=spared, callbacks=[crash_in(8)])
    same(trained(CHEAPEST, tmp_path, settings=spared), whole)


def test_folder_without_a_checkpoint_everything_is_replayed_from_the_ledger(tmp_path, epochs):
    first, second = Counted(), Counted()
    with pytest.raises(CrashError):
        trained(first.problem, tmp_path, callbacks=[crash_in(4)])
    epochs.clear()
    resumed = trained(second.problem, tmp_path)
    same(resumed, trained(CHEAPEST, None))
    assert epochs[2:7] == [1, 2, 3, 4, 5]
    assert not list(tmp_path.glob("checkpoint*"))
    assert resumed.oracle.calls.replayed["solve"] == first.solves


def test_folder_a_finished_run_returns_at_once_with_the_same_result(tmp_path, epochs):
    done = trained(CHEAPEST, tmp_path, "gp-surrogate")
    epochs.clear()
    counted = Counted()
    again = trained(counted.problem, tmp_path, "gp-surrogate", adopt=True)
    same(again, done)
    assert counted.solves == 0
    assert epochs == []
    assert again.history == done.history
    assert again.seconds == done.seconds
    assert not list(tmp_path.glob("checkpoint*"))


def test_folder_other_settings_are_another_run(tmp_path):
    trained(CHEAPEST, tmp_path)
    longer = trained(CHEAPEST, tmp_path, settings={"max_epochs": 6})
    same(longer, trained(CHEAPEST, None, settings={"max_epochs": 6}))
    assert longer.oracle.calls.shared["solve"] > 0, "and takes what the first one paid for"


@pytest.mark.parametrize("harm", ["truncate", "flip", "remove", "flip the facts"])
def test_folder_a_damaged_checkpoint_gives_way_to_the_one_before(harm, tmp_path, checkpoint_each_epoch, epochs):
    with pytest.raises(CrashError):
        trained(CHEAPEST, tmp_path, callbacks=[crash_in(4)])
    newest = max(
        tmp_path.glob("checkpoint-*.json"),
        key=lambda path: json.loads(json.loads(path.read_text())["content"])["number"],
    )
    _harm(newest if harm == "flip the facts" else newest.with_suffix(".safetensors"), harm)
    epochs.clear()
    with pytest.warns(UserWarning, match="checkpoint in .* is damaged and not used"):
        resumed = trained(CHEAPEST, tmp_path)
    assert epochs[2:] == [3, 4, 5]
    same(resumed, trained(CHEAPEST, None))


def test_folder_damaged_checkpoints_give_way_to_a_replay(tmp_path, checkpoint_each_epoch, epochs):
    with pytest.raises(CrashError):
        trained(CHEAPEST, tmp_path, callbacks=[crash_in(4)])
    for path in tmp_path.glob("checkpoint-*"):
        path.write_bytes(path.read_bytes()[:40])
    epochs.clear()
    with pytest.warns(UserWarning, match="damaged and not used"):
        resumed = trained(CHEAPEST, tmp_path)
    assert epochs[2:] == [1, 2, 3, 4, 5]
    same(resumed, trained(CHEAPEST, None))


def _harm(path, harm):
    content = path.read_bytes()
    if harm == "remove":
        path.unlink()
    elif harm == "truncate":
        path.write_bytes(content[: len(content) // 2])
    else:
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])


def test_folder_another_problem_or_changed_data_is_refused_with_what_differs(tmp_path):
    trained(CHEAPEST, tmp_path)
    split = split_rows(len(X), rng=np.random.default_rng(0), test=0.0)

    def dearest(y_hat):
        return pick(-y_hat)

    with pytest.raises(LedgerError, match=r"ledger of another problem: problem, solve changed.*adopt=True"):
        trained(fs.Problem(solve=dearest, cost=price, linear="min"), tmp_path)
    swapped = Y[[1, 0, *range(2, len(Y))]]
    with pytest.raises(LedgerError, match="in another order: its row 0 is row 1 of Y"):
        fit(Plan(CHEAPEST, X, swapped, split, method="sfge", folder=tmp_path))
    with pytest.raises(LedgerError, match="another problem: Y changed"):
        fit(Plan(CHEAPEST, X, Y + 1.0, split, method="sfge", folder=tmp_path))
    with pytest.raises(LedgerError, match="Y, rows changed"):
        fit(
            Plan(
                CHEAPEST,
                X[:30],
                Y[:30],
                split_rows(30, rng=np.random.default_rng(0)),
                method="sfge",
                folder=tmp_path,
                adopt=True,
            )
        )
    moved = fs.Problem(solve=pick, cost=price, linear="min", name="renamed")
    assert trained(moved, tmp_path, adopt=True).oracle.calls.replayed["solve"] > 0
    trained(moved, tmp_path)


def test_folder_methods_share_what_they_paid_for(tmp_path):
    first, second = Counted(), Counted()
    shared = tmp_path / "shared"
    trained(first.problem, tmp_path / "a", "lodl-mse", ledger=shared)
    alone = Counted()
    trained(alone.problem, None, "lodl-quadratic", settings={"samples": 8})
    trained(second.problem, tmp_path / "b", "lodl-quadratic", ledger=shared)
    assert (shared / LEDGER_FILE).exists()
    assert not (tmp_path / "a" / LEDGER_FILE).exists()
    assert second.solves < alone.solves - 8 * 30, "the forms of LODL ask for the same points"


def test_folder_a_surrogate_learns_from_what_others_paid_for(tmp_path):
    shared = tmp_path / "shared"
    lodl = trained(CHEAPEST, tmp_path / "a", "lodl-mse", ledger=shared)
    gp = trained(CHEAPEST, tmp_path / "b", "gp-surrogate", ledger=shared)
    alone = trained(CHEAPEST, None, "gp-surrogate")
    assert gp.loss.surrogate.samples.n_of.mean() >= alone.loss.surrogate.samples.n_of.mean() + 4
    assert lodl.oracle.calls.shared["solve"] == 0
    again = trained(CHEAPEST, tmp_path / "c", "lodl-mse", ledger=shared, settings={"spread": 0.5})
    assert again.loss is not None, "more samples than it asked for"


def test_folder_known_samples_are_the_same_when_a_run_is_started_again(tmp_path, checkpoint_each_epoch):
    shared = tmp_path / "shared"
    trained(CHEAPEST, tmp_path / "a", "sfge", ledger=shared)
    whole = trained(CHEAPEST, tmp_path / "b", "gp-surrogate", ledger=shared)
    copy = tmp_path / "other"
    trained(CHEAPEST, tmp_path / "c", "sfge", ledger=copy)
    with pytest.raises(CrashError):
        trained(CHEAPEST, tmp_path / "d", "gp-surrogate", ledger=copy, callbacks=[crash_in(3)])
    for path in (tmp_path / "d").glob("checkpoint*"):
        path.unlink()
    same(trained(CHEAPEST, tmp_path / "d", "gp-surrogate", ledger=copy), whole)


def test_folder_in_use_is_refused_and_free_again_after_an_error(tmp_path):
    def nested(record):
        with pytest.raises(LedgerError, match="in use by process"):
            trained(CHEAPEST, tmp_path)
        raise CrashError

    with pytest.raises(CrashError):
        trained(CHEAPEST, tmp_path, callbacks=[nested])
    trained(CHEAPEST, tmp_path)


def test_folder_a_benchmark_run_returns_its_result_again(tmp_path):
    of = load("kp-capacity", 0, n=40), "sfge"
    first, again = (run(*of, settings=TRAINED, folder=tmp_path, fresh_rows=30) for _ in range(2))
    assert again.result == first.result
    assert set(first.result) == set(run(*of, settings=TRAINED, fresh_rows=30).result)
    assert again.result["calls"]["solve"]["test"] > 0


def test_folder_a_ledger_is_adopted_by_a_table_with_more_rows(tmp_path):
    trained(CHEAPEST, tmp_path)
    more = np.concatenate([Y, Y[:5] + 1.0])
    moved = more.copy()
    moved[0] += 1e-9  # the same truth
    plan = {"method": "sfge", "predictor": "linear", "settings": TRAINED, "folder": tmp_path}
    wider = np.concatenate([X, X[:5]])
    with pytest.raises(LedgerError, match=r"Y, rows changed.*come after the old ones.*adopt=True"):
        fit(Plan(CHEAPEST, wider, moved, **plan))
    adopted = fit(Plan(CHEAPEST, wider, moved, adopt=True, **plan))
    assert adopted.oracle.calls.shared["cost"] > 0
    with pytest.raises(LedgerError, match=r"n_y, rows changed.*Give another folder\. "):
        fit(Plan(fs.Problem(solve=pick, cost=price), X, Y[:, :2], adopt=True, **plan))


@pytest.mark.parametrize("name", ["checkpoint-0.json", "checkpoint-1.safetensors", "checkpoint-of-staged-0.json"])
def test_folder_with_a_folder_in_the_place_of_a_checkpoint_is_refused_before_anything_is_paid(name, tmp_path):
    counted = Counted()
    (tmp_path / "run" / name).mkdir(parents=True)
    with pytest.raises(LedgerError, match=rf"{name} is a folder where a checkpoint file belongs\. Nothing was paid"):
        trained(counted.problem, tmp_path / "run")
    assert counted.solves == 0


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOSPC, "; make room, then"), (errno.EMFILE, "; raise the limit of open files"), (errno.EIO, "; remove")],
)
def test_folder_a_checkpoint_that_cannot_be_written_comes_with_advice_for_its_cause(
    number, advice, tmp_path, monkeypatch
):
    def fail(path, content, *, private):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(checkpoint, "write_whole", fail)
    with pytest.raises(LedgerError, match=f"cannot be written: {os.strerror(number)}{advice}"):
        checkpoint.write_pair(tmp_path / "a", tmp_path / "b", {}, {})


@pytest.mark.parametrize("name", ["history.csv", "result.json"])
def test_folder_no_room_for_the_result_is_an_error_of_ours_and_nothing_is_lost(name, tmp_path, monkeypatch):
    def full(path, content):
        if path.name == name:
            raise OSError(errno.ENOSPC, "No space left on device")

    counted = Counted()
    with monkeypatch.context() as patched:
        patched.setattr("fewsolves.fitting.result.write_whole", full)
        with pytest.raises(LedgerError, match=rf"{name} cannot be written: No space left.*the same call returns"):
            trained(counted.problem, tmp_path)
    before = counted.solves
    trained(counted.problem, tmp_path)
    assert (tmp_path / name).exists()
    assert counted.solves <= before + 63, "the check of answers alone"
