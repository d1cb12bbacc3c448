"""Executions: where and how the user's `solve` and `cost` are called; nothing else calls them.

Begin with `base` (rows in, `Answers` out) and `serial`, the plainest of them; `dispatch` is what executions with
workers share, `processes` and `ray` are such; `registry` knows all by name, `register` adds your own (docs/solving.md).
Only `oracle` runs executions; `ledger` and others above use the words of `base`. Of the library, this folder imports
`problem` and `errors` alone.
"""

from fewsolves.execution.base import Answers, Execution, Failure, Resources
from fewsolves.execution.registry import register
from fewsolves.execution.serial import Serial

__all__ = ["Answers", "Execution", "Failure", "Resources", "Serial", "register"]
