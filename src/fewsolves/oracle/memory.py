"""Cache of the answers paid in this run: identical solves and cost calls reuse them, by key.

Runs of hundreds of thousands of solves keep everything, so a decision is one string of bytes (key, number of its form,
content), equal decisions are the same string, and costs are plain floats:
`studies/src/fewsolves_studies/measure/memory.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from fewsolves.execution.base import KINDS, Failure, Kind
from fewsolves.ledger.decision import Form, PackedDecision
from fewsolves.ledger.keys import SIZE

Answer = PackedDecision | float | Failure
_FORM = slice(SIZE, SIZE + 4)  # where its number stands


class Memory:
    """Answers by kind and key."""

    def __init__(self) -> None:
        self.answers: dict[Kind, dict[bytes, bytes | float | Failure]] = {kind: {} for kind in KINDS}
        self.optima: dict[int, float] = {}  # by row: they are needed at every step, and this saves the digest
        self._decisions: dict[bytes, bytes] = {}  # each once
        self._forms: list[Form] = []
        self._form_numbers: dict[tuple[str, str], int] = {}

    def keep(self, kind: Kind, key: bytes, answer: Answer) -> None:
        """Remember an answer."""
        if isinstance(answer, PackedDecision):
            content = answer.key + self._number(answer.form) + answer.content
            self.answers[kind][key] = self._decisions.setdefault(content, content)
        elif isinstance(answer, Failure):
            self.answers[kind][key] = Failure(answer.status, answer.message)  # its cause would keep whole frames alive
        else:
            self.answers[kind][key] = answer

    def get(self, kind: Kind, key: bytes) -> Answer:
        """The answer that `keep` stored."""
        kept = self.answers[kind][key]
        if not isinstance(kept, bytes):
            return kept
        form = self._forms[int.from_bytes(kept[_FORM], "little")]
        return PackedDecision(kept[: _FORM.start], kept[_FORM.stop :], form)

    def missing(self, kind: Kind, keys: Sequence[bytes]) -> list[int]:
        """Positions at which a key occurs for the first time and has no answer."""
        known, first = self.answers[kind], dict[bytes, int]()
        for k, key in enumerate(keys):
            if key not in known:
                first.setdefault(key, k)
        return list(first.values())

    def _number(self, form: Form) -> bytes:
        number = self._form_numbers.setdefault((form.dtype_text, form.shape_text), len(self._forms))
        if number == len(self._forms):
            self._forms.append(form)
        return number.to_bytes(4, "little")
