"""The pages of `fewsolves watch`, with the look of a report: no script, nothing from the network.

    one run        its headline, the best regret so far against solves, the pace, calls, and failures
    several        a folder of runs: one line for each, and their curves in one figure

The browser asks for them again every few seconds; `server` hands them out.
"""

from __future__ import annotations

import dataclasses
import secrets
import threading
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from fewsolves._internal.text import clean, duration, number
from fewsolves.ledger.following import Followed
from fewsolves.ledger.opening import now
from fewsolves.ledger.sqlite.file import LEDGER_FILE
from fewsolves.oracle import KINDS, PHASES
from fewsolves.reporting import figures, tables
from fewsolves.reporting.page import environment, picture
from fewsolves.reporting.watched import NEEDS_ATTENTION, UNDER_WAY, Watched, Watcher
from fewsolves.training.interrupt import request_stop

REFRESH_SECONDS = 5  # seconds between two readings by a browser
MAX_RUNS, DEPTH = 50, 3  # runs of a folder that are listed, and how deep they may lie
REGRET_CAPTION = (
    "Mean regret on the rows that judge the run. The line is the best so far as the run estimates it, which further "
    "readings may correct upwards; the dots are readings on some of the rows, and the dashed line is the start."
)
STAGES_CAPTION = " Marks above: the ends of stages, with a cross where the change of a stage was not taken."
PACE_CAPTION = "Solves per hour; the dashed line is their mean."
COMPARE_CAPTION = "The best regret so far of each run, against all solves paid; the marks are those of the table."


class Watch:
    """The pages of one folder; several threads may ask for them."""

    def __init__(self, folder: Path, refresh: int = REFRESH_SECONDS) -> None:
        """`refresh`: seconds between two readings by a browser."""
        self.folder, self.refresh = folder, refresh
        self.token = secrets.token_urlsafe(16)  # what a request to stop must bring along
        self._lock = threading.Lock()
        self._watchers: dict[str, Watcher] = {}

    def page(self, name: str = "", *, may_stop: bool = False) -> str | None:
        """The page of the folder, or of a run below it; None where there is no such run."""
        with self._lock:  # one reader, and matplotlib draws in one thread
            below = self._runs()
            if name:
                return self._run_page(name, may_stop) if name in below else None
            if below and not (self.folder / LEDGER_FILE).exists():
                return self._index([self._watcher(one).look(now()) for one in below], below)
            return self._run_page("", may_stop)

    def stop(self, name: str = "") -> bool:
        """Ask a run to stop; whether there is one under way."""
        with self._lock:
            if name and name not in self._runs():
                return False
            found = self._watcher(name).look(now())
            if found.state in UNDER_WAY:
                request_stop(found.folder)
            return found.state in UNDER_WAY

    def close(self) -> None:
        with self._lock:
            for one in self._watchers.values():
                one.close()

    def _watcher(self, name: str) -> Watcher:
        return self._watchers.setdefault(name, Watcher(self.folder / name if name else self.folder))

    def _runs(self) -> list[str]:
        """Names of the runs below the folder, by their paths; those that were followed stay."""
        if (self.folder / LEDGER_FILE).exists() or not self.folder.is_dir():
            return []
        found = [
            path.parent.relative_to(self.folder).as_posix()
            for depth in range(1, DEPTH + 1)
            for path in sorted(self.folder.glob("*/" * depth + LEDGER_FILE))[:MAX_RUNS]
        ]
        return list(dict.fromkeys([*found, *filter(None, self._watchers)]))[:MAX_RUNS]

    def _run_page(self, name: str, may_stop: bool) -> str:
        found = self._watcher(name).look(now())
        if found.run is None:
            return self._render(title=found.title, message=found.message, alarm=found.state == "gone", back=bool(name))
        under_way = found.state in UNDER_WAY
        return self._render(
            title=found.title,
            headline=_headline(found),
            message=found.message,
            alarm=found.state in NEEDS_ATTENTION,
            facts=_facts(found, found.run) | {"Folder": str(found.folder)},
            pictures=_pictures(found, found.run),
            calls=_calls(found.counts),
            failed=found.run.failed,
            failures=_failures(found.run),
            token=self.token if may_stop and under_way else "",
            action=f"/stop/{quote(name)}" if name else "/stop",
            back=bool(name),
        )

    def _index(self, found: list[Watched], names: list[str]) -> str:
        figure, looks = figures.best_so_far([_curve(one) for one in found])
        keys = [Markup(figures.key(look)) for look in looks]
        lines = zip(names, found, keys, strict=True)
        return self._render(
            title=clean(self.folder.name, 80),
            message=_number_of_runs(found, self.folder),
            alarm=False,
            runs=[(f"/run/{quote(name)}", name, one, _cells(one), key) for name, one, key in lines],
            pictures=[picture(figure, COMPARE_CAPTION)] if any(map(_read, found)) else [],
        )

    def _render(self, **values: Any) -> str:
        given = {
            "headline": "", "facts": {}, "pictures": [], "calls": None, "failures": [], "failed": 0, "runs": [],
            "token": "", "action": "", "back": False,
        } | values  # fmt: skip
        read_at = datetime.now(UTC).astimezone().strftime("%H:%M:%S")
        return environment().get_template("watch.html.j2").render(every=self.refresh, read_at=read_at, keys={}, **given)


