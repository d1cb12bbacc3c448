"""Contract of a method (`methods.base.Trainer`): run it on those of the library, and on one of your own.

    from fewsolves.testing import check_method

    def test_my_method():
        check_method(my_method)

or check by check, so that a report names what fails:

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_method(check):
        check(my_method)

Each check raises AssertionError with what was expected. Two problems serve all of them (`testing.problems`).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fewsolves.data import Scale, Split
from fewsolves.errors import InputError, NotApplicableError
from fewsolves.execution import Answers, Serial, register
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.result import Fit
from fewsolves.methods.base import Context, GradientTrainer, State, Trainer
from fewsolves.methods.loss import ArrayLoss, as_array_loss
from fewsolves.methods.registry import METHODS, find_method
from fewsolves.oracle import Budget, Oracle, SolveConfig
from fewsolves.predictors.inputs import Inputs
from fewsolves.predictors.predictor import Predictor, linear
from fewsolves.problem import Array
from fewsolves.settings import settings_of
from fewsolves.testing.expect import expect
from fewsolves.testing.problems import Table, failing, newsvendor, noisy, selection

CHECKED_DIMENSIONS = (1, 10, 50)
IMPROVEMENT = 0.6  # largest regret allowed, relative to a predictor with random weights
QUICK_SETTINGS: Mapping[str, Any] = {"max_epochs": 2, "start_epochs": 2}


def check_method(method: str | Trainer) -> None:
    """Run all checks of a method, one after the other; raises AssertionError with what was expected.

    Args:
        method: Its name, or the method.
    """
    for check in CHECKS:
        check(method)


def check_gradient(method: str | Trainer) -> None:
    """The loss is a finite scalar with a finite gradient, whatever the number of parameters."""
    recipe = find_method(method).with_settings({})
    for n_y in CHECKED_DIMENSIONS:
        table = make_table(recipe, n_y, n=12)
        loss = _build(recipe, table)
        if loss is None:
            return
        y_hat = table.Y + 0.1
        loss.start(y_hat)
        loss.begin_epoch(y_hat.copy)
        value, gradient = loss.with_slope(y_hat, np.arange(len(y_hat)))
        expect(isinstance(value, float) and np.isfinite(value), f"a finite scalar for n_y = {n_y}", value)
        finite = gradient is not None and bool(np.isfinite(gradient).all())
        expect(finite, f"a finite gradient for n_y = {n_y}", gradient)


def check_calls(method: str | Trainer) -> None:
    """Every call of `solve` and `cost` went through the oracle and was counted; the true decisions are solved once."""
    recipe = find_method(method)
    table = make_table(recipe, n_y=2)
    calls = quick_fit(recipe, table, QUICK_SETTINGS).oracle.calls
    for kind in ("solve", "cost"):
        counted = sum(calls.by_phase(kind).values())
        expect(counted == table.calls[kind], f"{table.calls[kind]} calls of `{kind}` counted", counted)
    labels = calls.by_phase("solve")["labels"]
    expect(labels <= len(table.Y), f"at most one solve at the truth for each of {len(table.Y)} rows", labels)


def check_labels(method: str | Trainer) -> None:
    """The table comes back as it went in, and so do the labels that the oracle holds."""
    recipe = find_method(method)
    table = make_table(recipe, n_y=2)
    X, Y = table.X.copy(), table.Y.copy()
    fitted = quick_fit(recipe, table, QUICK_SETTINGS)
    pairs = [(X, table.X), (Y, table.Y), (Y, fitted.oracle.Y)]
    if isinstance(oracle := getattr(fitted.loss, "oracle", None), Oracle):
        pairs.append((Y[fitted.split.train], oracle.Y))
    same = [np.array_equal(*pair) for pair in pairs]
    expect(all(same), "X, Y and the oracle's Y unchanged", same)


def check_deterministic(method: str | Trainer) -> None:
    """One seed gives one result, whatever happened before."""
    recipe = find_method(method)
    table = make_table(recipe, n_y=2)
    first = predictions(quick_fit(recipe, table, QUICK_SETTINGS).predictor, table.X)
    if (torch := sys.modules.get("torch")) is not None:
        torch.rand(3)  # global random state is none of a method's business
    np.random.rand(3)  # noqa: NPY002
    second = predictions(quick_fit(recipe, table, QUICK_SETTINGS).predictor, table.X)
    expect(np.array_equal(first, second), "the same predictions from the same seed", np.abs(first - second).max())


def check_improves(method: str | Trainer) -> None:
    """Trained from random weights, where the method has weights to train, it decides far better than they do."""
    recipe = find_method(method)
    cold = {"warm_start": False} if isinstance(recipe, GradientTrainer) else {}
    settings = cold | {"learning_rate": 0.03, "max_epochs": 40, "patience": 40, "steps_per_epoch": 8}
    table, fresh = make_table(recipe, n_y=2, n=120), make_table(recipe, n_y=2, n=400, seed=1)
    trained = quick_fit(recipe, table, settings).predictor
    before, after = _regret(_untrained(table), fresh), _regret(trained, fresh)
    expect(after <= IMPROVEMENT * before, f"a regret of {IMPROVEMENT} x {before:.3g} or less", after)


def check_refusal(method: str | Trainer) -> None:
    """What a method does not accept it refuses before it pays, and names a method that fits."""
    recipe = find_method(method)
    for table in (newsvendor(2), selection(2), noisy(newsvendor(2))):
        if recipe.refuse(table.problem) is None:
            continue
        try:
            quick_fit(recipe, table, QUICK_SETTINGS)
        except NotApplicableError as error:
            suggested = [name for name in METHODS if f"'{name}'" in str(error) and name != recipe.name]
            fits = [name for name in suggested if METHODS[name].refuse(table.problem) is None]
            expect(bool(fits), "a message that names a method which fits", str(error))
            expect(not table.calls, "no call before the refusal", dict(table.calls))
        else:
            raise AssertionError(f"expected NotApplicableError on {table.problem.name!r}, got a result")


def check_state(method: str | Trainer) -> None:
    """A loss with a state resumes from it bit for bit, after a round trip through JSON and arrays."""
    recipe = find_method(method).with_settings({})
    table = make_table(recipe, n_y=2, n=12)
    whole, resumed = _build(recipe, table), _build(recipe, table)
    if whole is None or resumed is None:
        return
    first, second, third = (table.Y + shift for shift in (0.1, 0.2, 0.15))
    whole.start(first)
    _epoch(whole, second)
    state = whole.state()
    if state is None:
        return  # training is then replayed from the ledger
    read = State({name: np.array(values) for name, values in state.arrays.items()}, json.loads(json.dumps(state.facts)))
    expected = _epoch(whole, third)
    resumed.restore(read)
    got = _epoch(resumed, third)
    same = len(got) == len(expected) and all(map(np.array_equal, got, expected))
    expect(same, f"losses and gradients as without the break: {expected}", got)


def check_failed_solves(method: str | Trainer) -> None:
    """Solves that fail leave a finite loss and gradient, whether they are skipped or penalised."""
    recipe = find_method(method).with_settings({})
    for policy in ("skip", "penalise"):
        table, solving = failing(make_table(recipe, n_y=2, n=16)), SolveConfig(on_failure=policy)
        loss = _build(recipe, table, solving)
        if loss is None:
            predicted = predictions(quick_fit(recipe, table, QUICK_SETTINGS, solving=solving).predictor, table.X)
            expect(bool(np.isfinite(predicted).all()), f"finite predictions with on_failure={policy!r}", predicted)
            continue
        y_hat = table.Y + 0.1
        loss.start(y_hat)
        values = _epoch(loss, y_hat)
        finite = all(bool(np.isfinite(value).all()) for value in values)
        expect(finite, f"finite losses and gradients with on_failure={policy!r}", values)


def check_budget(method: str | Trainer) -> None:
    """No more calls than the budget has, counted in the functions themselves; what cannot do is refused unpaid."""
    recipe = find_method(method)
    without = make_table(recipe, n_y=2, n=16)
    quick_fit(recipe, without, QUICK_SETTINGS)
    for name, kind in (("solves", "solve"), ("cost_calls", "cost")):
        needed = without.calls[kind]
        for most in {needed // 2, needed - 1} - {0}:
            table = make_table(recipe, n_y=2, n=16)
            try:
                quick_fit(recipe, table, QUICK_SETTINGS, budget=Budget(**{name: most}))
            except InputError as error:
                expect(not table.calls, f"no call before the refusal ({error})", dict(table.calls))
            expect(table.calls[kind] <= most, f"at most {most} calls of `{kind}`", table.calls[kind])


def check_executions(method: str | Trainer, solving: SolveConfig | None = None) -> None:
    """The same result where solves land in another order, or run as `solving` says."""
    recipe = find_method(method)
    found = []
    for how in (SolveConfig(), solving or SolveConfig(execution=OUT_OF_ORDER)):
        table = make_table(recipe, n_y=2, n=16)
        fitted = quick_fit(recipe, table, QUICK_SETTINGS, solving=how)
        found.append((predictions(fitted.predictor, table.X), fitted.oracle.calls.counts))
    (here, counted), (elsewhere, counted_there) = found
    expect(np.array_equal(here, elsewhere), "the same predictions", np.abs(here - elsewhere).max())
    expect(counted == counted_there, f"the same calls {counted}", counted_there)


def check_outcome(method: str | Trainer) -> None:
    """`train` changes the predictor of its context in place, and returns how it ended."""
    recipe = find_method(method)
    table = make_table(recipe, n_y=2)
    fitted = quick_fit(recipe, table, QUICK_SETTINGS)
    rows = len(fitted.split.valid)
    expect(len(fitted.best.values) == rows, f"a reading of the {rows} validation rows", fitted.best)
    expect(isinstance(fitted.stopped, str) and bool(fitted.stopped), "a reason why training ended", fitted.stopped)
    expect(bool(np.isfinite(predictions(fitted.predictor, table.X)).all()), "finite predictions", fitted.predictor)
    json.dumps(fitted.report)


def check_refused_settings(method: str | Trainer) -> None:
    """A setting that the method does not have is refused by name, with those that it has."""
    recipe = find_method(method)
    known = [one.name for part in (recipe.settings, recipe.common) for one in settings_of(part)]
    try:
        recipe.with_settings({"no_such_setting": 1})
    except InputError as error:
        expect("'no_such_setting'" in str(error), "the name of the setting", str(error))
        expect(all(name in str(error) for name in known), f"the settings {known}", str(error))
    else:
        raise AssertionError("expected InputError for an unknown setting; got a method")


CHECKS: tuple[Callable[[str | Trainer], None], ...] = (
    check_gradient,
    check_calls,
    check_labels,
    check_deterministic,
    check_improves,
    check_refusal,
    check_state,
    check_failed_solves,
    check_budget,
    check_executions,
    check_outcome,
    check_refused_settings,
)


def check_solves(
    method: str | Trainer, *, pre_training: int, per_epoch: int, n_y: int = 2, settings: Mapping[str, Any] | None = None
) -> None:
    """Exactly this many solves for each training example: before training, and in each of three epochs.

    Args:
        method: Its name, or the method.
        pre_training: Solves for each example before training.
        per_epoch: Solves for each example in an epoch.
        n_y: Parameters that are predicted.
        settings: Settings of the method, by name.
    """
    recipe = find_method(method)
    table = make_table(recipe, n_y)
    fitted = quick_fit(recipe, table, {"max_epochs": 3, "start_epochs": 2, **(settings or {})})
    paid = fitted.oracle.calls.by_phase("solve")
    n = len(fitted.split.train)
    expected = {"pre-training": n * pre_training, "online": 3 * n * per_epoch}
    found = {phase: paid[phase] for phase in expected}
    expect(found == expected, f"the solves {expected}", found)


def make_table(recipe: Trainer, n_y: int, n: int = 40, seed: int = 0) -> Table:
    table = newsvendor(n_y, n, seed)
    return table if recipe.refuse(table.problem) is None else selection(n_y, n, seed)


def _build(recipe: Trainer, table: Table, solving: SolveConfig | None = None) -> ArrayLoss | None:
    """The loss over all rows of the table; None where the method minimises none."""
    if not isinstance(recipe, GradientTrainer):
        return None
    everyone = np.arange(len(table.Y))
    context = Context(
        oracle=Oracle(table.problem, table.Y, solving=solving),
        split=Split(train=everyone, valid=everyone[:1], test=everyone[:0]),
        inputs=Inputs(table.X),
        predictor=_untrained(table),
        settings=recipe.settings,
        rng=np.random.default_rng(0),
    )
    return as_array_loss(recipe.loss(context))


def _epoch(loss: ArrayLoss, y_hat: Array) -> list[Array]:
    """Losses and gradients of two mini-batches; what the loss itself trains takes a step after each."""
    found: list[Array] = []
    loss.begin_epoch(lambda: y_hat)
    for index in np.array_split(np.arange(len(y_hat)), 2):
        value, slope = loss.with_slope(y_hat[index], index)
        gradients = [slope, *loss.trained_slopes()]
        found += [np.array(value), *(gradient.copy() for gradient in gradients if gradient is not None)]
        for parameter, gradient in zip(loss.trained(), gradients[1:], strict=True):
            if gradient is not None:
                parameter -= 0.01 * gradient
    return found


def quick_fit(
    recipe: Trainer,
    table: Table,
    settings: Mapping[str, Any],
    solving: SolveConfig | None = None,
    budget: Budget | None = None,
) -> Fit:
    rows = np.arange(len(table.X))
    split = Split(train=rows[: -len(rows) // 4], valid=rows[-len(rows) // 4 :], test=rows[:0])
    options: dict[str, Any] = {"settings": known_settings(recipe, settings), "solving": solving, "budget": budget}
    return fit(Plan(table.problem, table.X, table.Y, split, method=recipe, predictor="linear", **options))


def known_settings(recipe: Trainer, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the settings that the method has."""
    known = {one.name for part in (recipe.settings, recipe.common) for one in settings_of(part)}
    return {name: value for name, value in settings.items() if name in known}


