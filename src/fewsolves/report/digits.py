"""Numbers as text: one number of decimals per column, so that digits stand under each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

MISSING = "–"


def decimals(values: Iterable[float]) -> int:
    """About three significant digits for the typical value of a column."""
    sizes = sorted(abs(value) for value in values if math.isfinite(value) and value != 0)
    if not sizes:
        return 0
    magnitude = math.floor(math.log10(sizes[len(sizes) // 2]))
    return 0 if magnitude >= 3 else 1 if magnitude >= 1 else min(2 - magnitude, 6)


def fixed(value: float | None, places: int) -> str:
    """A number with thousands separators and a true minus sign.

    >>> fixed(-1234.5678, 1)
    '−1,234.6'
    """
    if value is None:
        return MISSING
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "∞" if value > 0 else "−∞"
    return f"{value:,.{places}f}".replace("-", "−")


def ranges(numbers: Sequence[int]) -> str:
    """Sorted whole numbers, with runs of three or more drawn together.

    >>> ranges([0, 1, 2, 3, 7, 9])
    '0–3, 7, 9'
    """
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    texts = [f"{part[0]}–{part[-1]}" if len(part) > 2 else ", ".join(map(str, part)) for part in parts]
    return ", ".join(texts)
