"""The only door to the user's solver."""

from fewsolves.execution.base import KINDS, PHASES, TRAINING, Kind, Phase
from fewsolves.oracle.budget import Budget
from fewsolves.oracle.calls import Calls
from fewsolves.oracle.config import SolveConfig
from fewsolves.oracle.probe import probe
from fewsolves.oracle.view import Evaluation, Oracle

__all__ = [
    "KINDS",
    "PHASES",
    "TRAINING",
    "Budget",
    "Calls",
    "Evaluation",
    "Kind",
    "Oracle",
    "Phase",
    "SolveConfig",
    "probe",
]
