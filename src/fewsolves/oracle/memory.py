"""What has been paid for in this run: identical solves and cost calls are answered from here, by their keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fewsolves.problem import Array


def first_of_each(keys: Sequence[bytes], known: Mapping[bytes, object]) -> list[int]:
    """Positions at which a key occurs for the first time and has no answer yet."""
    first: dict[bytes, int] = {}
    for k, key in enumerate(keys):
        if key not in known:
            first.setdefault(key, k)
    return list(first.values())


class Memory:
    """Decisions by solve key, costs by cost key."""

    def __init__(self) -> None:
        self.decisions: dict[bytes, Array] = {}
        self.optima: dict[int, float] = {}  # by row, so that what is asked for at every step needs no digest
        self.costs: dict[bytes, float] = {}
