"""A PyEPO model (`optModel`) as a problem: predicted costs in, its solution and what that truly costs out.

c  (n_y,)  what PyEPO predicts, the costs of its objective          w  (n_w,)  its solution, all variables
f  (n_w,)  coefficients of the objective: c, and known numbers where only some variables have a predicted cost

solve(c)    = w*(c)
cost(c, w)  = s (f(c) @ w + constant)        s = -1 where the model maximises
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from fewsolves.errors import InputError
from fewsolves.problem import Array, Problem

Cost = Callable[..., float]


def problem_from_pyepo(optmodel: Any, cost: Cost | None = None, **options: Any) -> Problem:
    """The problem that a PyEPO model solves, whether it minimises or maximises; Y has its true costs.

    >>> import numpy as np, fewsolves as fs
    >>> from pyepo.model.ort import knapsackModel
    >>> model = knapsackModel(weights=np.array([[3.0, 4.0, 5.0]]), capacity=np.array([8.0]))
    >>> problem = fs.problem_from_pyepo(model)
    >>> oracle = fs.Oracle(problem, np.array([[2.0, 1.0, 4.0]]))
    >>> oracle.regret(np.array([0]), np.array([[2.0, 3.0, 1.0]]), phase="test")
    array([3.])

    Args:
        optmodel: An `optModel`, or a function that builds one: for settings of a solver that are made after its model.
            Each process that solves builds its own.
        cost: ``cost(c, w)`` is what a solution truly costs, minimised. None: the objective of the model.
        options: Of the `Problem`: ``lower=``, ``name=``, ...
    """
    given = hasattr(optmodel, "setObj")
    if not given and not callable(optmodel):
        raise InputError(f"expected a PyEPO optModel, or a function that builds one, got {type(optmodel).__name__}")
    model = optmodel if given else optmodel()
    if not (hasattr(model, "setObj") and hasattr(model, "to_spec")):
        raise InputError(
            f"the function must return a PyEPO optModel, of PyEPO 2.2 or newer, got {type(model).__name__}"
        )
    if cost is None and getattr(_written(model), "obj_Q", None) is not None:
        raise InputError("the objective of this model has a quadratic term; give cost=, the true cost of a solution")
    build = Rebuilding(model.to_spec(), tuple(model._extra_constrs)) if given else optmodel
    known = {"name": type(model).__name__, "linear": None if cost else _linear(model)}
    return Problem(factory=partial(_functions, model=build, cost=cost), **known | options)


@dataclass(frozen=True)
class Rebuilding:
    """Builds a PyEPO model in another process from its arguments: the solver's model itself cannot be pickled."""

    spec: Any  # a pyepo.model.opt.ModelSpec
    cuts: tuple[tuple[Array, float], ...]  # of addConstr, which a spec leaves out

    def __call__(self) -> Any:
        model = self.spec.build()
        for coefficients, most in self.cuts:
            model = model.addConstr(coefficients, most)
        return model


def sense_of(model: Any) -> Literal["min", "max"]:
    """The sense of the model's objective: minimise or maximise."""
    return "max" if model.modelSense == -1 else "min"  # EPO.MAXIMIZE, which is a number


def _functions(model: Callable[[], Any], cost: Cost | None) -> Problem:
    """The problem in this process; `model` builds its solver."""
    built = model()
    sign, constant = (-1.0 if sense_of(built) == "max" else 1.0), float(getattr(_written(built), "obj_offset", 0.0))

    def solve(c: Array, *known: Any) -> Array:
        built.setObj(c)
        return np.asarray(built.solve()[0], dtype=float)

    def objectives(c: Array, w: Sequence[Array]) -> Array:
        value: Array = sign * (np.einsum("...i,...i->...", built._fullCost(c), np.asarray(w)) + constant)
        return value

    if cost is not None:
        return Problem(solve=solve, cost=cost)
    return Problem(solve=solve, cost=objectives, cost_batch=objectives)


def _linear(model: Any) -> Literal["min", "max"] | None:
    """The sense, where the objective is c @ w and nothing else."""
    written = _written(model)
    whole = written is None or (
        len(written.c_pred_index) == written.num_vars and not np.any(written.fixed_cost) and not written.obj_offset
    )
    return sense_of(model) if whole else None


def _written(model: Any) -> Any:
    """A model as it was written in PyEPO's modelling language; None for other models."""
    return getattr(model, "problem", None)
