"""The only door to the user's solver."""

from fewsolves.oracle.calls import KINDS, PHASES, TRAINING, Calls, Kind, Phase
from fewsolves.oracle.oracle import Evaluation, Oracle
from fewsolves.oracle.probe import probe

__all__ = ["KINDS", "PHASES", "TRAINING", "Calls", "Evaluation", "Kind", "Oracle", "Phase", "probe"]
