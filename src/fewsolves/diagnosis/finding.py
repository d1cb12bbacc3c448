"""Findings about a problem, and the table that they print as."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Literal

from fewsolves._internal.html import html_facts
from fewsolves._internal.text import clean, duration, text_width

Status = Literal["ok", "note", "mend"]
TABLE_WIDTH = 118  # of the table, at most
MARGIN, NARROW = 30, 80  # what stands to the left of the text, and the columns below which the text stands beneath it


@dataclass(frozen=True)
class Finding:
    """The answer to one question: `mend` must be fixed before training, `note` is worth knowing."""

    question: str  #: the question, in a few words
    status: Status  #: "ok", "note" or "mend"
    found: str  #: the answer
    do: str = ""  #: what to do about it

    def __str__(self) -> str:
        left, width = f"{self.question:<{MARGIN - 6}}{self.status:<6}", text_width(TABLE_WIDTH)
        margin = 2 if width < NARROW else MARGIN
        lines = [f"{'':{margin}}{line}" for line in self._lines(width - margin)]
        return "\n".join([left.rstrip(), *lines] if width < NARROW else [f"{left}{lines[0][margin:]}", *lines[1:]])

    def _lines(self, width: int) -> list[str]:
        return [*_wrapped(self.found, "", width), *(_wrapped(self.do, "-> ", width) if self.do else ())]


@dataclass(frozen=True)
class Diagnosis:
    """The findings of the doctor; prints as a table."""

    findings: tuple[Finding, ...]  #: in the order of the table; ``diagnosis["repeats"]`` finds one by its question
    solves: int  #: that were paid
    cost_calls: int  #: that were paid
    seconds: float  #: that it took

    @property
    def ok(self) -> bool:
        """Whether the problem is ready for training."""
        return not any(finding.status == "mend" for finding in self.findings)

    def __getitem__(self, question: str) -> Finding:
        return next(finding for finding in self.findings if finding.question == question)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.findings), *textwrap.wrap(self._verdict, text_width(TABLE_WIDTH))])

    @property
    def _verdict(self) -> str:
        number = sum(finding.status == "mend" for finding in self.findings)
        verdict = "the problem is ready for training" if self.ok else f"{number} to fix before training"
        paid = f"{self.solves:,} solves and {self.cost_calls:,} cost calls in {duration(self.seconds)}"
        return f"{paid}: {verdict}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """In a notebook: the same."""
        facts = {
            one.question: f"{one.status}: {one.found}" + (f" → {one.do}" if one.do else "") for one in self.findings
        }
        return html_facts("What the doctor found", facts, sentences=[self._verdict])


def _wrapped(text: str, lead: str, width: int) -> list[str]:
    return textwrap.wrap(clean(text), width, initial_indent=lead, subsequent_indent=" " * len(lead))
