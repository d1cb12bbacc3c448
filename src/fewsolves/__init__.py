"""Train a predictor for the decisions it drives, with few calls of the solver.

x --predictor--> y_hat --+--> surrogate (mean, std): confident? --------> loss --backward()--> predictor
                         |          ^ learns from                            ^
                         |          |                                        |
                         +--> oracle: solve z*(y_hat) --> cost g(y, z) --> regret --> fallback gradient
"""

from fewsolves.errors import FewsolvesError, InputError, NotApplicableError, SolverError
from fewsolves.estimator import DecisionRegressor
from fewsolves.losses.gp_surrogate import GPSurrogateConfig, GPSurrogateLoss
from fewsolves.predictor import Predictor
from fewsolves.problem import Problem
from fewsolves.surrogate.export import ExportedSurrogate, load_surrogate, save_surrogate

__all__ = [
    "DecisionRegressor",
    "ExportedSurrogate",
    "FewsolvesError",
    "GPSurrogateConfig",
    "GPSurrogateLoss",
    "InputError",
    "NotApplicableError",
    "Predictor",
    "Problem",
    "SolverError",
    "load_surrogate",
    "save_surrogate",
]
__version__ = "0.1.0"
