"""The contract of a method: run it on those of the library, and on one of your own.

    from fewsolves.testing import check_method

    def test_my_method():
        check_method(my_method)

or check by check, so that a report names what fails:

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_method(check):
        check(my_method)

Each check raises AssertionError with what was expected. Two problems serve all of them: `newsvendor`, which any method
for black boxes must accept, and `selection`, whose linear objective suits the methods that need one.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from fewsolves.data import Scale, Split
from fewsolves.errors import NotApplicableError
from fewsolves.methods.base import Ingredients, Loss, Method, OracleLoss
from fewsolves.methods.registry import METHODS, find_method
from fewsolves.oracle import Oracle
from fewsolves.predictor import Predictor, linear
from fewsolves.problem import Array, Problem
from fewsolves.runs.fit import Fit, fit

DIMENSIONS = (1, 10, 50)
SHORTAGE = 4.0  # what a missing unit costs in the newsvendor; one too many costs 1
IMPROVEMENT = 0.6  # regret that must be left at the most, of that of a predictor with random weights
QUICK: Mapping[str, Any] = {"max_epochs": 2, "start_epochs": 2}


class Table(NamedTuple):
    """Rows of a problem, and how often its functions have been called for one of them."""

    problem: Problem
    X: Array
    Y: Array
    calls: Counter[str]


def newsvendor(n_y: int, n: int = 40, seed: int = 0) -> Table:
    """Order n_y goods: a missing unit costs more than one too many, so the mean demand is not the best order."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = 10.0 + X @ _weights(n_y) + rng.gamma(1.0, 0.3, size=(n, n_y))

    def cost(y: Array, z: Array) -> Array:
        values: Array = (np.maximum(z - y, 0.0) + SHORTAGE * np.maximum(y - z, 0.0)).sum(axis=1)
        return values

    return _counted(Problem(solve_batch=lambda y_hat: y_hat, cost_batch=cost, name="newsvendor"), X, Y)


