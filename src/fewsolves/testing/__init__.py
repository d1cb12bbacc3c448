"""Contracts for what users bring: methods (`check_method`), executions (`check_execution`) and stand-ins for the solver
(`check_stand_in`) of their own.

Begin with `methods` (`CHECKS`), `executions` (`EXECUTION_CHECKS`) and `stand_ins` (`STAND_IN_CHECKS`): each check is a
function that raises AssertionError with what was expected. `settings` checks that a setting acts, and `problems` has
the tables. It may import everything; only tests import it.
"""

from fewsolves.testing.executions import APART_CHECKS, EXECUTION_CHECKS, check_execution
from fewsolves.testing.methods import CHECKS, check_method, check_solves
from fewsolves.testing.problems import newsvendor, selection
from fewsolves.testing.settings import check_setting
from fewsolves.testing.stand_ins import STAND_IN_CHECKS, check_stand_in

__all__ = [
    "APART_CHECKS",
    "CHECKS",
    "EXECUTION_CHECKS",
    "STAND_IN_CHECKS",
    "check_execution",
    "check_method",
    "check_setting",
    "check_solves",
    "check_stand_in",
    "newsvendor",
    "selection",
]
