"""The commit of the code that runs: of fewsolves, and of these studies."""

from __future__ import annotations

from pathlib import Path

from fewsolves._internal import commit


def code_commit() -> str | None:
    """As `fewsolves._internal.commit.code_commit`; a change of the studies counts as well."""
    return commit.code_commit(Path(__file__).parent)