def selection(n_y: int, n: int = 40, seed: int = 0) -> Table:
    """Take at most half of n_y items (one of one), those of the highest predicted value if that is positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = X @ _weights(n_y) + 0.3 * rng.normal(size=(n, n_y))
    most = (n_y + 1) // 2

    def solve(y_hat: Array) -> Array:
        rank = np.argsort(np.argsort(-y_hat, axis=1, kind="stable"), axis=1)
        z: Array = ((rank < most) & (y_hat > 0)).astype(float)
        return z

    def cost(y: Array, z: Array) -> Array:
        values: Array = -(y * z).sum(axis=1)
        return values

    return _counted(Problem(solve_batch=solve, cost_batch=cost, linear="max", name="selection"), X, Y)


def check_method(method: str | Method) -> None:
    """All checks, one after the other."""
    for check in CHECKS:
        check(method)


def check_gradient(method: str | Method) -> None:
    """The loss is a finite scalar with a finite gradient, whatever the number of parameters."""
    recipe = find_method(method).with_settings({})
    for n_y in DIMENSIONS:
        table = _table(recipe, n_y, n=12)
        loss = _build(recipe, table)
        if loss is None:
            return
        y_hat = torch.tensor(table.Y + 0.1).requires_grad_()
        loss.start(y_hat.detach())
        loss.begin_epoch(y_hat.detach)
        value = loss(y_hat, torch.arange(len(y_hat)))
        _expect(value.shape == () and bool(torch.isfinite(value)), f"a finite scalar for n_y = {n_y}", value)
        value.backward()
        gradient = y_hat.grad
        finite = gradient is not None and bool(gradient.isfinite().all())
        _expect(finite, f"a finite gradient for n_y = {n_y}", gradient)


def check_calls(method: str | Method) -> None:
    """Every call of `solve` and `cost` went through the oracle and was counted; the true decisions are solved once."""
    recipe = find_method(method)
    table = _table(recipe, n_y=2)
    calls = _fit(recipe, table, QUICK).oracle.calls
    for kind in ("solve", "cost"):
        counted = sum(calls.by_phase(kind).values())
        _expect(counted == table.calls[kind], f"{table.calls[kind]} calls of `{kind}` counted", counted)
    labels = calls.by_phase("solve")["labels"]
    _expect(labels <= len(table.Y), f"at most one solve at the truth for each of {len(table.Y)} rows", labels)


def check_labels(method: str | Method) -> None:
    """The table comes back as it went in, and so do the labels that the oracle holds."""
    recipe = find_method(method)
    table = _table(recipe, n_y=2)
    X, Y = table.X.copy(), table.Y.copy()
    fitted = _fit(recipe, table, QUICK)
    pairs = [(X, table.X), (Y, table.Y), (Y, fitted.oracle.Y)]
    if isinstance(fitted.loss, OracleLoss):
        pairs.append((Y[fitted.split.train], fitted.loss.oracle.Y))
    same = [np.array_equal(*pair) for pair in pairs]
    _expect(all(same), "X, Y and the oracle's Y unchanged", same)


def check_deterministic(method: str | Method) -> None:
    """One seed gives one result, whatever happened before."""
    recipe = find_method(method)
    table = _table(recipe, n_y=2)
    first = _predict(_fit(recipe, table, QUICK).predictor, table.X)
    torch.rand(3)  # global random state is none of a method's business
    np.random.rand(3)  # noqa: NPY002
    second = _predict(_fit(recipe, table, QUICK).predictor, table.X)
    _expect(np.array_equal(first, second), "the same predictions from the same seed", np.abs(first - second).max())


def check_improves(method: str | Method) -> None:
    """Trained from random weights, where the method has weights to train, it decides far better than they do."""
    recipe = find_method(method)
    cold = {"warm_start": False} if recipe.build is not None else {}
    settings = cold | {"learning_rate": 0.03, "max_epochs": 40, "patience": 40, "steps_per_epoch": 8}
    table, fresh = _table(recipe, n_y=2, n=120), _table(recipe, n_y=2, n=400, seed=1)
    trained = _fit(recipe, table, settings).predictor
    before, after = _regret(_untrained(table), fresh), _regret(trained, fresh)
    _expect(after <= IMPROVEMENT * before, f"a regret of {IMPROVEMENT} x {before:.3g} or less", after)


def check_refusal(method: str | Method) -> None:
    """What a method does not accept it refuses before it pays, and names a method that fits."""
    recipe = find_method(method)
    for table in (newsvendor(2), selection(2), _noisy(newsvendor(2))):
        if recipe.refuse(table.problem) is None:
            continue
        try:
            _fit(recipe, table, QUICK)
        except NotApplicableError as error:
            told = [name for name in METHODS if f"'{name}'" in str(error) and name != recipe.name]
            fits = [name for name in told if METHODS[name].refuse(table.problem) is None]
            _expect(bool(fits), "a message that names a method which fits", str(error))
            _expect(not table.calls, "no call before the refusal", dict(table.calls))
        else:
            raise AssertionError(f"expected NotApplicableError on {table.problem.name!r}, got a result")


CHECKS: tuple[Callable[[str | Method], None], ...] = (
    check_gradient,
    check_calls,
    check_labels,
    check_deterministic,
    check_improves,
    check_refusal,
)


def check_solves(
    method: str | Method, *, pre_training: int, per_epoch: int, n_y: int = 2, settings: Mapping[str, Any] | None = None
) -> None:
    """Exactly so many solves for each training example: before training, and in each of three epochs."""
    recipe = find_method(method)
    table = _table(recipe, n_y)
    fitted = _fit(recipe, table, {"max_epochs": 3, "start_epochs": 2, **(settings or {})})
    paid = fitted.oracle.calls.by_phase("solve")
    n = len(fitted.split.train)
    expected = {"pre-training": n * pre_training, "online": 3 * n * per_epoch}
    found = {phase: paid[phase] for phase in expected}
    _expect(found == expected, f"the solves {expected}", found)


def _table(recipe: Method, n_y: int, n: int = 40, seed: int = 0) -> Table:
    table = newsvendor(n_y, n, seed)
    return table if recipe.refuse(table.problem) is None else selection(n_y, n, seed)


def _build(recipe: Method, table: Table) -> Loss | None:
    if recipe.build is None:
        return None
    return recipe.build(
        Ingredients(
            oracle=Oracle(table.problem, table.Y),
            X=table.X,
            predictor=_untrained(table),
            config=recipe.config,
            rng=np.random.default_rng(0),
        )
    )


def _fit(recipe: Method, table: Table, settings: Mapping[str, Any]) -> Fit:
    rows = np.arange(len(table.X))
    split = Split(train=rows[: -len(rows) // 4], valid=rows[-len(rows) // 4 :], test=rows[:0])
    return fit(table.problem, table.X, table.Y, split, method=recipe, predictor="linear", settings=settings)


def _untrained(table: Table) -> Predictor:
    net = linear(table.X.shape[1], table.Y.shape[1], seed=0)
    return Predictor(net, Scale.of(table.X), Scale.of(table.Y))


def _predict(predictor: Predictor, X: Array) -> Array:
    with torch.no_grad():
        y_hat: Array = predictor(torch.as_tensor(X)).numpy()
    return y_hat


def _regret(predictor: Predictor, table: Table) -> float:
    oracle = Oracle(table.problem, table.Y)
    return float(oracle.regret(np.arange(len(table.Y)), _predict(predictor, table.X), phase="test").mean())


def _weights(n_y: int) -> Array:
    return np.random.default_rng(7).normal(size=(3, n_y))


def _counted(problem: Problem, X: Array, Y: Array) -> Table:
    calls: Counter[str] = Counter()

    def counting(kind: str, function: Callable[..., Any] | None) -> Callable[..., Any]:
        assert function is not None

        def call(rows: Array, *rest: Any) -> Any:
            calls[kind] += len(rows)
            return function(rows, *rest)

        return call

    solve, cost = counting("solve", problem.solve_batch), counting("cost", problem.cost_batch)
    return Table(dataclasses.replace(problem, solve_batch=solve, cost_batch=cost), X, Y, calls)


def _noisy(table: Table) -> Table:
    return table._replace(problem=dataclasses.replace(table.problem, deterministic=False, name="noisy newsvendor"))


def _expect(holds: bool, what: str, got: object) -> None:
    if not holds:
        raise AssertionError(f"expected {what}; got {got}")
