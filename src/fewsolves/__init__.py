"""Train a predictor for the decisions it drives, with few calls of the solver.

x --predictor--> y_hat --+--> surrogate (mean, std): confident? --------> loss --backward()--> predictor
                         |          ^ learns from                            ^
                         |          |                                        |
                         +--> oracle: solve z*(y_hat) --> cost g(y, z) --> regret --> fallback gradient
"""

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fewsolves.errors import BudgetSpent, FewsolvesError, Infeasible, InputError, NotApplicableError, SolverError
from fewsolves.problem import Problem

if TYPE_CHECKING:
    from fewsolves.diagnosis.doctor import doctor
    from fewsolves.estimator import DecisionRegressor
    from fewsolves.fitting.fit import fit
    from fewsolves.fitting.plan import Plan
    from fewsolves.methods.base import Context, Demand, GradientTrainer, Loss, Outcome, TrainConfig, Trainer
    from fewsolves.methods.deprecated import Method
    from fewsolves.methods.gp_surrogate.config import GPSurrogateConfig
    from fewsolves.methods.gp_surrogate.loss import GPSurrogateLoss
    from fewsolves.methods.gp_surrogate.surrogate.export import ExportedSurrogate, load_surrogate, save_surrogate
    from fewsolves.model import DecisionModel, load
    from fewsolves.oracle import Oracle, SolveConfig
    from fewsolves.oracle.budget import Budget
    from fewsolves.predictors.predictor import Predictor
    from fewsolves.pyepo.loss import PyEPOLoss
    from fewsolves.pyepo.problem import problem_from_pyepo
    from fewsolves.quoting.quote import quote
    from fewsolves.reporting import report

__all__ = [
    "Budget",
    "BudgetSpent",
    "Context",
    "DecisionModel",
    "DecisionRegressor",
    "Demand",
    "ExportedSurrogate",
    "FewsolvesError",
    "GPSurrogateConfig",
    "GPSurrogateLoss",
    "GradientTrainer",
    "Infeasible",
    "InputError",
    "Loss",
    "Method",
    "NotApplicableError",
    "Oracle",
    "Outcome",
    "Plan",
    "Predictor",
    "Problem",
    "PyEPOLoss",
    "SolveConfig",
    "SolverError",
    "TrainConfig",
    "Trainer",
    "callbacks",
    "doctor",
    "fit",
    "load",
    "load_surrogate",
    "plot",
    "problem_from_pyepo",
    "quote",
    "report",
    "save_surrogate",
]
__version__ = "0.2.0.dev0"

_WHERE = {  # imported when first used: worker processes, which only solve, then start in a fraction of the time
    "Budget": "oracle.budget",
    "Context": "methods.base",
    "DecisionModel": "model",
    "DecisionRegressor": "estimator",
    "Demand": "methods.base",
    "ExportedSurrogate": "methods.gp_surrogate.surrogate.export",
    "GPSurrogateConfig": "methods.gp_surrogate.config",
    "GPSurrogateLoss": "methods.gp_surrogate.loss",
    "GradientTrainer": "methods.base",
    "Loss": "methods.base",
    "Method": "methods.deprecated",
    "Oracle": "oracle",
    "Outcome": "methods.base",
    "Plan": "fitting.plan",
    "Predictor": "predictors.predictor",
    "PyEPOLoss": "pyepo.loss",
    "SolveConfig": "oracle",
    "TrainConfig": "methods.base",
    "Trainer": "methods.base",
    "doctor": "diagnosis.doctor",
    "fit": "fitting.fit",
    "load": "model",
    "load_surrogate": "methods.gp_surrogate.surrogate.export",
    "problem_from_pyepo": "pyepo.problem",
    "quote": "quoting.quote",
    "report": "reporting",
    "save_surrogate": "methods.gp_surrogate.surrogate.export",
}


def __getattr__(name: str) -> Any:
    if name in ("callbacks", "plot"):
        return import_module(f"{__name__}.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    collects = gc.isenabled()
    gc.disable()  # imports create hundreds of thousands of objects that stay: collecting among them finds nothing
    try:
        globals()[name] = found = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    finally:
        if collects:
            gc.enable()
    return found


def __dir__() -> list[str]:
    """The public names, without helpers such as `gc`."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
