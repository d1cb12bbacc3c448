"""A process that a user's function forks, and that returns from the function too, is ended at that point.

In a worker it would answer for another row. In the trainer it would be a second trainer, which pays for the same rows
and writes to the same ledger; and a third one with the next row.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from typing import Any

FORKED_MESSAGE = (
    "`{}` forks a process that also returns from it; that process was ended, and its answer is not used. End "
    "such a process by os._exit()"
)
_returned = mmap.mmap(-1, 1)  # shared with every process that is forked from this one


class NoExceptionError(Exception):
    """The user's function raised what is no `Exception`; that is the cause of this one."""


def in_this_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the function; a forked process that returns from it ends here.

    What it raises is an `Exception`, a SystemExit or a KeyboardInterrupt.
    """
    process = os.getpid()
    try:
        return function(*arguments)
    except (Exception, SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # a cancelled task, say: it is the solver's, and must not end the run
        raise NoExceptionError from error
    finally:
        if os.getpid() != process:
            end_here()


def end_here() -> None:
    """End this process, a fork that returned from the user's function."""
    _returned[0] = 1
    os._exit(0)


def other_process_returned() -> bool:
    """Whether a fork has ended there since the last call of this function."""
    returned, _returned[0] = _returned[0], 0
    return bool(returned)
