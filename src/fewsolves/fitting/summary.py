"""The summary of a run in words: the gain with its confidence interval, the calls paid, and the next step.

gain    fall of the mean regret on the validation rows, from the prediction-focused start to the result. Both are
        read on the same rows, so the interval is that of the mean of the differences, row by row (Student's t).
        The same rows chose the result, so the gain is slightly optimistic: score the result on unseen rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from fewsolves._internal.html import html_facts
from fewsolves._internal.renamed import renamed_attribute
from fewsolves._internal.text import duration, number
from fewsolves.methods.base import Trainer
from fewsolves.methods.reading import FEW, Comparison, Reading
from fewsolves.oracle import Oracle
from fewsolves.training.reached import Reached, reached_by_result

LEVEL = 0.95
REACH = 2.5  # standard errors of that level for an estimate by evidence; with 1.96, one in nine missed (calibration)
RELATIVE = "Regrets are relative: divided by the cost of the best decision of their row."
UNSEEN_SHARE = 0.1  # of the start's regret: a larger gain that may have gone unseen is worth more validation rows
MANY = 0.05  # of all calls: failures that come before everything else


@dataclass(frozen=True)
class Gain:
    """The gain in the units of cost; the interval is None where too few rows were compared."""

    start: float  #: mean regret of the prediction-focused start
    best: float  #: of what is compared with it
    low: float | None  #: interval of the mean of the differences
    high: float | None  #: its upper end
    rows: int  #: validation rows that were compared

    @classmethod
    def of(cls, start: Reading, best: Reading) -> Gain:
        """The gain of a predictor that was read on the same rows as the start."""
        compared = Comparison.of(start, best)
        low, high = compared.interval(LEVEL) or (None, None)
        both = Reading(start.values + 0.0 * best.values)  # of the rows that have a value in both
        mean = both.mean if both.known.size else start.mean
        return cls(mean, mean - compared.mean if both.known.size else best.mean, low, high, compared.rows)

    @classmethod
    def by_evidence(cls, evidence: Mapping[str, float]) -> Gain:
        """The gain of a method that cross-fits: estimated over all judged rows, paid on some of them."""
        start, change, rows = evidence["start"], evidence["change"], int(evidence["paid_rows"])
        low, high = _around(-change, evidence["error"], rows)
        return cls(start, start + change, low, high, rows)

    @classmethod
    def tried(cls, start: Reading, stages: Sequence[Mapping[str, Any]]) -> Gain:
        """The best change that a method in stages has tried and not taken."""
        best = min(stages, key=lambda stage: float(stage["change"]))
        change, rows = float(best["change"]), len(start.known)
        low, high = _around(-change, float(best["error"]), rows)
        return cls(start.mean, start.mean + change, low, high, rows)

    @property
    def mean(self) -> float:
        """The fall of the mean regret."""
        return self.start - self.best

    def share(self, value: float) -> float:
        """`value` as a share of the start's regret."""
        return value / self.start

    def record(self) -> dict[str, Any]:
        """Plain, for result.json."""
        return {"mean": self.mean, "level": LEVEL, **asdict(self)}

    def interval(self) -> str:
        """The interval of the fall in words, as shares of the start's regret if that is above 0."""
        if self.low is None or self.high is None:
            return self._too_few()
        if self.start > 0:
            return f"{LEVEL:.0%} interval {_percent(self.share(self.low))} to {_percent(self.share(self.high))}"
        return f"{LEVEL:.0%} interval {number(self.low)} to {number(self.high)}"

    def interval_of_change(self) -> str:
        """The interval of the change, which has the opposite sign, for a regret that rose."""
        if self.low is None or self.high is None:
            return self._too_few()
        ends = (-self.high, -self.low)
        low, high = (_percent(self.share(end), "+") if self.start > 0 else number(end) for end in ends)
        return f"{LEVEL:.0%} interval of the change {low} to {high}"

    def _too_few(self) -> str:
        return f"{self.rows:,} {'row is' if self.rows == 1 else 'rows are'} too few for an interval"


def _percent(share: float, sign: str = "") -> str:
    """A share in whole percent, and never as -0%."""
    return f"{round(share, 2) + 0.0:{sign}.0%}"


def _around(fall: float, error: float, rows: int) -> tuple[float, float] | tuple[None, None]:
    """The interval of an estimate with this standard error; none from few rows."""
    reach = REACH * error
    return (fall - reach, fall + reach) if rows >= FEW else (None, None)


