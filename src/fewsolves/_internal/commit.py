"""The commit of the code that runs."""

from __future__ import annotations

import subprocess
from pathlib import Path


def code_commit(*besides: Path) -> str | None:
    """The commit of the code that runs, where it runs from a checkout; with "+" where the package was changed since.

    Results and pages that were written since are no part of it. `besides` are folders of other packages that count.
    """
    package = Path(__file__).parents[1]

    def git(*words: str) -> str:
        command = ["git", "-C", str(package), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        commit = git("rev-parse", "--short=12", "HEAD")
        return f"{commit}+" if git("status", "--porcelain", "--", ".", *map(str, besides)) else commit or None
    except (OSError, subprocess.SubprocessError):
        return None
