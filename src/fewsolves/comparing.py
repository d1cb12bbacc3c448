"""Models compared on the same rows: paired differences of the regret, row by row, with their interval.

    d_i = r_i(other) - r_i(first)      below 0: lower regret than the first model

A label is paid once for all models. Only rows for which every model has a regret are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.exceptions import NotFittedError

from fewsolves._internal.html import html_table
from fewsolves._internal.text import number
from fewsolves.data import check_orders, rank_of
from fewsolves.errors import FewsolvesError, InputError
from fewsolves.estimator import DecisionRegressor
from fewsolves.ledger.identity.fingerprint import FINGERPRINTED_FUNCTIONS, differences, fingerprint
from fewsolves.ledger.identity.held_data import changed_items, held_data
from fewsolves.methods.reading import Comparison, Reading
from fewsolves.model import DecisionModel
from fewsolves.oracle import SolveConfig
from fewsolves.problem import Array, Problem
from fewsolves.regrets import Regrets, checked_truth, oracle_by_row, regrets_at

LEVEL = 0.95
TIE = 1e-9  # relative difference of two regrets that is rounding
HEADS = ("model", "mean regret", "difference", f"{LEVEL:.0%} interval", "wins", "ties", "losses")


class Predicts(Protocol):
    """Anything that predicts: a fitted `DecisionRegressor`, a loaded model, a scikit-learn regressor."""

    def predict(self, X: Any) -> Any: ...


class Line(NamedTuple):
    """One model beside the first one."""

    model: str
    mean_regret: float
    difference: float | None  # of the mean regrets; None for the first model itself
    interval: tuple[float, float] | None  # of the difference; None of fewer than two rows
    wins: int  # rows with a lower regret than the first model
    ties: int
    losses: int


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison:
    """Models on the same rows, each beside the first one; prints as a table."""

    regrets: Mapping[str, Regrets]  #: by model, the first one to compare with
    solves: int  #: that were paid

    @cached_property
    def rows(self) -> Array:
        """Numbers of the rows that are compared: every model has a regret there."""
        return np.flatnonzero(np.all([one.known for one in self.regrets.values()], axis=0))

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """One for each model, in the order in which they were given."""
        values = {name: one.values[self.rows] for name, one in self.regrets.items()}
        first = next(iter(values.values()))
        return tuple(_line(name, own, None if own is first else first) for name, own in values.items())

    def to_frame(self) -> Any:
        """The table as a data frame with a row for each model; it needs pandas."""
        import pandas as pd

        columns = ("model", "mean_regret", "difference", "low", "high", "wins", "ties", "losses", "rows")
        rows = [
            (one.model, one.mean_regret, one.difference, *(one.interval or (None, None)), *one[4:], len(self.rows))
            for one in self.lines
        ]
        return pd.DataFrame(rows, columns=columns).set_index("model")

    def __str__(self) -> str:
        table = [HEADS, *map(_cells, self.lines)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ("  ".join([c[0].ljust(widths[0]), *map(str.rjust, c[1:], widths[1:])]) for c in table)
        return "\n".join([self._above, *lines, *self._below])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same table in a notebook."""
        return html_table(HEADS, map(_cells, self.lines), above=self._above, below=self._below)

    @property
    def _above(self) -> str:
        name, first = next(iter(self.regrets.items()))
        kind = "relative regret" if first.relative else "regret"
        return (
            f"{len(self.rows):,} rows, {self.solves:,} solves; differences to {name!r}, row by row: below 0, the "
            f"{kind} is lower"
        )

    @property
    def _below(self) -> list[str]:
        missing = {name: one.missing for name, one in self.regrets.items() if one.missing is not None}
        return [f"{name}: {reason}" for name, reason in missing.items()]


