"""The oracle: regret of predictions, and the only code that pays for a call of the user's functions.

An account (`account`) pays, counts, keeps to the budget, remembers and writes the ledger; views over rows (`view`)
share it. Begin with `view.Oracle.regret`, then `account.Account`. Methods and everything above them may import this
package; gp and surrogate never do, nor do worker processes.
"""

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
