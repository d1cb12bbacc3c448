"""The oracle: regret of predictions, and the only code that pays for a call of the user's functions.

An account (`account`) pays, counts, keeps to the budget, remembers and writes the ledger; views over rows (`view`)
share it. Begin with `view.Oracle.regret`, then `account.Account`. Methods and everything above them may import this
package; gp and surrogate never do, nor do worker processes.
"""

from typing import TYPE_CHECKING, Any

from fewsolves.execution.base import KINDS, PHASES, TRAINING, Kind, Phase
from fewsolves.oracle.budget import Budget
from fewsolves.oracle.calls import Calls
from fewsolves.oracle.config import SolveConfig

if TYPE_CHECKING:
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
]


def __getattr__(name: str) -> Any:
    """Import the oracle when it is first used: the command line, and a model that predicts, need the settings alone."""
    if name not in ("Evaluation", "Oracle"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fewsolves.oracle import view

    globals()[name] = found = getattr(view, name)
    return found
