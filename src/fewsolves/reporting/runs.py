"""A run as plain data: `result.json` (what came out) and `history.csv` (how it came about, one row per epoch)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fewsolves._internal.html import html_facts
from fewsolves._internal.kinds import MAX_INT
from fewsolves._internal.renamed import renamed_attribute
from fewsolves._internal.text import clean, number
from fewsolves.methods.gp_surrogate.surrogate.calibration import Calibration
from fewsolves.oracle import PHASES
from fewsolves.training.history import EpochRecord
from fewsolves.training.reached import Reached, reached_by_result


class Described(NamedTuple):
    """What a result says of its problem."""

    inputs: tuple[int, ...]
    parameters: int
    lower: float | None
    upper: float | None
    known_data: bool
    noisy: str | None
    linear: str | None


class JudgedRows(NamedTuple):
    """The rows that the regrets of a run are of."""

    what: str  # "evidence" or "validation"
    rows: int
    digest: str  # equal for the same rows

    def __str__(self) -> str:
        return f"{self.rows:,} {self.what}"


@dataclass(frozen=True, repr=False)
class Run:
    """One method on one dataset; `result` is the file as written, the properties are its typed face.

    A benchmark keeps rows for a test. A problem of the user's own is judged on the validation rows.
    """

    result: Mapping[str, Any]
    history: tuple[EpochRecord, ...] = ()
    folder: Path | None = None

    def __repr__(self) -> str:
        regret = f", {self.reached}" if self.own else f", test regret {number(self.regret)}"
        return f"<run of {self.method} on {clean(self.benchmark, 60)}{regret}, {self.solves:,} solves>"

    def _repr_html_(self) -> str:
        """In a notebook: the facts of a report."""
        start, best = self.reached
        facts = {
            "problem": self.benchmark,
            "method": f"{self.method}, {self.predictor} predictor",
            "regret": "not read" if best is None else number(best),
            "start": "not read" if start is None else number(start),
            "solves": f"{self.solves:,}, {self.solves_per_row:.1f} per row of the table",
            "ended": self.stopped,
        }
        return html_facts("A run", facts, sentences=[self.message] if self.message else [])

    @property
    def benchmark(self) -> str:
        """Of a problem of the user's own, its name."""
        return str(self.result["problem"] if self.own else self.result["benchmark"])

    @property
    def own(self) -> bool:
        """Whether this is a problem of the user's own."""
        return "benchmark" not in self.result

    @property
    def method(self) -> str:
        return str(self.result["method"])

    @property
    def predictor(self) -> str:
        return str(self.result.get("predictor") or "")

    @property
    def dataset_seed(self) -> int:
        """Of a problem of the user's own, the seed of the run."""
        return int(self.result["config"].get("seed", 0) if self.own else self.result["dataset_seed"])

    @property
    def commit(self) -> str:
        """Twelve digits, with "+" where the code had changes on top; empty where it is not known."""
        commit = str(self.result.get("commit") or "")
        return commit[:12] + "+" if commit.endswith("+") else commit[:12]

    @property
    def stopped(self) -> str:
        return str(self.result.get("stopped") or "")

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(str(text) for text in self.result.get("warnings") or ())

    @property
    def failures(self) -> tuple[str, ...]:
        """One line for all calls that failed, and one for each of the first of them."""
        recorded = self.result.get("failures") or {}
        if not _whole(recorded.get("number", 0)):
            return ()
        causes = ", ".join(f"{_whole(number)} {status}" for status, number in dict(recorded["by_status"]).items())
        first = [f"row {_whole(one['row'])}, {one['attempts']} attempts: {one['message']}" for one in recorded["first"]]
        return (f"{_whole(recorded['number'])} calls failed ({causes})", *first)

    @property
    def regret(self) -> float:
        """On the rows that it is judged on; of a run on a problem of the user's own, as its summary has it."""
        if not self.own:
            return float(self.result["test_regret"])
        return math.nan if self.reached.best is None else self.reached.best

    @property
    def unjudged(self) -> str:
        """Why there is no regret, in a few words; empty where there is one."""
        if not self.own or self.reached.best is not None:
            return ""
        if self.stopped.startswith("interrupted"):
            return "stopped before anything was judged"
        return "every solve at a prediction failed" if self.failures else "ended before anything was judged"

    @property
    def message(self) -> str:
        """The gain and the calls paid, in words; empty where the result has none. Its key used to be "told"."""
        return str(self.result.get("message") or self.result.get("told") or "")

    told = renamed_attribute("told", "message")

    @property
    def next(self) -> str:
        """What to do now, in words."""
        return str(self.result.get("next") or "")

    @property
    def kept_start(self) -> bool:
        """Whether nothing clearly beat the prediction-focused start."""
        return bool(self.result.get("kept_start"))

    @property
    def rows(self) -> Mapping[str, int]:
        """Numbers of rows to train, to validate and to test on; empty where they are not recorded."""
        return {str(part): _whole(number) for part, number in dict(self.result.get("rows") or {}).items()}

    @property
    def table_rows(self) -> int:
        """Rows of the table as it was given, but for a test; 0 where they are not recorded.

        Results of earlier versions have the rows that were trained on, and of how many they were drawn.
        """
        drawn = dict(self.result.get("labelled") or {}).get("of")
        known = self.result.get("table_rows", drawn)
        return self.rows.get("train", 0) + self.rows.get("valid", 0) if known is None else _whole(known)

    @property
    def judged_rows(self) -> JudgedRows:
        """The rows that its regrets are of; of a result of an earlier version, as far as that can be told."""
        known = self.result.get("judged_on")
        if known is not None:
            return JudgedRows(clean(str(known["what"]), 20), _whole(known["rows"]), str(known["digest"]))
        what = "evidence" if "stages" in self.result else "validation"
        rows = self.rows.get("train", 0) if what == "evidence" else self.rows.get("valid", 0)
        return JudgedRows(what, rows, f"{what} {self.dataset_seed} {sorted(self.rows.items())}")

    @property
    def described(self) -> Described | None:
        """The problem; None in a result of an earlier version."""
        known = self.result.get("described")
        if known is None:
            return None
        lower, upper = (None if known[one] is None else float(known[one]) for one in ("lower", "upper"))
        noisy, linear = (None if known[one] is None else clean(str(known[one]), 20) for one in ("noisy", "linear"))
        inputs = tuple(_whole(size) for size in known["inputs"])
        return Described(inputs, _whole(known["parameters"]), lower, upper, bool(known["known_data"]), noisy, linear)

    @property
    def rows_by_use(self) -> str:
        """The rows in words, by what they are for."""
        rows = self.rows
        if not rows:
            return "not recorded"
        used, given = rows["train"] + rows["valid"], self.table_rows
        more = "" if used == given else f" of {given:,}"
        if "stages" in self.result:  # no row is only there to validate, unless the user has chosen some
            labelled = f"{given:,}" if used == given else f"{given:,}, of which {used:,} were labelled and trained on"
            return f"{labelled}; models are judged on rows that they have not seen"
        return f"{rows['train']:,} to train, {rows['valid']:,} to validate{more}"

    @property
    def stages(self) -> tuple[Mapping[str, Any], ...]:
        """Of a method in stages: the name of each, what it changed, with its error, and whether that was accepted."""
        return tuple(_stage(stage) for stage in self.result.get("stages") or ())

    @property
    def solves(self) -> int:
        """All that it paid, but for the test."""
        return sum(self.calls("solve", phase) for phase in PHASES if phase != "test")

    @property
    def solves_per_row(self) -> float:
        """All that it paid, by the rows of the table that it was given."""
        rows = self.table_rows
        return self.solves / rows if rows else float(self.result["total_solves_per_instance"])

    @property
    def reached(self) -> Reached:
        """Start and best, as the summary has them."""
        gain = self.result.get("gain")
        if isinstance(gain, Mapping) and all(_known(gain.get(one)) is not None for one in ("start", "best")):
            return reached_by_result(float(gain["start"]), float(gain["best"]), kept_start=self.kept_start)
        return Reached(*(_known(self.result.get(f"{one}_validation_regret")) for one in ("start", "best")))

    def number(self, name: str) -> float | None:
        """A figure by its name (`fresh_regret`, `gap_closed`, `solves`, ...); None where the run has none."""
        if name in ("start_validation_regret", "best_validation_regret"):  # one figure in all places
            return self.reached.start if name.startswith("start") else self.reached.best
        value = getattr(self, name) if name in ("solves", "solves_per_row") else self.result.get(name)
        return None if value is None else float(value)

    def seconds(self, part: str) -> float | None:
        """Seconds spent: `total`, or in the `solver` alone."""
        value = self.result["seconds"].get(part)
        return None if value is None else float(value)

    def calls(self, kind: str, phase: str) -> int:
        """How often `solve` or `cost` was called in one phase."""
        return _whole(self.result["calls"].get(kind, {}).get(phase, 0))

    @property
    def calibration(self) -> Calibration | None:
        given = self.result.get("calibration")
        found = Calibration.read(given) if given else None
        return found if found is not None and found.n else None  # nothing was held out

    @property
    def has_trust(self) -> bool:
        return any(row.trusted is not None for row in self.history)

    @property
    def settings(self) -> dict[str, str]:
        """The config with dotted names, such as ``gate.beta``, and values as text."""
        flat: dict[str, str] = {}
        stack: list[tuple[str, Any]] = [("", self.result["config"])]
        while stack:
            name, value = stack.pop()
            if isinstance(value, dict) and value:
                stack += [(f"{name}.{key}" if name else str(key), inner) for key, inner in reversed(value.items())]
            else:
                flat[name] = value if isinstance(value, str) else json.dumps(value)
        return flat


def _whole(value: Any) -> int:
    """A count in a file; ValueError where it is none that a run can have."""
    if not abs(found := int(value)) <= MAX_INT:
        raise ValueError("a count of more than 64 bits")
    return found


def _stage(record: Mapping[str, Any]) -> dict[str, Any]:
    """A stage with its figures as numbers."""
    figures = ("solves_per_row", "change", "error", "accepted")
    return {**record, **{name: float(record[name]) for name in figures if record.get(name) is not None}}


def _known(value: Any) -> float | None:
    """A regret; None where none was read, which earlier versions wrote as not a number."""
    return None if value is None or math.isnan(value) else float(value)
