"""What objects of the user add to the identity of a run: a torch module, a method of one's own, `Problem.feasible`.

A module computes with more than its weights: attributes, buffers that it does not save, the code of `forward` and what
that reads. Two runs whose objects differ there are two runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fewsolves._internal.text import clean
from fewsolves.errors import FewsolvesWarning
from fewsolves.ledger.identity.held_data import digest_of_object

SHOWN = 20  # parts in a message


@dataclass(frozen=True)
class OwnObjects:
    """Digests of all that these objects hold and read, by name, and the parts that cannot be looked into."""

    digests: Mapping[str, str]
    uncompared: tuple[str, ...]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> OwnObjects:
        """Of these objects, by name.

        Args:
            given: The objects; None: there is none of that name, or its code is that of fewsolves.
        """
        found = {name: digest_of_object(name, value) for name, value in given.items() if value is not None}
        return cls({name: digest for name, (digest, _) in found.items()}, sum((rest for _, rest in found.values()), ()))

    def warn_of_uncompared(self, folder: Path) -> None:
        """Name the parts that a run which is started again could not compare.

        Args:
            folder: That of the run.
        """
        if self.uncompared:
            shown = ", ".join(map(clean, self.uncompared[:SHOWN]))
            warnings.warn(
                f"{folder} is used again, but not everything in these objects of the run was compared: {shown} "
                f"(they cannot be inspected). If one of these has changed, give another folder",
                FewsolvesWarning,
                stacklevel=7,
            )


def is_own(value: Any) -> bool:
    """Whether an object's class is the user's, and not of fewsolves or its studies.

    Args:
        value: The object.
    """
    return not type(value).__module__.startswith("fewsolves")
