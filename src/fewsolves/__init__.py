"""Train a predictor for the decisions it drives, with few calls of the solver.

x --predictor--> y_hat --+--> surrogate (mean, std): confident? --------> loss --backward()--> predictor
                         |          ^ learns from                            ^
                         |          |                                        |
                         +--> oracle: solve z*(y_hat) --> cost g(y, z) --> regret --> fallback gradient
"""

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fewsolves.errors import (
    BudgetSpent,
    FewsolvesError,
    FewsolvesWarning,
    Infeasible,
    InputError,
    NotApplicableError,
    SolverError,
)
from fewsolves.problem import Problem

if TYPE_CHECKING:
    from fewsolves.comparing import ModelComparison, compare
    from fewsolves.data import Scale
    from fewsolves.diagnosis.doctor import doctor
    from fewsolves.estimator import DecisionRegressor
    from fewsolves.fitting.fit import fit
    from fewsolves.fitting.plan import Plan
    from fewsolves.highs import problem_from_highs
    from fewsolves.loading import load
    from fewsolves.long_format import ByItem, by_item
    from fewsolves.methods.base import Context, Demand, GradientTrainer, Outcome, TrainConfig, Trainer
    from fewsolves.methods.decision_loss import DecisionLoss
    from fewsolves.methods.deprecated import Method
    from fewsolves.methods.gp_surrogate.config import GPSurrogateConfig
    from fewsolves.methods.gp_surrogate.surrogate.export import ExportedSurrogate, load_surrogate, save_surrogate
    from fewsolves.methods.torch_gp_surrogate import GPSurrogateLoss
    from fewsolves.methods.torch_loss import Loss
    from fewsolves.model import DecisionModel
    from fewsolves.oracle import Oracle, SolveConfig
    from fewsolves.oracle.budget import Budget
    from fewsolves.predictors.predictor import Predictor
    from fewsolves.pyepo.loss import PyEPOLoss
    from fewsolves.pyepo.problem import problem_from_pyepo
    from fewsolves.quoting.quote import quote
    from fewsolves.regrets import Regrets
    from fewsolves.reporting import report

__all__ = [
    "Budget",
    "BudgetSpent",
    "ByItem",
    "Context",
    "DecisionLoss",
    "DecisionModel",
    "DecisionRegressor",
    "Demand",
    "ExportedSurrogate",
    "FewsolvesError",
    "FewsolvesWarning",
    "GPSurrogateConfig",
    "GPSurrogateLoss",
    "GradientTrainer",
    "Infeasible",
    "InputError",
    "Loss",
    "Method",
    "ModelComparison",
    "NotApplicableError",
    "Oracle",
    "Outcome",
    "Plan",
    "Predictor",
    "Problem",
    "PyEPOLoss",
    "Regrets",
    "Scale",
    "SolveConfig",
    "SolverError",
    "TrainConfig",
    "Trainer",
    "by_item",
    "callbacks",
    "compare",
    "doctor",
    "fit",
    "load",
    "load_surrogate",
    "plot",
    "problem_from_highs",
    "problem_from_pyepo",
    "quote",
    "report",
    "save_surrogate",
]
__version__ = "0.2.0.dev0"

_WHERE = {  # imported when first used: worker processes, which only solve, then start in a fraction of the time
    "Budget": "oracle.budget",
    "ByItem": "long_format",
    "Context": "methods.base",
    "DecisionLoss": "methods.decision_loss",
    "DecisionModel": "model",
    "DecisionRegressor": "estimator",
    "Demand": "methods.base",
    "ExportedSurrogate": "methods.gp_surrogate.surrogate.export",
    "GPSurrogateConfig": "methods.gp_surrogate.config",
    "GPSurrogateLoss": "methods.torch_gp_surrogate",
    "GradientTrainer": "methods.base",
    "Loss": "methods.torch_loss",
    "Method": "methods.deprecated",
    "ModelComparison": "comparing",
    "Oracle": "oracle",
    "Outcome": "methods.base",
    "Plan": "fitting.plan",
    "Predictor": "predictors.predictor",
    "PyEPOLoss": "pyepo.loss",
    "Regrets": "regrets",
    "Scale": "data",
    "SolveConfig": "oracle",
    "TrainConfig": "methods.base",
    "Trainer": "methods.base",
    "compare": "comparing",
    "by_item": "long_format",
    "doctor": "diagnosis.doctor",
    "fit": "fitting.fit",
    "load": "loading",
    "load_surrogate": "methods.gp_surrogate.surrogate.export",
    "problem_from_highs": "highs",
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
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from fewsolves.errors import NotSupportedError

        raise NotSupportedError(f"fewsolves.{name} needs torch: pip install 'fewsolves[torch]'") from None
    finally:
        if collects:
            gc.enable()
    return found


def __dir__() -> list[str]:
    """The public names, without helpers such as `gc`."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
