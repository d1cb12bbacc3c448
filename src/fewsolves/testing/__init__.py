"""Contracts for what users bring: methods (`check_method`) and executions (`check_execution`) of their own.

Begin with `methods` (`CHECKS`) and `executions` (`EXECUTION_CHECKS`): each check is a function that raises
AssertionError with what was expected. `settings` checks that a setting acts, and `problems` has the tables. It may
import everything; only tests import it.
"""

from fewsolves.testing.executions import APART_CHECKS, EXECUTION_CHECKS, check_execution
from fewsolves.testing.methods import CHECKS, check_method, check_solves
from fewsolves.testing.problems import newsvendor, selection
from fewsolves.testing.settings import check_setting

__all__ = [
    "APART_CHECKS",
    "CHECKS",
    "EXECUTION_CHECKS",
    "check_execution",
    "check_method",
    "check_setting",
    "check_solves",
    "newsvendor",
    "selection",
]
