"""The summary of a run in words: the gain with its confidence interval, the calls paid, and the next step.

gain    fall of the mean regret on the validation rows, from the prediction-focused start to the result. Both are
        read on the same rows, so the interval is that of the mean of the differences, row by row (Student's t).
        The same rows chose the result, so the gain is slightly optimistic: score the result on unseen rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fewsolves._internal.renamed import renamed_attribute
from fewsolves.methods.base import Trainer
from fewsolves.methods.linear import LinearTrainer, refuse
from fewsolves.methods.reading import Comparison, Reading
from fewsolves.oracle import Oracle

LEVEL = 0.95
NORMAL = 1.96  # standard errors of that level
LINEAR = " The objective is linear in y: method='spo+' knows that, and is the first to try."
WORTH = 0.1  # of the start's regret: what may have gone unseen is worth more validation rows
MANY = 0.05  # of all calls: failures that come before everything else


@dataclass(frozen=True)
class Gain:
    """The gain in the units of cost; the interval is None if only one row was compared."""

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
        return cls(start.mean, best.mean, low, high, compared.rows)

    @classmethod
    def by_evidence(cls, evidence: Mapping[str, float]) -> Gain:
        """The gain of a method that cross-fits: estimated over all judged rows, paid on some of them."""
        start, change, reach = evidence["start"], evidence["change"], NORMAL * evidence["error"]
        return cls(start, start + change, -change - reach, -change + reach, int(evidence["paid_rows"]))

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
        """The interval in words, as shares of the start's regret if that is above 0."""
        if self.low is None or self.high is None:
            return "no interval from one row"
        if self.start > 0:
            return f"{LEVEL:.0%} interval {self.share(self.low):.0%} to {self.share(self.high):.0%}"
        return f"{LEVEL:.0%} interval {self.low:.4g} to {self.high:.4g}"


@dataclass(frozen=True)
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

    told = renamed_attribute("told", "message")

    def __str__(self) -> str:
        return f"{self.message} {self.next}"

    def record(self) -> dict[str, Any]:
        """Plain, for result.json, where the key of `message` is "told"."""
        gain = None if self.gain is None else self.gain.record()
        return {"told": self.message, "next": self.next, "kept_start": self.kept_start, "gain": gain}


def summarise(
    *,
    method: Trainer,
    oracle: Oracle,
    start: Reading,
    best: Reading,
    tried: Reading | None,
    kept_start: bool,
    n_train: int,
    seconds: float,
    interrupted: bool,
    report: Mapping[str, Any],
) -> Summary:
    """Summarise a run with these readings; `tried` is the best discarded one, if the start was kept."""
    calls = oracle.calls
    solves, cost_calls = (calls.total(kind) - calls.shared[kind] for kind in ("solve", "cost"))
    compared = best if not kept_start or tried is None else tried
    gain = Gain.of(start, compared) if method.follows_start else None
    if method.cross_fits and "evidence" in report:
        gain = Gain.by_evidence(report["evidence"])
    failed = len(oracle.failures.failed)
    spent = oracle.budget_left.refused is not None
    if failed > MANY * max(1, calls.total("solve") + calls.total("cost")):
        first = oracle.failures.failed[0]
        after = f"Fix the failing calls first; the first one, at row {first.row}: {first.message}"
    elif interrupted:
        after = "It was stopped early; with a folder the same call goes on from here."
    elif kept_start and "new_rows" in report:
        after = "Keep it; refit again once there are more new rows."
    elif kept_start:
        after = _next_of_start(method, gain, spent=spent)
    else:
        after = _next_of_result(method, gain, spent=spent)
    if not isinstance(method, LinearTrainer) and refuse(oracle.problem) is None:
        after += LINEAR
    return Summary(
        message=f"{_gained(method, gain, best, kept_start, report.get('new_rows'))} {_paid(solves, n_train, failed)}",
        next=after,
        gain=gain,
        kept_start=kept_start,
        solves=solves,
        cost_calls=cost_calls,
        failed=failed,
        solver_seconds=calls.seconds,
        seconds=seconds,
    )


def _gained(method: Trainer, gain: Gain | None, best: Reading, kept_start: bool, new_rows: int | None) -> str:
    rows = _rows(len(best.known))
    if method.cross_fits:
        judged = len(best.known) if kept_start or gain is None else gain.rows
        rows = f"{judged:,} evidence rows, each judged by a model that had not seen it"
    if gain is None:
        return f"{method.name} has a mean regret of {best.mean:.4g} on {rows}."
    if kept_start and new_rows is not None:
        kept = f"The former predictor is kept: with {new_rows:,} new rows nothing clearly beat it on {rows}"
        return f"{kept} (mean regret {gain.start:.4g})."
    if kept_start:
        kept = f"Nothing was gained: no predictor clearly beat the prediction-focused start on {rows}, so that is kept"
        tried = "" if gain.mean == 0 else f"; the best that was tried changed its regret by {_change(gain)}"
        return f"{kept} (mean regret {gain.start:.4g}{tried})."
    if gain.mean < 0:  # its prior outweighed the evidence
        return (
            f"The evidence is weak: on {rows}, the regret fell by an estimated {gain.share(gain.mean):.0%} "
            f"({gain.interval()}), that is, it rose. The change was taken because changes of its kind usually gain."
        )
    fell = f"{gain.share(gain.mean):.0%}" if gain.start > 0 else f"{gain.mean:.4g}"
    return f"Regret fell by {fell} ({gain.interval()}), from {gain.start:.4g} to {gain.best:.4g} on {rows}."


def _change(gain: Gain) -> str:
    by = f"{-gain.share(gain.mean):+.0%}" if gain.start > 0 else f"{-gain.mean:+.4g}"
    return f"{by}, which {gain.rows:,} rows cannot distinguish from chance"


def _rows(n: int) -> str:
    return f"{n:,} validation {'row' if n == 1 else 'rows'}"


def _paid(solves: int, n_train: int, failed: int) -> str:
    """Without seconds: equal runs have equal messages."""
    each = f" ({solves / n_train:.3g} per training row)" if n_train else ""
    lost = f"; {failed:,} calls failed" if failed else ""
    return f"Paid: {solves:,} {'solve' if solves == 1 else 'solves'}{each}{lost}."


def _next_of_start(method: Trainer, gain: Gain | None, *, spent: bool) -> str:
    if spent:
        return "The budget was spent before anything was gained: fs.quote estimates what each method would need."
    if gain is not None and gain.mean == gain.high == 0:  # no reading was below that of the start
        return "Nothing that was tried was better at all: train longer, or try another method (fs.quote)."
    if gain is None or gain.high is None or gain.start <= 0:
        return "Give it more rows to learn from and to validate on, or keep prediction-focused learning."
    unseen = gain.share(gain.high)
    if unseen > WORTH:
        more = "more rows, or more solves," if method.cross_fits else "more validation rows"
        return f"A gain of up to {unseen:.0%} may have gone unseen: {more} would show it."
    return (
        f"This method can hardly gain more than {max(unseen, 0.01):.0%} here: the start is good enough, or try another."
    )


def _next_of_result(method: Trainer, gain: Gain | None, *, spent: bool) -> str:
    if not method.looks_at_regret:
        return "Training did not use the regret: fs.quote estimates what a method that does would cost."
    if spent:
        return "The budget ended the training: with more solves it may gain more (fs.quote)."
    if gain is not None and gain.low is not None and gain.low <= 0:
        return "The interval does not rule out that nothing was gained: score it on rows that it has not seen."
    return "These rows also chose the result: before you rely on it, score it on rows that it has not seen."