@dataclass(frozen=True, repr=False)
class Summary:
    """Prints as two or three sentences."""

    message: str  #: the gain and the calls paid
    next: str  #: what to do now
    gain: Gain | None  #: None where there was no start to gain on
    kept_start: bool  #: nothing clearly beat the start, so that is what predicts
    solves: int  #: paid by this run, but for the test
    cost_calls: int  #: likewise
    failed: int  #: calls that gave nothing
    solver_seconds: float  #: inside `solve` and `cost`, added up over the workers
    seconds: float  #: of the whole run
    regret: float  #: mean regret of the result on the rows that judge it; not a number where nothing was judged

    told = renamed_attribute("told", "message")

    @property
    def reached(self) -> Reached:
        """Start and best, as everything else shows them once a run has ended."""
        if self.gain is None:
            return Reached(None, self.regret if math.isfinite(self.regret) else None)
        return reached_by_result(self.gain.start, self.gain.best, kept_start=self.kept_start)

    @property
    def short(self) -> str:
        """A few words: best, start and solves, such as the last line of progress has."""
        paid = f"{self.solves:,} {'solve' if self.solves == 1 else 'solves'} paid"
        known = str(self.reached) or "nothing was judged"
        return f"{known}{', nothing clearly beat the start' if self.kept_start and self.gain else ''} · {paid}"

    @property
    def gained(self) -> bool:
        """Whether the result clearly beats the start: it was taken, and the whole interval of its gain is above 0."""
        low = None if self.gain is None else self.gain.low
        return low is not None and low > 0 and not self.kept_start

    def __str__(self) -> str:
        return f"{self.message} {self.next}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """In a notebook: the same sentences, and what was paid."""
        start, best = self.reached
        before = "" if start is None else f", {number(start)} at the start"
        regret = {} if best is None else {"regret": f"{number(best)}{before}"}
        paid = {"solves": f"{self.solves:,}", "cost calls": f"{self.cost_calls:,}", "failed calls": f"{self.failed:,}"}
        time = {"time": f"{duration(self.seconds)}, {duration(self.solver_seconds)} of it in your functions"}
        return html_facts("Result of the fit", regret | paid | time, sentences=(self.message, self.next))

    def record(self) -> dict[str, Any]:
        """Plain, for result.json; "told" is the key of `message` in earlier versions."""
        gain = None if self.gain is None else self.gain.record()
        said = {"message": self.message, "told": self.message, "next": self.next}
        return said | {"kept_start": self.kept_start, "gained": self.gained, "gain": gain}


def summarise(
    *,
    method: Trainer,
    oracle: Oracle,
    start: Reading,
    best: Reading,
    tried: Reading | None,
    kept_start: bool,
    n_rows: int,
    seconds: float,
    interrupted: bool,
    report: Mapping[str, Any],
) -> Summary:
    """Summarise a run over a table of `n_rows`; `tried` is the best discarded reading, if the start was kept."""
    calls = oracle.calls
    solves, cost_calls = (calls.total(kind) - calls.shared[kind] for kind in ("solve", "cost"))
    gain = _gain(method, start, best, tried if kept_start else None, report, kept_start=kept_start)
    failed = len(oracle.failures.failed)
    after = _next(
        method, oracle, gain, solves, best.known.size > 0, kept_start=kept_start, interrupted=interrupted, report=report
    )
    return Summary(
        message=" ".join(
            [
                _gained(method, gain, best, kept_start, report.get("new_rows"))
                if best.known.size
                else _unjudged(method, kept_start, report, interrupted=interrupted, failed=failed),
                *_particulars(oracle, report),
                _paid(solves, cost_calls, n_rows, failed),
            ]
        ),
        next=after,
        gain=gain,
        kept_start=kept_start,
        solves=solves,
        cost_calls=cost_calls,
        failed=failed,
        solver_seconds=calls.seconds,
        seconds=seconds,
        regret=best.mean,
    )


def _gain(
    method: Trainer,
    start: Reading,
    best: Reading,
    tried: Reading | None,
    report: Mapping[str, Any],
    *,
    kept_start: bool,
) -> Gain | None:
    """None where there was no start to gain on, or nothing was judged."""
    if not best.known.size:
        return None
    if method.cross_fits and "evidence" in report:
        return Gain.by_evidence(report["evidence"])
    stages = [stage for stage in report.get("stages", ()) if math.isfinite(stage["change"])]
    if method.cross_fits and kept_start and stages:
        return Gain.tried(start, stages)
    compared = best if tried is None or not tried.known.size else tried
    return Gain.of(start, compared) if method.follows_start else None


def _particulars(oracle: Oracle, report: Mapping[str, Any]) -> list[str]:
    """Sentences about choices that not every run has."""
    said = [RELATIVE] if oracle.relative else []
    if "labelled" in report:
        said.append(report["labelled"]["message"])
    if "module" in report:
        said.append(f"The module was {report['module']}.")
    if "chosen" in report:
        said.append(f"'auto' chose the {report['chosen']} predictor.")
    return said


def _unjudged(method: Trainer, kept_start: bool, report: Mapping[str, Any], *, interrupted: bool, failed: int) -> str:
    """Of a run that has read no regret."""
    kept = "the prediction-focused start" if kept_start or method.cross_fits else "the predictor"
    if "new_rows" in report:
        kept = "the former predictor"
    why = "The run ended before anything was judged"
    if interrupted:
        why = "The run was stopped before anything was judged"
    elif failed:
        why = "Nothing was judged, because every solve at a prediction failed"
    return f"{why}: {kept} is kept, and its regret is not known."


def _gained(method: Trainer, gain: Gain | None, best: Reading, kept_start: bool, new_rows: int | None) -> str:
    rows = f"{len(best.known):,} validation {'row' if len(best.known) == 1 else 'rows'}"
    if method.cross_fits:
        judged = len(best.known) if kept_start or gain is None else gain.rows
        rows = f"{judged:,} evidence rows, each judged by a model that had not seen it"
    if gain is None:
        return f"{method.name} has a mean regret of {number(best.mean)} on {rows}."
    if kept_start and new_rows is not None:
        kept = f"The former predictor is kept: with {new_rows:,} new rows nothing clearly beat it on {rows}"
        return f"{kept} (mean regret {number(gain.start)})."
    if kept_start:
        kept = f"Nothing was gained: no predictor clearly beat the prediction-focused start on {rows}, so it is kept"
        tried = "" if gain.mean == 0 else f"; the best candidate changed the regret by {_change(gain)}"
        return f"{kept} (mean regret {number(gain.start)}{tried})."
    if gain.mean < 0:  # its prior outweighed the evidence
        rose = f"{-gain.share(gain.mean):.0%}" if gain.start > 0 else number(-gain.mean)
        return (
            f"The evidence is weak: on {rows}, the estimated regret rose by {rose} ({gain.interval_of_change()}). "
            "The change was accepted because changes of its kind usually lower the regret."
        )
    fell = f"{gain.share(gain.mean):.0%}" if gain.start > 0 else f"{number(gain.mean)}"
    return f"Regret fell by {fell} ({gain.interval()}), from {number(gain.start)} to {number(gain.best)} on {rows}."


def _change(gain: Gain) -> str:
    by = f"{-gain.share(gain.mean):+.0%}" if gain.start > 0 else f"{'+' if gain.mean < 0 else ''}{number(-gain.mean)}"
    return f"{by}, which {gain.rows:,} rows cannot distinguish from chance"


def _paid(solves: int, cost_calls: int, n_rows: int, failed: int) -> str:
    """Without seconds: equal runs have equal messages."""
    each = f" ({solves / n_rows:.3g} per row of the table)" if n_rows else ""
    costs = f" and {cost_calls:,} cost {'call' if cost_calls == 1 else 'calls'}" if cost_calls else ""
    lost = f"; {failed:,} {'call' if failed == 1 else 'calls'} failed" if failed else ""
    return f"Paid: {solves:,} {'solve' if solves == 1 else 'solves'}{each}{costs}{lost}."


def _spent(oracle: Oracle, solves: int) -> str:
    most = oracle.budget_left.budget.solves
    return "" if most is None else f" ({solves:,} of {most:,} solves paid)"


def _next(
    method: Trainer,
    oracle: Oracle,
    gain: Gain | None,
    solves: int,
    judged: bool,
    *,
    kept_start: bool,
    interrupted: bool,
    report: Mapping[str, Any],
) -> str:
    """The next step for the user; failing calls come first."""
    failed, calls, spent = oracle.failures.failed, oracle.calls, oracle.budget_left.refused is not None
    many = len(failed) > MANY * max(1, calls.total("solve") + calls.total("cost"))
    if many or (failed and not judged and not interrupted):
        return f"Fix the failing calls first; the first one, at row {failed[0].row}: {failed[0].message}"
    if interrupted:
        return "The run was stopped early; with a folder, the same call resumes it."
    if not judged:
        if oracle.budget_left.limited:
            return _next_of_start(method, gain, spent=_spent(oracle, solves))
        return "The regret was not measured once: let the run continue, or allow more solves."
    if kept_start and "new_rows" in report:
        return "Keep the former predictor, and refit once there are more new rows."
    if kept_start:
        return _next_of_start(method, gain, spent=_spent(oracle, solves) if spent else None)
    return _next_of_result(method, gain, spent=spent)


def _next_of_start(method: Trainer, gain: Gain | None, *, spent: str | None) -> str:
    if spent is not None:
        return f"The budget left no room for more{spent}: fs.quote estimates what each method would need."
    if gain is not None and gain.mean == gain.high == 0:  # no reading was below that of the start
        return "No candidate was better than the start: train longer, or try another method (fs.quote)."
    if gain is None or gain.high is None or gain.start <= 0:
        return "Give the method more rows to train and to validate on, or keep prediction-focused learning."
    unseen = gain.share(gain.high)
    if unseen > UNSEEN_SHARE:
        more = "more rows, or more solves," if method.cross_fits else "more validation rows"
        return f"A gain of up to {unseen:.0%} may have gone unseen: {more} would show it."
    return "The judged rows show no gain: keep the start, or try another method (fs.quote)."


def _next_of_result(method: Trainer, gain: Gain | None, *, spent: bool) -> str:
    if not method.looks_at_regret:
        return "Training did not use the regret: fs.quote estimates what a method that does would cost."
    if spent:
        return "The budget ended the training: more solves may gain more (see fs.quote)."
    if gain is not None and gain.low is None:
        return (
            "These rows are too few to show whether anything was gained: score the model on rows that it has not seen."
        )
    if gain is not None and gain.low is not None and gain.low <= 0:
        return "The interval does not rule out that nothing was gained: score the model on rows that it has not seen."
    return "These rows also chose the result: before you rely on it, score the model on rows that it has not seen."
