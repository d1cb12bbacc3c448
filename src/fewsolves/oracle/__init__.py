"""The only door to the user's solver."""

from fewsolves.oracle.budget import Budget
from fewsolves.oracle.calls import KINDS, PHASES, TRAINING, Calls, Kind, Phase
from fewsolves.oracle.oracle import Evaluation, Oracle
from fewsolves.oracle.probe import probe
from fewsolves.oracle.solving import SolveConfig

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
