"""Callbacks of the user, guarded: one that fails is switched off with a warning, and the training goes on.

What was paid for is worth more than a line in a log: a server that is down or a full disk must not end a fit. Only
KeyboardInterrupt, SystemExit and the like pass.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

from fewsolves._internal.text import clean
from fewsolves.errors import FewsolvesWarning
from fewsolves.oracle import Calls
from fewsolves.training.history import Callback, EpochRecord, Stop


class Guarded:
    """A callback that warns once and is not called again after it has raised, or returned a value without a meaning."""

    def __init__(self, callback: Callback) -> None:
        self._callback, self._off = callback, False
        self._on_answer: Callable[[Calls], Any] | None = getattr(callback, "on_answer", None)

    def __call__(self, record: EpochRecord) -> Stop | None:
        answer = self._called(self._callback, copy.copy(record))  # it may take what it gets apart
        if answer is None or isinstance(answer, Stop):
            return answer
        self._switch_off(f"returned {answer!r:.80}; a callback returns None, or Stop('the reason') to end the training")
        return None

    def on_answer(self, calls: Calls) -> None:
        """Solves have been answered."""
        if self._on_answer is not None:
            self._called(self._on_answer, calls)

    def _called(self, function: Callable[[Any], Any], argument: Any) -> Any:
        if self._off:
            return None
        try:
            return function(argument)
        except Exception as error:
            self._switch_off(f"raised {type(error).__name__}: {error!s:.200}")
            return None

    def _switch_off(self, why: str) -> None:
        self._off = True
        name = getattr(self._callback, "__qualname__", type(self._callback).__qualname__)
        warnings.warn(
            f"the callback {clean(name)} {clean(why)}. It is not called again in this fit, which continues",
            FewsolvesWarning,
            stacklevel=6,
        )
