"""Contract of a stand-in for the solver (`methods.staged.stand_ins.base.StandIn`): run it on one of your own.

    from fewsolves.testing import check_stand_in

    def test_my_stand_in():
        check_stand_in(MyStandIn)

`STAND_IN_CHECKS` lists the checks one by one; each raises AssertionError with what was expected.

>>> import numpy as np
>>> from fewsolves.methods.staged.stand_ins import DescentPlan, Prior, StandIn
>>> class Nearest(StandIn):
...     name, prior = "nearest", Prior(-0.05, 0.2)
...     def value(self, index, u, V):  # by the known decision whose point is nearest
...         nearest = [self.pool.nearest(V[:, m], 1)[:, 0] for m in range(V.shape[1])]
...         return self.pool.regret(index[:, None], np.stack(nearest, axis=1))
...     def plan(self, solves, paid):
...         return DescentPlan(epochs=2.0, solves=solves, sigma=0.3, rate=0.03)
>>> check_stand_in(Nearest)
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable

import numpy as np

from fewsolves.methods.staged.boundary import flattened, unflattened
from fewsolves.methods.staged.descent import Descent
from fewsolves.methods.staged.pool import CostCallsTooExpensive, Pool
from fewsolves.methods.staged.replicas import Shifts
from fewsolves.methods.staged.rows import TrainingRows
from fewsolves.methods.staged.stand_ins import StandIn
from fewsolves.methods.staged.tuning import Tuning
from fewsolves.oracle import Oracle
from fewsolves.problem import Array
from fewsolves.testing.expect import expect
from fewsolves.testing.problems import Table, newsvendor, selection

N, N_Y, PROBES = 30, 3, 4
STEP, TOLERANCE = 1e-4, 0.02  # of finite differences, in units of u; relative
COST_CALLS = 10**9  # that the pool allows
SOLVES = (0, 1, 7, N, 6 * N)


def check_stand_in(kind: type[StandIn]) -> None:
    """Run all checks of a stand-in, one after the other; raises AssertionError with what was expected.

    Args:
        kind: The class, made with a pool and the constants of the default.
    """
    for check in STAND_IN_CHECKS:
        check(kind)


def check_values(kind: type[StandIn]) -> None:
    """`value` gives one number for each row and point: a regret, or NaN where nothing is known; some are known."""
    stand_in, index, u, V = _made(kind)
    value = stand_in.value(index, u, V)
    expect(np.shape(value) == V.shape[:2], f"values of shape {V.shape[:2]}", np.shape(value))
    expect(not np.isinf(value).any(), "finite values, or NaN", value)
    expect(bool(np.isfinite(value).any()), "some known values", value)
    one = stand_in.value(index[:1], u[:1], V[:1])
    expect(np.allclose(one, value[:1], equal_nan=True), f"the same for a row alone: {value[:1]}", one)


def check_slopes(kind: type[StandIn]) -> None:
    """`slope`, where there is one, is finite; where `value` is smooth, it is the slope of `value`."""
    stand_in, index, u, _ = _made(kind)
    if not stand_in.sloped:
        return
    slope = stand_in.slope(index, u)
    expect(np.shape(slope) == u.shape, f"slopes of shape {u.shape}", np.shape(slope))
    expect(bool(np.isfinite(slope).all()), "finite slopes", slope)
    coarse, fine = (_differences(stand_in, index, u, step) for step in (STEP, STEP / 2))
    size = np.abs(fine).max(initial=0.0)
    smooth = (np.abs(fine) > 0.01 * size) & (np.abs(coarse - fine) <= 0.1 * TOLERANCE * np.abs(fine))
    off = np.abs(slope - fine)[smooth]
    expect(
        bool((off <= TOLERANCE * size).all()), f"slopes of `value` where it is smooth: {fine[smooth]}", slope[smooth]
    )


def check_refresh(kind: type[StandIn]) -> None:
    """A second `refresh` changes nothing and takes no cost call; what the pool has learned enters with the next one."""
    stand_in, index, u, V = _made(kind)
    before = stand_in.value(index, u, V)
    left = stand_in.pool.calls_left
    stand_in.refresh()
    expect(stand_in.pool.calls_left == left, "no cost call of a second refresh", left - stand_in.pool.calls_left)
    expect(np.array_equal(stand_in.value(index, u, V), before, equal_nan=True), "the same values", "others")
    _grow(stand_in.pool, 4 * N)
    stand_in.refresh()
    after = stand_in.value(index, u, V)
    expect(np.shape(after) == np.shape(before) and not np.isinf(after).any(), "values of a larger pool", after)


def check_query_points(kind: type[StandIn]) -> None:
    """`query_points` gives one point for each row, finite and without a call."""
    stand_in, index, u, V = _made(kind)
    points = stand_in.query_points(index, u, V[:, 0])
    expect(np.shape(points) == u.shape, f"points of shape {u.shape}", np.shape(points))
    expect(bool(np.isfinite(points).all()), "finite points", points)


def check_plan(kind: type[StandIn]) -> None:
    """`plan` describes a descent that pays at most what it is given, and that a descent can carry out."""
    for solves in SOLVES:
        stand_in, *_ = _made(kind)
        rows = stand_in.pool.rows
        for paid in (0, 20 * N):
            plan = stand_in.plan(solves, paid)
            expect(plan.solves <= solves, f"at most {solves} solves", plan.solves)
            expect(plan.epochs >= 0 and plan.sigma > 0 and plan.rate > 0 and plan.batch >= 1, "a descent", plan)
        before, models = rows.paid, Shifts(rows.units(rows.oracle.Y), [np.arange(N)])
        Descent(rows, models, stand_in.pool, stand_in, stand_in.tuning).run(stand_in.plan(solves, rows.paid))
        expect(rows.paid - before <= solves, f"at most {solves} solves paid", rows.paid - before)
        expect(bool(np.isfinite(models.t).all()), "finite weights", models.t)


def check_calls(kind: type[StandIn]) -> None:
    """It never solves, and each cost call is charged to the pool, which refuses those beyond its limit."""
    table = _table(kind)
    stand_in, index, u, V = _made(kind, table)
    pool, before, left = stand_in.pool, dict(table.calls), stand_in.pool.calls_left
    _ask(stand_in, index, u, V)
    expect(table.calls["solve"] == before["solve"], "no solve", table.calls["solve"] - before["solve"])
    made, charged = table.calls["cost"] - before["cost"], left - pool.calls_left
    expect(made <= charged, f"the {made} cost calls charged", charged)
    pool.calls_left, before = 0, dict(table.calls)
    with contextlib.suppress(CostCallsTooExpensive):
        _ask(stand_in, index, u, V)
    expect(table.calls["cost"] == before["cost"], "no cost call beyond the limit", table.calls["cost"])


def check_deterministic(kind: type[StandIn]) -> None:
    """The same pool gives the same numbers, and asking twice does too: nothing in it is random."""
    stand_in, index, u, V = _made(kind)
    first, again = _ask(stand_in, index, u, V), _ask(stand_in, index, u, V)
    np.random.rand(3)  # noqa: NPY002 (global random state is none of its business)
    elsewhere = _ask(*_made(kind))
    for found in (again, elsewhere):
        same = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first, found, strict=True))
        expect(same, "the same numbers", "others")


def check_state(kind: type[StandIn]) -> None:
    """What `state` returns can be saved, and a stand-in that takes it over the same pool gives the same numbers."""
    stand_in, index, u, V = _made(kind)
    stand_in.fit_rho(np.arange(3.0), np.arange(3.0) ** 2)
    _grow(stand_in.pool, 1)  # a stand-in may wait for more before it looks at the pool again
    arrays: dict[str, Array] = {}
    try:
        facts = json.loads(json.dumps(flattened(stand_in.state(), arrays)))
    except TypeError as error:
        raise AssertionError(f"expected attributes that a run can save; got {error}") from error
    restored = kind(stand_in.pool, stand_in.tuning)
    restored.restore(unflattened(facts, arrays))
    expect(restored.rho == stand_in.rho, f"rho = {stand_in.rho}", restored.rho)
    pairs = zip(_ask(stand_in, index, u, V), _ask(restored, index, u, V), strict=True)
    expect(all(np.array_equal(a, b, equal_nan=True) for a, b in pairs), "the same numbers", "others")


STAND_IN_CHECKS: tuple[Callable[[type[StandIn]], None], ...] = (
    check_values,
    check_slopes,
    check_refresh,
    check_query_points,
    check_plan,
    check_calls,
    check_deterministic,
    check_state,
)


def _table(kind: type[StandIn]) -> Table:
    """A problem that the stand-in applies to."""
    for table in (newsvendor(N_Y, N), selection(N_Y, N)):
        if kind.applicable(Pool(_rows(table), COST_CALLS)):
            return table
    raise AssertionError(f"expected {kind.__name__} to apply to a newsvendor or to a selection of items; got neither")


def _made(kind: type[StandIn], table: Table | None = None) -> tuple[StandIn, Array, Array, Array]:
    """A refreshed stand-in over paid points, and where to ask it: rows (B,), u (B, d), V (B, M, d)."""
    rows = _rows(table or _table(kind))
    pool = Pool(rows, COST_CALLS)
    _grow(pool, N)
    stand_in = kind(pool, Tuning())
    stand_in.refresh()
    rng = np.random.default_rng(1)
    index = rng.permutation(N)[: N // 2]
    u = rows.units(rows.oracle.Y)[index] + 0.5 * rng.standard_normal((len(index), N_Y))
    return stand_in, index, u, u[:, None] + 0.3 * rng.standard_normal((len(index), PROBES, N_Y))


def _rows(table: Table) -> TrainingRows:
    return TrainingRows(Oracle(table.problem, table.Y), np.random.default_rng(0))


def _grow(pool: Pool, points: int) -> None:
    rows = pool.rows
    index = rows.rng.integers(N, size=points)
    u = rows.units(rows.oracle.Y)[index] + rows.rng.standard_normal((points, N_Y))
    pool.learn(index, u, rows.pay(index, u))


def _ask(stand_in: StandIn, index: Array, u: Array, V: Array) -> list[Array]:
    """Everything that a descent asks for."""
    stand_in.refresh()
    found = [stand_in.value(index, u, V), stand_in.query_points(index, u, V[:, 0])]
    return [*found, stand_in.slope(index, u)] if stand_in.sloped else found


def _differences(stand_in: StandIn, index: Array, u: Array, step: float) -> Array:
    """(B, d): central differences of `value` at u."""
    steps = step * np.concatenate([np.eye(N_Y), -np.eye(N_Y)])
    value = stand_in.value(index, u, u[:, None] + steps)
    return np.nan_to_num((value[:, :N_Y] - value[:, N_Y:]) / (2 * step))
