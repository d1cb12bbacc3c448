"""The gradient mode of torch after a call of the user's functions, which may switch it off for the whole thread."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from fewsolves.execution.base import Answers


def keeping_grad_mode(run: Callable[..., Iterator[Answers]]) -> Callable[..., Iterator[Answers]]:
    """The same calls; whenever answers have landed, the mode is what it was."""
    torch = sys.modules.get("torch")  # the oracle does not need it
    if torch is None:
        return run

    def kept(*arguments: Any) -> Iterator[Answers]:
        before, answers = torch.is_grad_enabled(), run(*arguments)
        try:
            for landed in answers:
                torch.set_grad_enabled(before)
                yield landed
        finally:
            torch.set_grad_enabled(before)
            with suppress(AttributeError):
                answers.close()  # type: ignore[attr-defined]

    return kept