def _untrained(table: Table) -> Predictor:
    net = linear(table.X.shape[1], table.Y.shape[1], seed=0)
    return Predictor(net, Scale.of(table.X), Scale.of(table.Y))


def predictions(predictor: Predictor, X: Array) -> Array:
    y_hat: Array = predictor(X)
    return y_hat


def _regret(predictor: Predictor, table: Table) -> float:
    oracle = Oracle(table.problem, table.Y)
    return float(oracle.regret(np.arange(len(table.Y)), predictions(predictor, table.X), phase="test").mean())


class _OutOfOrder(Serial):
    """A few rows at a time, the last ones first: as workers may answer."""

    def solve(self, rows: Array, y_hat: Array, hints: Sequence[Any] | None = None) -> Iterator[Answers]:
        return self._backwards(super().solve, rows, y_hat, *(() if hints is None else (hints,)))

    def cost(self, rows: Array, y: Array, z: Sequence[Array], seeds: Array | None = None) -> Iterator[Answers]:
        return self._backwards(super().cost, rows, y, z, *(() if seeds is None else (seeds,)))

    def _backwards(self, call: Callable[..., Iterator[Answers]], rows: Array, *columns: Any) -> Iterator[Answers]:
        for first in reversed(range(0, len(rows), CHUNK)):
            part = slice(first, first + CHUNK)
            for answers in call(rows[part], *(column[part] for column in columns)):
                yield answers._replace(at=answers.at + first)


OUT_OF_ORDER, CHUNK = "out-of-order", 7  # the name of that execution, and how many rows it answers at a time
register(OUT_OF_ORDER, lambda problem, resources: _OutOfOrder(problem))
