"""A page that follows a run through its ledger, with the look of a report: no script, nothing from the network.

The browser asks for it again every few seconds; `server` hands it out.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fewsolves._internal.text import clean, duration
from fewsolves.errors import LedgerError
from fewsolves.ledger.following import Followed, Following, Start
from fewsolves.ledger.opening import now
from fewsolves.oracle import KINDS, PHASES
from fewsolves.reporting import figures, tables
from fewsolves.reporting.page import environment, picture

REFRESH_SECONDS = 5  # seconds between two readings by a browser
RECENT = 3600.0  # seconds over which the pace is measured
SILENT = 10.0  # multiple of the usual gap between answers after which a run counts as silent
WATCH_CAPTION = (
    "Left: mean regret on the validation rows, each time that they were read. Right: solves per hour; the dashed line "
    "is their mean."
)


class Watch:
    """The page of one folder; several threads may ask for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._following: Following | None = None

    def page(self) -> str:
        """As the ledger is now."""
        with self._lock:  # one reader, and matplotlib draws in one thread
            try:
                if self._following is None:
                    self._following = Following(self.folder)
                start = self._following.refresh()
            except LedgerError as error:
                return _render(title=self.folder.name, message=f"Nothing to follow yet: {error}", alarm=False)
            return _page(self.folder, self._following, start)

    def close(self) -> None:
        with self._lock:
            if self._following is not None:
                self._following.close()


def _page(folder: Path, following: Following, start: Start) -> str:
    run, clock = following.followed, now()
    limits = {name: value for name, value in dict(start.terms.get("budget") or {}).items() if value is not None}
    pace = _pace(run.solved_at, start.ended or clock)
    title = following.meta.get("problem") or folder.name
    message, alarm = _status_message(run, start, pace, clock)
    drawn = None
    if run.readings or len(run.solved_at) > 1:
        drawn = picture(figures.following(run.readings, run.solved_at), WATCH_CAPTION)
    return _render(
        title=title,
        message=message,
        alarm=alarm,
        facts=_facts(run, start, limits, pace, clock) | {"Folder": str(folder)},
        picture=drawn,
        calls=_calls(run),
        failed=run.failed,
        failures=[f"row {row}, {kind}, {status}: {clean(text, 300)}" for row, kind, status, text in run.failures[::-1]],
    )


def _status_message(run: Followed, start: Start, pace: float | None, clock: float) -> tuple[str, bool]:
    """The state of the run in a sentence, and whether it needs attention."""
    paid = f"{run.paid('solve'):,} solves paid"
    regret = ""
    if run.readings:
        first, last = run.readings[0][1], run.readings[-1][1]
        regret = f", validation regret {last:.4g}" + (f" (first {first:.4g})" if len(run.readings) > 1 else "")
    if start.ended is not None:
        return f"Ended {duration(max(0.0, clock - start.ended))} ago. {start.message or ''}", False
    if not run.solved_at:
        return f"Begun, and no solve has been answered yet: {paid}{regret}.", False
    silent = clock - run.solved_at[-1]
    usual = 3600.0 / pace if pace else RECENT
    if silent > max(60.0, SILENT * usual):
        return f"No solve has been answered for {duration(silent)}: {paid}{regret}. Is it still running?", True
    return f"Running: {paid}{regret}; the last answer came {duration(max(silent, 1.0))} ago.", False


def _facts(
    run: Followed, start: Start, limits: Mapping[str, float], pace: float | None, clock: float
) -> dict[str, str]:
    facts = {"Method": str(start.terms.get("method") or "not recorded")}
    if start.began is not None:
        facts["Running for" if start.ended is None else "Ran for"] = duration((start.ended or clock) - start.began)
    facts["Solves per hour"] = "not known yet" if pace is None else f"{pace:,.0f}" if pace >= 100 else f"{pace:.3g}"
    facts["In your functions"] = duration(run.seconds)
    facts["Failures"] = f"{run.failed:,}"
    if run.shared:
        facts["Known before"] = f"{run.shared:,} solves"
    used = {"solves": run.paid("solve") - run.shared, "cost_calls": run.paid("cost"), "seconds": run.seconds}
    spent = [f"{used[name] / most:.0%} of {_limit(name, most)}" for name, most in limits.items() if name in used]
    facts["Budget"] = ", ".join(spent) or "no limit"
    if start.ended is None:
        facts["Time left"] = _left(limits, used, pace)
    return facts


def _limit(name: str, most: float) -> str:
    return duration(most) if name == "seconds" else f"{most:,} {name.replace('_', ' ')}"


def _left(limits: Mapping[str, float], used: Mapping[str, float], pace: float | None) -> str:
    """Until the first limit of the budget, at the recent pace of solves; other calls follow the solves."""
    if not limits:
        return "not known: it has no budget, and ends when it gains nothing more"
    if pace is None or used["solves"] <= 0:
        return "not known yet"
    hours = [(most - used[name]) / (pace * used[name] / used["solves"]) for name, most in limits.items() if used[name]]
    return f"at most {duration(3600 * max(0.0, min(hours)))}" if hours else "not known yet"


def _pace(solved_at: list[float], clock: float) -> float | None:
    """Solves per hour, of the last hour or since the first."""
    if len(solved_at) < 2:
        return None
    since = max(solved_at[0], clock - RECENT)
    recent = [at for at in reversed(solved_at) if at >= since]
    return len(recent) / max(clock - since, 1.0) * 3600.0 or None


def _calls(run: Followed) -> tables.ReportTable | None:
    shown = [phase for phase in PHASES if any(run.counts[kind][phase] for kind in KINDS)]
    if not shown:
        return None
    names = {"solve": "solves", "cost": "cost calls"}
    rows = [
        tables.Row(
            names[kind],
            tuple(tables.Cell(f"{number:,}") for number in (*(run.counts[kind][p] for p in shown), run.paid(kind))),
        )
        for kind in KINDS
    ]
    return tables.ReportTable((*shown, "all"), tuple(rows))


def _render(**values: Any) -> str:
    given = {"facts": {}, "picture": None, "calls": None, "failures": [], "failed": 0} | values
    read_at = datetime.now(UTC).astimezone().strftime("%H:%M:%S")
    return environment().get_template("watch.html.j2").render(every=REFRESH_SECONDS, read_at=read_at, keys={}, **given)
