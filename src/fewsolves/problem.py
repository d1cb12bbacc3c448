"""The user's problem: two plain callables, nothing to subclass.

    y      (n_y,)   the parameters that are predicted       y_hat (n_y,)  their prediction
    z      any      the decision that `solve` returns: an array, a dict, a named tuple, text, a list of routes, ...
    solve  y_hat -> z          z*(y_hat), by any means
    cost   (y, z) -> float     g(y, z), the true cost, recourse included; always minimised

A solver that must be set up first (a licence, a model in memory) is given as `factory`: it is called once in each
process that solves, and returns (solve, cost), or a Problem.

With `instances` (one entry per row of the table: known data of that row) the callables get one argument more:
`solve(y_hat, instance)` and `cost(y, z, instance)`.

A `solve` with an argument `hint` gets a decision there, the known one at the nearest parameters, or None: a solver that
takes a start from outside begins with it. It may change how long a solve takes, and never what it returns.

`noisy` names the functions that are random: their answers are not reused, all others are. A noisy `cost` that has an
argument `seed` gets a whole number there: one number, one cost; so two predictors can be compared under the same noise.
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fewsolves.errors import InputError

Array = NDArray[Any]
Noisy = Literal["solve", "cost", "both"]
FUNCTIONS = ("solve", "cost", "solve_batch", "cost_batch")


@dataclass(frozen=True)
class Problem:
    """An optimisation problem seen from outside: parameters in, decision and true cost out.

    >>> import fewsolves as fs
    >>> def cost(y, z):
    ...     return float(abs(y - z).sum())
    >>> newsvendor = fs.Problem(solve=lambda y_hat: y_hat, cost=cost)

    Args:
        solve: ``solve(y_hat)`` gives the decision z for predicted parameters, by any means. A function with an argument
            `hint` gets the known decision at the nearest parameters, or None, for a warm start (docs/solving.md).
        cost: ``cost(y, z)`` is what the decision really costs once y is known, as a number; always minimised.
        solve_batch: Solves B rows in one call, (B, n_y) to B decisions; used instead of `solve` where it is given.
        cost_batch: Costs of B rows in one call: ((B, n_y), B decisions) to (B,).
        factory: Instead of the four above: a function without arguments that sets the solver up and returns
            ``(solve, cost)`` or a `Problem`. It is called once in each process that solves.
        objective: Deprecated and not used.
        linear: "min" or "max" where `solve` minimises (or maximises) ``y_hat @ z`` over a set that y does not change,
            and the cost is ``y @ z`` (or ``-y @ z``). It opens the methods that need this, such as "spo+".
        deterministic: Deprecated: use ``noisy="both"`` instead of False.
        instances: Known data, one entry for each row of the table; the functions then get the entry of the row as one
            argument more. A data frame gives one dict for each row.
        version: A version of what the ledger cannot see: a library, a file, a service. A new one needs a new ledger.
        name: The name of the problem in reports and messages.
        encode: Turns a decision of a type of your own into plain data, which is kept and which `cost` gets.
        noisy: The random functions: "solve", "cost" or "both". Their answers are not reused.
        lower: Lower bound of y, one for all parameters or one for each. `solve` never sees a prediction beyond it.
        upper: Upper bound of y, likewise.
        remember: A folder that stores every answer by the arguments of its call. A fit or process that repeats a call,
            over any table, reuses the answer from there without paying again (docs/scikit-learn.md).
        depends_on: What the answers depend on and the ledger cannot find in the functions: paths of files or folders,
            whose content counts, and any values. A ledger is refused where one of them has changed (docs/ledger.md).
        feasible: ``feasible(z, instance)`` is False where the decision of another row is not allowed for this one. It
            is optional help with known data by row, where `cost` would price such a decision (docs/problem.md).
    """

    solve: Callable[..., Any] | None = None
    cost: Callable[..., Any] | None = None
    _: KW_ONLY
    solve_batch: Callable[..., Any] | None = None
    cost_batch: Callable[..., Any] | None = None
    factory: Callable[[], Any] | None = None
    objective: Callable[..., Any] | None = None
    linear: Literal["min", "max"] | None = None
    deterministic: bool = True
    instances: Sequence[Any] | None = None
    version: str | None = None
    name: str = "problem"
    encode: Callable[[Any], Any] | None = None
    noisy: Noisy | None = None
    lower: float | Sequence[float] | None = None
    upper: float | Sequence[float] | None = None
    remember: str | Path | None = None
    depends_on: Sequence[Any] | None = None
    feasible: Callable[[Any, Any], bool] | None = None

    def __post_init__(self) -> None:
        if self.noisy not in (None, "solve", "cost", "both"):
            raise InputError(f"Problem(noisy=) is 'solve', 'cost', 'both' or None, got {self.noisy!r}")
        if self.objective is not None:
            _deprecated("Problem(objective=) is not used by anything; leave it out")
            object.__setattr__(self, "objective", None)
        if self.noisy is None and not self.deterministic:
            _deprecated("Problem(deterministic=False) is deprecated; use Problem(noisy='both')")
            object.__setattr__(self, "noisy", "both")
        object.__setattr__(self, "deterministic", self.noisy is None)
        for name in ("lower", "upper"):
            object.__setattr__(self, name, _bound(name, getattr(self, name)))
        if self.bounded and not np.all(np.less(*self.bounds())):
            raise InputError(f"Problem(lower={self.lower}, upper={self.upper}) leaves no room between the two")
        if self.instances is not None:
            object.__setattr__(self, "instances", _by_row(self.instances))
        object.__setattr__(self, "remember", _folder(self.remember))
        object.__setattr__(self, "depends_on", _listed(self.depends_on))
        if self.feasible is not None and not callable(self.feasible):
            raise InputError(f"Problem(feasible=) must be a function, got {type(self.feasible).__name__}")
        if self.linear not in (None, "min", "max"):
            raise InputError(f"Problem(linear=) is 'min', 'max' or None, got {self.linear!r}")
        if self.factory is None:
            self._check_functions()
        else:
            self._check_factory()

    def _check_factory(self) -> None:
        if not callable(self.factory):
            raise InputError(f"Problem(factory=) must be a function, got {type(self.factory).__name__}")
        if given := [name for name in FUNCTIONS if getattr(self, name) is not None]:
            raise InputError(f"Problem(factory=) makes the functions; leave `{given[0]}=` out")

    def _check_functions(self) -> None:
        for needed, batched in (("solve", "solve_batch"), ("cost", "cost_batch")):
            given = [getattr(self, name) for name in (needed, batched) if getattr(self, name) is not None]
            if not given:
                raise InputError(f"Problem needs `{needed}=` (or `{batched}=`), a function; none was given")
            for function in given:
                if not callable(function):
                    raise InputError(f"Problem(`{needed}=`) must be a function, got {type(function).__name__}")
        if self.encode is not None and not callable(self.encode):
            raise InputError(f"Problem(encode=) must be a function, got {type(self.encode).__name__}")
        for cost in (self.cost, self.cost_batch):
            seed = _argument("seed", cost)
            if seed is not None and seed.default is inspect.Parameter.empty and not self.noisy_cost:
                raise InputError("`cost` has an argument `seed`: declare noisy='cost', or give `seed` a default")

    def __repr__(self) -> str:
        return f"Problem({self.name!r})"  # functions print as addresses, which say nothing and differ from run to run

    @property
    def noisy_solve(self) -> bool:
        """Whether two solves at one point may differ."""
        return self.noisy in ("solve", "both")

    @property
    def noisy_cost(self) -> bool:
        """Whether two costs of one decision may differ."""
        return self.noisy in ("cost", "both")

    @property
    def takes_seed(self) -> bool:
        """Whether a seed settles what is random in the cost; of a factory's functions that is not known here."""
        used = self.cost if self.cost_batch is None else self.cost_batch
        return self.noisy_cost and _argument("seed", used) is not None

    @property
    def takes_hint(self) -> bool:
        """Whether `solve` takes a decision to start from; of a factory's functions that is not known here."""
        return self.solve_batch is None and _argument("hint", self.solve) is not None

    @property
    def bounded(self) -> bool:
        """Whether predictions have bounds."""
        return self.lower is not None or self.upper is not None

    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper, each of one entry or of n_y; infinite where there is none."""
        low, high = -np.inf if self.lower is None else self.lower, np.inf if self.upper is None else self.upper
        return np.atleast_1d(low), np.atleast_1d(high)

    def within_bounds(self, y: Array) -> Array:
        """The nearest parameters that lie within the bounds.

        Args:
            y: (n, n_y) Parameters.
        """
        return np.clip(y, *self.bounds()) if self.bounded else y

    def check_bounds(self, Y: Array, X: Array | None = None) -> None:
        """Raise where a table of true parameters has an entry beyond the bounds.

        Args:
            Y: (n, n_y) True parameters.
            X: The context of these rows. If it lies within the bounds instead, the message says that both are swapped.
        """
        if not self.bounded:
            return
        try:
            self._check_within(Y)
        except InputError as error:
            if X is None or X.ndim != 2 or X.shape[1] == 0 or not self._lies_within(X):
                raise
            raise InputError(
                f"X and Y seem to be swapped: X, of shape {X.shape}, lies within the bounds of the problem, and Y, of "
                f"shape {Y.shape}, does not ({error}). The known inputs come first, as X; the parameters that `solve` "
                f"gets come second, as Y"
            ) from error

    def _lies_within(self, table: Array) -> bool:
        try:
            self._check_within(table)
        except (InputError, ValueError, TypeError):
            return False
        return True

    def _check_within(self, Y: Array) -> None:
        for name, bound in zip(("lower", "upper"), self.bounds(), strict=True):
            if len(bound) not in (1, Y.shape[1]):
                raise InputError(
                    f"Problem({name}=) has {len(bound)} entries, Y has {Y.shape[1]} columns; give one each"
                )
        beyond = np.argwhere(self.within_bounds(Y) != Y)
        if len(beyond):
            row, column = beyond[0]
            low, high = (float(np.broadcast_to(bound, Y.shape[1])[column]) for bound in self.bounds())
            raise InputError(
                f"Y has {Y[row, column]:g} at row {row}, column {column}, beyond the bounds {low:g} to {high:g} of the "
                f"problem; fix that row, or Problem(lower=, upper=)"
            )

    def build(self) -> Problem:
        """The problem with the functions that its factory makes now."""
        assert self.factory is not None
        made = self.factory()
        if isinstance(made, Problem):
            made = made.build() if made.factory is not None else made
            functions = {name: getattr(made, name) for name in FUNCTIONS}
        elif isinstance(made, tuple) and len(made) == 2:
            functions = {"solve": made[0], "cost": made[1]}
        else:
            raise InputError(f"Problem(factory=) must return (solve, cost) or a Problem, got {made!r:.80}")
        return dataclasses.replace(self, factory=None, **functions)

    def with_instances(self, instances: Sequence[Any] | None) -> Problem:
        """The same problem over other rows.

        Args:
            instances: Known data, one entry for each of them; None: there are none.
        """
        return dataclasses.replace(self, instances=instances)

    def check_instances(self, n_rows: int, of: str = "Y") -> None:
        """Raise where there is not one instance for each row of a table.

        Args:
            n_rows: Rows of the table.
            of: Its name in the error.
        """
        if self.instances is not None and len(self.instances) != n_rows:
            raise InputError(f"instances has {len(self.instances)} entries, {of} has {n_rows} rows; give one per row")

    def instance(self, row: int) -> Any:
        """The known data of one row; raises where they cannot be read.

        Args:
            row: Its number in the table.
        """
        assert self.instances is not None
        try:
            return self.instances[row]
        except Exception as error:  # it is the user's object
            said = f"{type(error).__name__}: {error}"
            raise InputError(f"instances has no entry for row {row} ({said:.200}); give a list") from error

    def linear_cost(self, y: Array, z: Array) -> Array:
        """y @ z in the sense that is minimised, row by row; only for a `linear` problem.

        Args:
            y: (n, n_y) Parameters.
            z: (n, n_y) Decisions.
        """
        value: Array = np.einsum("ij,ij->i", y, z)
        return value if self.linear == "min" else -value


def _deprecated(message: str) -> None:
    warnings.warn(message, DeprecationWarning, stacklevel=5)  # where the problem is made


def _by_row(instances: Any) -> Sequence[Any]:
    """Of a data frame one dict for each row, by the names of its columns; others as they are."""
    if hasattr(instances, "to_dicts"):  # polars
        return list(instances.to_dicts())
    if hasattr(instances, "iloc"):
        return list(instances.to_dict("records") if hasattr(instances, "columns") else instances)
    if not hasattr(instances, "__getitem__") or not _has_length(instances) or isinstance(instances, str | bytes | dict):
        raise InputError(f"instances is a sequence with one entry per row of the table, got {instances!r:.80}")
    return instances  # type: ignore[no-any-return]


def _has_length(values: Any) -> bool:
    try:
        return len(values) >= 0
    except Exception:  # it is the user's object
        return False


def _listed(depends_on: Any) -> list[Any] | None:
    if depends_on is None or isinstance(depends_on, list | tuple):
        return None if depends_on is None else list(depends_on)
    raise InputError(f"Problem(depends_on=) is a list of paths and values, got {depends_on!r:.80}")


def _folder(remember: Any) -> Path | None:
    if remember is None:
        return None
    if isinstance(remember, str | Path) and str(remember):
        return Path(remember).absolute()  # a solver may change the working directory
    raise InputError(f"Problem(remember=) is the path of a folder, got {remember!r:.80}")


def _bound(name: str, value: Any) -> float | tuple[float, ...] | None:
    try:
        numbers = None if value is None else np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        numbers = np.array([[np.nan]])
    if numbers is None:
        return None
    if numbers.ndim > 1 or np.isnan(numbers).any():
        raise InputError(f"Problem({name}=) is a number, or one for each parameter, got {value!r:.80}")
    return float(numbers) if numbers.ndim == 0 else tuple(numbers.tolist())


def _argument(name: str, function: Callable[..., Any] | None) -> inspect.Parameter | None:
    """The argument of this name, where a function has it."""
    try:
        return None if function is None else inspect.signature(function).parameters.get(name)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return None