def compare(
    models: Mapping[str, Predicts],
    X: Any,
    Y: Any,
    *,
    instances: Sequence[Any] | None = None,
    problem: Problem | None = None,
) -> ModelComparison:
    """Compare models on the same rows by the regret of their decisions; use rows that none of them has seen.

    >>> import numpy as np, fewsolves as fs
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 2)); Y = 10 + X @ [[2.0], [1.0]] + rng.normal(size=(90, 1))
    >>> order = fs.Problem(
    ...     solve=lambda y_hat: y_hat,
    ...     cost=lambda y, z: float(np.sum(1.0 * z + 9.0 * np.maximum(y - z, 0))),
    ... )
    >>> plain = LinearRegression().fit(X[:60], Y[:60])
    >>> focused = fs.DecisionRegressor(order, "shift", "linear", verbose=False)
    >>> focused = focused.fit(X[:60], Y[:60])
    >>> compared = fs.compare({"least squares": plain, "focused": focused}, X[60:], Y[60:])
    >>> compared.lines[1].difference < 0
    True

    It pays for one solve per row, and for one more per row and model. A row without a label, or without a plan by some
    model, is left out of the comparison and counted below the table.

    Args:
        models: By name. Each has `predict`; the others are compared with the first one.
        X: (n, n_x) Rows as the models take them.
        Y: (n, n_y) Their true parameters, or (n,) for one parameter.
        instances: Known data of each row, where the problem has any.
        problem: What the decisions are judged by. None: the problem of the models, which must be one and the same.

    Returns:
        The differences with their intervals. It prints as a table; ``to_frame()`` gives a data frame, and
        ``fs.plot.compare`` draws it.
    """
    if not isinstance(models, Mapping) or len(models) < 2:
        raise InputError("compare needs at least two models by name, such as {'a': a, 'b': b}")
    if odd := [name for name, model in models.items() if not callable(getattr(model, "predict", None))]:
        raise InputError(f"model {odd[0]!r} has no `predict`; give a fitted model")
    judged, solving = _problem(models, problem, instances)
    check_orders(X, Y=Y, instances=instances)
    truth = checked_truth(Y, len(X))
    with closing(oracle_by_row(judged, truth, solving)) as oracle:
        regrets = {
            str(name): regrets_at(oracle, _predictions(name, model, X, truth, judged)) for name, model in models.items()
        }
        solves = sum(oracle.calls.by_phase("solve").values())
    compared = ModelComparison(regrets, solves)
    if not len(compared.rows):
        missing = next(one.missing for one in regrets.values() if one.missing is not None)
        raise InputError(f"no row can be compared: {missing}")
    return compared


def _problem(
    models: Mapping[str, Predicts], given: Problem | None, instances: Sequence[Any] | None
) -> tuple[Problem, SolveConfig]:
    """The problem over these rows, and how its solves run."""
    named = {name: model._model() if isinstance(model, DecisionRegressor) else model for name, model in models.items()}
    with_problem = {name: one for name, one in named.items() if isinstance(one, DecisionModel) and one.problem}
    ours = list(with_problem.values())
    solving = ours[0].solving if ours else SolveConfig()
    if given is not None:
        return given.with_instances(instances) if instances is not None else given, solving
    if not ours:
        raise InputError("no model has a problem, by which decisions are judged: give problem=")
    first, *others = with_problem
    for name in others:
        if not _same(ours[0].problem, with_problem[name].problem):
            raise InputError(
                f"models {first!r} and {name!r} were trained for different problems, so their regrets cannot be "
                f"compared: give problem=, by which the decisions of all are judged"
            )
    return ours[0].problem_of(instances), solving


def _same(one: Problem | None, other: Problem | None) -> bool:
    """Whether two problems have the same functions: themselves, or in code and data, as copies of a search have."""
    assert one is not None and other is not None
    if all(getattr(one, name) == getattr(other, name) for name in (*FINGERPRINTED_FUNCTIONS, "version")):
        return True
    parts = (fingerprint(problem.with_instances(None), np.empty(0)) for problem in (one, other))
    held = (
        held_data({name: getattr(problem, name) for name in FINGERPRINTED_FUNCTIONS}, problem.depends_on or ())
        for problem in (one, other)
    )
    return not differences(*parts) and not changed_items(*held)


def _predictions(name: str, model: Predicts, X: Any, truth: Array, problem: Problem) -> Array:
    try:
        y_hat = np.asarray(model.predict(X), dtype=float)
    except (FewsolvesError, NotFittedError):
        raise
    except Exception as error:  # whatever the model raises is its own
        if rank_of(X) < 3 or not isinstance(error, ValueError):
            raise InputError(f"model {name!r} cannot predict: {type(error).__name__}: {error}") from error
        raise InputError(
            f"model {name!r} cannot predict for X of shape {np.shape(X)}: {str(error).rstrip('.')}. Compare a "
            f"regressor of tables as DecisionRegressor(problem, method='pfl', predictor=regressor), fitted on such X"
        ) from error
    if y_hat.size != truth.size or len(y_hat) != len(truth):
        raise InputError(f"model {name!r} predicts an array of shape {y_hat.shape}, Y has {truth.shape}")
    return problem.within_bounds(y_hat.reshape(truth.shape))


def _line(name: str, own: Array, first: Array | None) -> Line:
    if first is None:
        return Line(name, float(own.mean()), None, None, 0, 0, 0)
    tied = np.abs(own - first) <= TIE * np.maximum(np.abs(own), np.abs(first))
    compared = Comparison.of(Reading(own), Reading(first))  # a fall from `own` to `first` is the difference
    wins, losses = (int((better & ~tied).sum()) for better in (own < first, own > first))
    return Line(name, float(own.mean()), compared.mean, compared.interval(LEVEL), wins, int(tied.sum()), losses)


def _cells(line: Line) -> tuple[str, ...]:
    if line.difference is None:
        return line.model, number(line.mean_regret), "", "", "", "", ""
    interval = "" if line.interval is None else " to ".join(map(_signed, line.interval))
    counts = (f"{rows:,}" for rows in (line.wins, line.ties, line.losses))
    return line.model, number(line.mean_regret), _signed(line.difference), interval, *counts


def _signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value)