def _number_of_runs(found: list[Watched], folder: Path) -> str:
    """Such as "3 runs in the folder runs: 2 ended, 1 running."."""
    states = ", ".join(f"{number_of:,} {state}" for state, number_of in Counter(one.state for one in found).items())
    return f"{len(found):,} {'run' if len(found) == 1 else 'runs'} in the folder {clean(str(folder), 200)}: {states}."


def _curve(found: Watched) -> figures.Curve:
    progress = found.progress
    if progress is None:
        return figures.Curve(found.method, ())
    start, stages = progress.reached.start, progress.stages
    return figures.Curve(found.method, progress.readings, start, stages, found.solves, progress.bests)


def _read(found: Watched) -> bool:
    return found.progress is not None and bool(found.progress.readings)


def _headline(found: Watched) -> str:
    """Such as "best 67.1, start 69.8"."""
    start, best = found.reached
    if best is None:
        return f"{found.solves:,} solves paid"
    parts = [f"best {number(best)}", *([] if start is None else [f"start {number(start)}"])]
    kept = found.progress is not None and found.progress.kept_start
    return ", ".join(parts) + (": nothing clearly beat the start" if kept else "")


def _cells(found: Watched) -> tuple[str, ...]:
    start, best = found.reached
    change = f"{best / start - 1:+.0%}" if start and best is not None and start > 0 else tables.MISSING
    shown = [tables.MISSING if value is None else number(value) for value in (best, start)]
    most = found.limits.get("solves")
    return found.state, *shown, change, f"{found.solves:,}", "no limit" if most is None else f"{most:,}", found.method


def _pictures(found: Watched, run: Followed) -> list[Any]:
    drawn, progress = [], found.progress
    if progress is not None and progress.readings:
        start, best = progress.reached
        result = best if progress.ended else None
        figure, values = figures.regret_so_far(
            progress.readings, start, progress.stages, result,
            bests=progress.bests, best_now=best, paid=found.solves, method=found.method,
        )  # fmt: skip
        drawn.append(picture(figure, REGRET_CAPTION + (STAGES_CAPTION if progress.stages else ""), values))
    if len(run.solved_at) > 1:
        drawn.append(picture(figures.pace(run.solved_at, found.method), PACE_CAPTION))
    return drawn


def _facts(found: Watched, run: Followed) -> dict[str, str]:
    facts, start, rate = {"Method": found.method}, found.start, found.pace
    if start is not None and start.began is not None:
        under_way = found.state in UNDER_WAY
        last = found.clock if under_way else max([start.began, *run.solved_at[-1:]])  # of a process that is gone
        passed = max(0.0, (start.ended or last) - start.began)
        facts["Running for" if under_way else "Ran for"] = duration(passed)
    facts["Solves"] = f"{found.solves:,}"
    facts["Solves per hour"] = "not known yet" if rate is None else number(rate)
    facts["In your functions"] = duration(run.seconds)
    facts["Failures"] = f"{run.failed:,}"
    if run.shared:
        facts["Known before"] = f"{run.shared:,} solves"
    spent = [f"{found.used[name] / most:.0%} of {_limit(name, most)}" for name, most in found.limits.items()]
    facts["Budget"] = ", ".join(spent) or "no limit"
    if found.state in UNDER_WAY:
        facts["Time left"] = found.left
    return facts


def _limit(name: str, most: float) -> str:
    return duration(most) if name == "seconds" else f"{most:,} {name.replace('_', ' ')}"


def _failures(run: Followed) -> list[str]:
    """Equal ones together, the most frequent first, such as "19 x licence server down, rows 3, 17 (solve, error)"."""
    grouped = sorted(run.failures.items(), key=lambda pair: -pair[1].number)
    in_order = ((key, dataclasses.replace(group, rows=sorted(group.rows))) for key, group in grouped)
    return [f"{group.number:,} x {text}, {group} ({kind}, {status})" for (kind, status, text), group in in_order]


def _calls(counts: Mapping[str, Mapping[str, int]]) -> tables.ReportTable | None:
    shown = [phase for phase in PHASES if any(counts[kind][phase] for kind in KINDS)]
    if not shown:
        return None
    names = {"solve": "solves", "cost": "cost calls"}
    rows = [
        tables.Row(
            names[kind],
            tuple(
                tables.Cell(f"{n:,}") for n in (*(counts[kind][phase] for phase in shown), sum(counts[kind].values()))
            ),
        )
        for kind in KINDS
    ]
    return tables.ReportTable((*shown, "all"), tuple(rows))
