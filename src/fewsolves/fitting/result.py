"""The result of a run: a `Fit`, its plain facts for the folder, and the files for readers.

fit.json                    `facts_of`: the result of a run that is started again; weights are beside it, no loss
result.json, history.csv    `result_of` and one line per epoch: what the report and other programs read
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

import numpy as np

from fewsolves._internal.files import remedy, write_whole
from fewsolves._internal.kinds import check_kinds
from fewsolves.data import Split
from fewsolves.errors import LedgerError
from fewsolves.fitting.growth import Former
from fewsolves.fitting.prepare import Prepared
from fewsolves.fitting.summary import Summary, summarise
from fewsolves.ledger.identity.fingerprint import digest_of
from fewsolves.methods.base import Trainer
from fewsolves.methods.loss import ArrayLoss
from fewsolves.methods.reading import Reading
from fewsolves.oracle import KINDS, Calls, Oracle
from fewsolves.oracle.former import FormerRun
from fewsolves.predictors.correction import describe_correction
from fewsolves.predictors.forecaster import Forecaster
from fewsolves.predictors.predictor import Predictor, rebuilt
from fewsolves.problem import Array
from fewsolves.settings import values_of
from fewsolves.training.history import EpochRecord, csv_text
from fewsolves.training.reached import Reached

if TYPE_CHECKING:
    from fewsolves.methods.gp_surrogate.surrogate.export import ExportedSurrogate
    from fewsolves.methods.torch_loss import Loss


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A trained predictor, and how it was trained."""

    method: Trainer  #: with its settings
    predictor: Predictor  #: trained
    predictor_name: str  #: "linear", "network", "given", or of a forecaster
    oracle: Oracle  #: of the whole table
    split: Split  #: the rows by their use
    start: Reading  #: validation regret of the prediction-focused start
    best: Reading  #: validation regret of the result
    X_train: Array  #: (n_train, n_x) the rows that were trained on
    loss: Loss | ArrayLoss | None  #: None for prediction-focused learning
    stopped: str  #: why training ended
    seconds: float  #: of the whole run
    seed: int = 0  #: of everything that is random
    history: list[EpochRecord] = field(default_factory=list)  #: one record for each epoch
    warnings: list[str] = field(default_factory=list)  #: what the user should know
    report: dict[str, Any] = field(default_factory=dict)  #: facts of the method, for result.json
    start_predictions: Array | None = None  #: (n_train, n_y) of the start; None where the result was read from a folder
    interrupted: bool = False  #: by Ctrl-C or SIGTERM
    kept_start: bool = False  #: the trained predictor did not clearly beat its start and was discarded
    tried: Reading | None = None  #: validation regret of what was discarded
    surrogate: ExportedSurrogate | None = None  #: what was learned of the regret, for methods that learn it
    forecaster: Forecaster | None = None  #: whose forecasts the predictor corrects

    def predict(self, X: Any) -> Array:
        """Predictions (n, n_y), in the units of Y.

        Args:
            X: Rows as the plan was given them.
        """
        inputs = X if self.forecaster is None else self.forecaster.inputs(X)
        y_hat: Array = self.predictor(np.asarray(inputs))
        return y_hat

    def correction(self, names: Sequence[str] | None = None) -> str | None:
        """The correction of the forecasts of the training rows, in a sentence; None without a forecaster.

        Args:
            names: Of the outputs. None: y0, y1 and so on.
        """
        if self.forecaster is None:
            return None
        n_y = self.forecaster.n_y
        y_hat = self.predictor(self.X_train)
        forecasts = self.X_train[:, -n_y:] if self.X_train.ndim == 2 else self.X_train[:, :, -1]
        return describe_correction(forecasts, y_hat, self.oracle.Y[self.split.train], names)

    @cached_property
    def summary(self) -> Summary:
        """The gain, the calls paid, and the next step."""
        return summarise(
            method=self.method,
            oracle=self.oracle,
            start=self.start,
            best=self.best,
            tried=self.tried,
            kept_start=self.kept_start,
            n_rows=self.table_rows,
            seconds=self.seconds,
            interrupted=self.interrupted,
            report=self.report,
        )

    @property
    def table_rows(self) -> int:
        """Rows of the given table without test rows: the divisor of all figures "per row"."""
        return len(self.oracle.Y) - len(self.split.test)

    @property
    def reached(self) -> Reached:
        """Mean regrets of start and result, as the summary has them; of a run that compares nothing, as read."""
        start, best = self.summary.reached
        read = self.start.mean if start is None and self.start.known.size else start
        return Reached(read, best)


def rows_trained_on(method: Trainer, split: Split) -> int:
    """The number of rows that train: all but test rows where the method judges its result by itself."""
    return len(split.train) + (len(split.valid) if method.cross_fits else 0)


