"""The history of a fit and the stages of its schedule, as lists that show themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fewsolves._internal.html import html_table
from fewsolves._internal.text import number
from fewsolves.execution.base import paid
from fewsolves.training.history import EpochRecord

SHOWN = 12  # readings that a notebook shows
SOME_ROWS = "A reading covers some of the rows; the best so far is estimated for all that judge the run."
ALL_RECORDS = "to_frame() returns all records."


class Records(list[EpochRecord]):
    """One record for each epoch; a list that prints in one line, shows its readings in a notebook, and is a table."""

    def to_frame(self) -> Any:
        """The records as a pandas data frame, one row for each epoch."""
        import pandas

        return pandas.DataFrame([one.row() | {"best_regret": one.best_regret} for one in self])

    def __repr__(self) -> str:
        read = sum(one.validation_regret is not None for one in self)
        return f"<{len(self):,} records, {read:,} of them with a reading of the regret; to_frame() gives a table>"

    def _repr_html_(self) -> str:
        read = [one for one in self if one.validation_regret is not None]
        shown = read[-SHOWN:]
        if shown and shown[-1] is not self[-1] and shown[-1].best_regret != self[-1].best_regret:
            shown.append(self[-1])  # it has the result, which the summary reports
        rows = [
            (
                f"{one.stage} {one.epoch:,}",
                f"{paid(one.solves):,}",
                *("" if regret is None else number(regret) for regret in (one.validation_regret, one.best_regret)),
            )
            for one in shown
        ]
        below = [*([SOME_ROWS] if _estimated(read) else []), ALL_RECORDS]
        above = f"{len(self):,} records, {len(read):,} of them with a reading of the regret" + (
            f"; the last {SHOWN}:" if len(read) > SHOWN else ":"
        )
        return html_table(("epoch", "solves", "regret read", "best so far"), rows, above=above, below=below)


def _estimated(read: Sequence[EpochRecord]) -> bool:
    """Whether the best so far is not the lowest reading, but the estimate of a method that judges by all rows."""
    lowest = math.inf
    for one in read:
        known = (lowest, one.start_regret, one.validation_regret)
        lowest = min(value for value in known if value is not None)
        if one.best_regret is not None and not math.isclose(one.best_regret, lowest):
            return True
    return False


class StageList(list[Mapping[str, Any]]):
    """The stages of a schedule, with the solves that each may pay."""

    def __repr__(self) -> str:
        if not self:
            return "[]"
        lines = [f"{name:<10}{solves:>10}{evidence:>10}" for name, solves, evidence in self._rows()]
        return "\n".join([f"{'stage':<10}{'solves':>10}{'evidence':>10}", *lines])

    def _repr_html_(self) -> str:
        return html_table(("stage", "solves", "evidence"), self._rows(), above="Solves that each stage may pay")

    def _rows(self) -> list[tuple[str, str, str]]:
        return [(str(one.get("name", "")), f"{one.get('solves', 0):,}", f"{one.get('evidence', 0):,}") for one in self]
