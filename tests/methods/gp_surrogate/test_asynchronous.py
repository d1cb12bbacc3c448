import threading
import time
from contextlib import closing

import numpy as np
import pytest
import torch

import fewsolves as fs
from fewsolves.data import split_rows
from fewsolves.errors import InputError, SolverError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.ledger.ledger import open_ledger
from fewsolves.oracle import Budget, Oracle, SolveConfig
from fewsolves.oracle.fair_lock import FairLock
from fewsolves_studies.benchmarks.catalogue import load
from problems_of_users import NEWSVENDOR, demand_table

N = 24
IN_BACKGROUND = SolveConfig(asynchronous=True)
NEVER = 1e-9  # a beta that trusts nothing: every row is to be paid for


class Gated:
    """A solver that waits at a gate, and counts for itself."""

    def __init__(self):
        self.open = threading.Event()
        self.open.set()
        self.solves = 0
        self.problem = fs.Problem(solve=self.solve, cost=NEWSVENDOR.cost)

    def solve(self, y_hat):
        self.solves += 1
        assert self.open.wait(timeout=60)
        return y_hat


def started(gated, **options):
    """A loss past its first points, and predictions."""
    Y = demand_table(N, 2)[1]
    oracle = Oracle(gated.problem, Y, solving=IN_BACKGROUND, **options)
    loss = fs.GPSurrogateLoss(oracle, config=fs.GPSurrogateConfig(beta=NEVER))
    y_hat = torch.as_tensor(Y + Y.std(axis=0))
    loss.start(y_hat)
    return loss, y_hat.requires_grad_()


def step(loss, y_hat, rows):
    index = torch.as_tensor(rows)
    y_hat.grad = None
    loss(y_hat[index], index).backward()
    return y_hat.grad.abs().sum()


def test_asynchronous_steps_go_on_while_solves_are_under_way_and_learn_when_they_land():
    gated = Gated()
    loss, y_hat = started(gated)
    known = loss.surrogate.samples.n_of
    gated.open.clear()
    loss.begin_epoch()
    assert step(loss, y_hat, range(10)) > 0, "the surrogate gives a gradient meanwhile"
    assert step(loss, y_hat, range(10, 20)) > 0
    assert loss.trusted == 0.0
    assert (loss.surrogate.samples.n_of == known).all(), "nothing has landed"
    gated.open.set()
    loss.arrays.background.solves.wait()
    step(loss, y_hat, range(20, 24))
    assert (loss.surrogate.samples.n_of - known)[:20].tolist() == [1] * 20
    report = loss.finish(y_hat.detach())
    assert (loss.surrogate.samples.n_of - known).tolist() == [1] * N, "all landed before the end"
    assert report["samples_per_example"] == 6.0
    assert loss.oracle.calls.counts["solve"]["online"] == N
    assert loss.oracle.calls.total() == gated.solves
    loss.oracle.close()


def test_asynchronous_an_example_has_one_solve_under_way_and_training_is_an_epoch_ahead_at_the_most():
    gated = Gated()
    loss, y_hat = started(gated)
    gated.open.clear()
    for _ in range(2):
        loss.begin_epoch()
        step(loss, y_hat, range(N))
        step(loss, y_hat, range(N))
    assert loss.arrays.background.under_way.sum() == N
    assert len(loss.arrays.background.solves._open()) == N
    threading.Timer(0.2, gated.open.set).start()
    loss.begin_epoch()
    assert gated.open.is_set(), "the third epoch waits for the solves of the first"
    loss.oracle.close()


def test_asynchronous_the_budget_holds_in_the_background():
    gated = Gated()
    loss, y_hat = started(gated, budget=Budget(solves=N + 4 * N + 7))
    for _ in range(4):
        loss.begin_epoch()
        step(loss, y_hat, range(N))
    report = loss.finish(y_hat.detach())
    assert gated.solves == N + 4 * N + 7
    assert "calibration" not in report, "nothing is left for it"
    assert any("with the surrogate alone" in message for message in report["warnings"])
    loss.oracle.close()