def result_of(fitted: Fit) -> dict[str, Any]:
    """The content of result.json: regret on the validation rows, calls paid, and settings."""
    calls, split, method = fitted.oracle.calls, fitted.split, fitted.method
    n_train = rows_trained_on(fitted.method, split)
    return {
        "problem": fitted.oracle.problem.name,
        "method": method.name,
        "config": {"seed": fitted.seed, "loss": values_of(method.settings), "train": values_of(method.common)},
        "predictor": fitted.predictor_name,
        "regret": fitted.oracle.solving.regret,
        "rows": {part: len(rows) for part, rows in vars(split).items()},
        "table_rows": fitted.table_rows,
        "judged_on": _judged_on(fitted),
        "described": _described(fitted),
        **fitted.summary.record(),
        "best_validation_regret": fitted.reached.best,
        "start_validation_regret": fitted.reached.start,
        "solves_per_instance": calls.training("solve") / n_train,
        "evaluations_per_instance": calls.training_evaluations() / n_train,
        "cost_calls_per_instance": calls.training("cost") / n_train,
        "total_solves_per_instance": calls.total("solve") / n_train,
        "calls": {kind: calls.by_phase(kind) for kind in KINDS},
        "seconds": {"total": fitted.seconds, "solver": calls.seconds},
        "stopped": fitted.stopped,
        "budget": dataclasses.asdict(fitted.oracle.budget_left.budget),
        "warnings": fitted.warnings,
        "failures": fitted.oracle.failures.record(),
    } | fitted.report


def _judged_on(fitted: Fit) -> dict[str, Any]:
    """The rows that its regrets are of: how many, and a digest that runs have in common where they are the same rows.

    A method that cross-fits draws its evidence rows itself, and judges each by a model that has not seen it.
    """
    split, cross_fits, rows = fitted.split, fitted.method.cross_fits, len(fitted.best.known)
    of = np.sort(np.concatenate([split.train, split.valid])) if cross_fits else np.sort(split.valid)
    drawn = (fitted.seed, len(fitted.start.values)) if cross_fits else None
    digest = digest_of((of, fitted.oracle.Y[of], drawn))
    return {"what": "evidence" if cross_fits else "validation", "rows": rows, "digest": digest}


def _described(fitted: Fit) -> dict[str, Any]:
    """What is known of the problem and its table; bounds that differ by parameter are those of all of them."""
    problem, n_y = fitted.oracle.problem, fitted.oracle.n_y
    lower, upper = (np.broadcast_to(bound, n_y) for bound in problem.bounds())
    return {
        "inputs": list(fitted.X_train.shape[1:]),
        "parameters": n_y,
        "lower": float(lower.min()) if np.isfinite(lower).all() else None,
        "upper": float(upper.max()) if np.isfinite(upper).all() else None,
        "known_data": problem.instances is not None,
        "noisy": problem.noisy,
        "linear": problem.linear,
    }


def write_result(folder: Path, result: Mapping[str, Any], history: Sequence[EpochRecord]) -> None:
    """history.csv and result.json, each whole or not there."""
    for name, text in {"history.csv": csv_text(history), "result.json": json.dumps(result, indent=1) + "\n"}.items():
        try:
            write_whole(folder / name, text)
        except OSError as error:
            raise LedgerError(
                f"{folder / name} cannot be written: {error.strerror}. The run has ended and is on record: "
                f"{remedy(error)}, and the same call returns its result"
            ) from error


def facts_of(fitted: Fit) -> dict[str, Any]:
    """Everything but the weights and the loss, as plain JSON."""
    return {name: fact.write(getattr(fitted, name)) for name, fact in FACTS.items()} | {
        "surrogate": fitted.surrogate is not None,
        "failures": fitted.oracle.failures.state(),
        "rows": {part: rows.tolist() for part, rows in vars(fitted.split).items()},
        "calls": dataclasses.asdict(fitted.oracle.calls),
    }


def former_of(fitted: Fit, prepared: Prepared) -> Former:
    """The part of this run that a run over more rows continues from, without a folder."""
    points = None if fitted.loss is None else fitted.loss.paid_points()
    if points is not None:
        points = points._replace(rows=fitted.split.train[points.rows])
    plan, before = prepared.plan, prepared.former
    memory, n = fitted.oracle.account.memory, len(plan.Y)
    paid = fitted.oracle.calls.total("solve")
    rate = paid / prepared.rows_paid_for if before is None else before.solves_per_row
    return Former(
        fitted.predictor,
        fitted.predictor_name,
        fitted.split,
        rate,
        FormerRun(n, memory, points, fitted.oracle.relative),
        (digest_of(plan.context), digest_of(plan.Y)),
    )


def recovered_fit(
    weights: Mapping[str, Array],
    facts: Mapping[str, Any],
    *,
    candidates: Mapping[str, Predictor],
    method: Trainer,
    oracle: Oracle,
    split: Split,
    X: Array,
    seed: int,
    surrogate: ExportedSurrogate | None,
    forecaster: Forecaster | None = None,
) -> Fit:
    """Restore a run from its weights and `facts_of`; `candidates` has the predictor, and the oracle gets the counts.

    Facts of 0.1.0 lack what came later: then `split` holds, and no failures are known. Facts that were changed raise
    one of `checkpoint.MISFITS`.
    """
    check_kinds(facts, KINDS_OF_FACTS)
    lengths = {len(facts[name]) for name in ("start", "best", "tried") if facts.get(name) is not None}
    if len(lengths) > 1:
        raise ValueError(f"readings have {' and '.join(map(str, sorted(lengths)))} rows")
    later = {"kept_start": "kept its start" in facts["stopped"], "tried": None} | dict(facts)
    untrained = candidates[facts["predictor_name"]]
    predictor = rebuilt(untrained, weights, untrained.bounds)
    restore_calls(oracle.calls, facts["calls"])
    if "failures" in facts:
        oracle.failures.restore(facts["failures"])
    if "rows" in facts:  # without those that were left out
        split = Split(**{part: np.array(rows, dtype=int) for part, rows in facts["rows"].items()})
        if any(rows.size and not 0 <= rows.min() <= rows.max() < len(X) for rows in vars(split).values()):
            raise ValueError(f"'rows' has numbers of rows that a table of {len(X)} rows has not")
    return Fit(
        method=method,
        predictor=predictor,
        oracle=oracle,
        split=split,
        X_train=X[split.train],
        seed=seed,
        loss=None,
        surrogate=surrogate,
        forecaster=forecaster,
        **{name: fact.read(later[name]) for name, fact in FACTS.items()},
    )


def history_facts(records: Sequence[EpochRecord]) -> list[dict[str, Any]]:
    return [dict(vars(record)) for record in records]


def history_from(facts: Sequence[Mapping[str, Any]]) -> list[EpochRecord]:
    """The records; what a newer version has added to them is left out. ValueError if they are none."""
    hints = get_type_hints(EpochRecord)
    for record in facts:
        check_kinds(record, hints)
        if record.get("trusted") is not None and not 0 <= record["trusted"] <= 1:
            raise ValueError(f"'trusted' is a share, and not {record['trusted']}")
    return [EpochRecord(**{name: value for name, value in record.items() if name in hints}) for record in facts]


class Fact(NamedTuple):
    """A field of a fit in JSON: the kind of value, how it is written, and how it is read again."""

    kind: Any
    write: Callable[[Any], Any] = lambda value: value
    read: Callable[[Any], Any] = lambda value: value


def _reading_facts(reading: Reading | None) -> list[float] | None:
    return None if reading is None else reading.values.tolist()


def _reading_from(values: list[float] | None) -> Reading | None:
    return None if values is None else Reading(np.array(values, dtype=float))


FACTS: dict[str, Fact] = {  # the fields of a `Fit` that fit.json keeps as they are
    "predictor_name": Fact(str),
    "stopped": Fact(str),
    "seconds": Fact(float),
    "warnings": Fact(list[str]),
    "report": Fact(dict[str, Any]),
    "interrupted": Fact(bool),
    "kept_start": Fact(bool),
    "tried": Fact(list[float] | None, _reading_facts, _reading_from),
    "start": Fact(list[float], _reading_facts, _reading_from),
    "best": Fact(list[float], _reading_facts, _reading_from),
    "history": Fact(list[dict[str, Any]], history_facts, history_from),
}
KINDS_OF_FACTS = {name: fact.kind for name, fact in FACTS.items()} | {  # of what `facts_of` writes
    "failures": dict[str, Any],
    "rows": dict[str, list[int]],
    "calls": dict[str, Any],
}


def _check_names(name: str, value: Any, like: Any) -> None:
    """ValueError where a mapping lacks a name that the other has."""
    if isinstance(like, dict):
        if missing := like.keys() - value.keys():
            raise ValueError(f"{name!r} lacks {min(missing)!r}")
        for key, inner in like.items():
            _check_names(key, value[key], inner)


def restore_calls(calls: Calls, facts: Mapping[str, Any]) -> None:
    """The counts of `facts`; what they count was paid before. ValueError if they are none."""
    check_kinds(facts, get_type_hints(Calls))
    for name, value in facts.items():
        _check_names(name, value, getattr(calls, name, None))
        setattr(calls, name, value)
    for kind in calls.counts:
        calls.replayed[kind] = sum(calls.counts[kind].values()) - calls.shared[kind]