def test_asynchronous_what_the_solver_raises_ends_training():
    gated = Gated()
    loss, y_hat = started(gated)

    def broken(y_hat):
        raise RuntimeError("no licence")

    loss.oracle.account.execution.problem = fs.Problem(solve=broken, cost=NEWSVENDOR.cost)
    loss.begin_epoch()
    step(loss, y_hat, range(8))
    with pytest.raises(SolverError, match="no licence"):
        loss.finish(y_hat.detach())
    loss.oracle.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_asynchronous_nothing_paid_is_lost_when_training_breaks_off(error):
    gated = Gated()
    X, Y = demand_table(60)
    oracles = []

    def break_off(record):
        if record.stage == "train" and record.epoch == 2:
            raise error

    original = Oracle.close
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Oracle, "close", lambda self: (original(self), oracles.append(self))[0])
        try:
            fitted = fit(
                Plan(
                    gated.problem,
                    X,
                    Y,
                    split_rows(60, rng=np.random.default_rng(0), test=0.0),
                    method="gp-surrogate",
                    predictor="linear",
                    settings={"beta": NEVER, "max_epochs": 5, "start_epochs": 5},
                    solving=IN_BACKGROUND,
                ),
                callbacks=[break_off],
            )
            assert error is KeyboardInterrupt
            assert "interrupted" in fitted.stopped
        except SystemExit:
            assert error is SystemExit
    (oracle,) = oracles
    assert oracle.calls.total() == gated.solves > 54 * 5
    assert len(oracle.account.memory.answers["solve"]) == gated.solves - 1, (
        "all but the probe's repetition are remembered"
    )
    assert not any(thread.name == "background solves" for thread in threading.enumerate())


def test_asynchronous_learns_as_the_synchronous_mode_does():
    benchmark = load("wsmc-10-50", n=120)
    split = split_rows(120, rng=np.random.default_rng(0), test=0.0)
    settings = {"max_epochs": 25, "start_epochs": 100, "learning_rate": 1e-2}
    both = [
        fit(
            Plan(
                benchmark.problem,
                benchmark.X,
                benchmark.Y,
                split,
                method="gp-surrogate",
                predictor="linear",
                settings=settings,
                solving=SolveConfig(asynchronous=asynchronous),
            )
        )
        for asynchronous in (False, True)
    ]
    synchronous, ours = (fitted.best.mean / fitted.start.mean for fitted in both)
    assert synchronous < 0.7
    assert ours < 0.8
    calls, surrogate = both[1].oracle.calls, both[1].loss.surrogate
    assert calls.training_evaluations() == surrogate.samples.n_of.sum() - 108, "every paid solve was learned from"


def test_asynchronous_fallbacks_that_need_the_answer_at_once_are_refused():
    Y = demand_table(N, 2)[1]
    oracle = Oracle(NEWSVENDOR, Y, solving=IN_BACKGROUND)
    for settings in ({"fallback": "sfge"}, {"correction": 0.5}):
        with pytest.raises(InputError, match="asynchronous solves need fallback='acquire'"):
            fs.GPSurrogateLoss(oracle, config=fs.GPSurrogateConfig(**settings))


def test_asynchronous_the_lock_is_fair():
    turns, served, requested, stop = FairLock(), [], [], threading.Event()

    class Noted:
        """How many had been served when the next turn was asked for here."""

        first, here = turns._next, threading.current_thread()

        def __enter__(self):
            self.first.acquire()
            if threading.current_thread() is self.here:
                requested.append(len(served))

        def __exit__(self, *error):
            self.first.release()

    turns._next = Noted()

    def greedy():
        while not stop.is_set():
            with turns:
                served.append("background")
                time.sleep(0.002)

    thread = threading.Thread(target=greedy)
    thread.start()
    waited = []
    for _ in range(10):
        while not served or served[-1] != "background":
            time.sleep(0.0005)
        with turns:
            waited.append(len(served) - requested[-1])
            served.append("main")
    stop.set()
    thread.join()
    assert max(waited) <= 1, "the turn under way"


def test_asynchronous_workers_ledger_and_budget_at_once(tmp_path):
    X, Y = demand_table(40)
    options = {
        "method": "gp-surrogate",
        "predictor": "linear",
        "settings": {"beta": NEVER, "max_epochs": 3, "start_epochs": 3},
        "solving": SolveConfig(workers=2, asynchronous=True),
        "budget": Budget(solves=260),
        "folder": tmp_path,
    }
    split = split_rows(40, rng=np.random.default_rng(0), test=0.0)
    fitted = fit(Plan(NEWSVENDOR, X, Y, split, **options))
    assert fitted.oracle.calls.total() <= 260
    assert fitted.oracle.calls.counts["solve"]["online"] > 36
    with closing(open_ledger(tmp_path, NEWSVENDOR, Y, identity="to look at it")) as ledger:
        rows = ledger.file.query("SELECT count(*) FROM calls WHERE kind = 'solve' AND phase = 'online'")
    assert rows[0][0] == fitted.oracle.calls.counts["solve"]["online"], "all that landed is on record"
    again = fit(Plan(NEWSVENDOR, X, Y, split, **options))
    assert again.best.mean == fitted.best.mean
