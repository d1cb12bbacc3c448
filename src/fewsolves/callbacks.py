"""Callbacks of a fit: any function of an epoch's record; ready ones for TensorBoard, MLflow, W&B and a CSV file.

    written = fs.callbacks.CSV("runs/history.csv")
    fs.DecisionRegressor(problem, callbacks=[written, my_function])

A callback gets an `EpochRecord` at the end of each epoch; one that returns `Stop("the reason")` ends the training, and
the best predictor so far is the result. If it also has a method `on_answer(calls)`, that is called between epochs each
time that solves were answered. The ready ones take the object that you have made, so that fewsolves needs none of these
packages, and two models may share it: copies of a callback, as scikit-learn makes them, write to the same place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fewsolves._internal.text import clean
from fewsolves.execution.base import PHASES, paid
from fewsolves.reporting.run_sources import Fitted
from fewsolves.reporting.runs import Run
from fewsolves.training.history import Callback, EpochRecord, Stop, csv_text

__all__ = ["CSV", "Callback", "EpochRecord", "MLflow", "Stop", "TensorBoard", "WandB"]

DESCRIPTION = "mlflow.note.content"  # the tag that MLflow shows as the description of a run


class _Shared:
    """Holds what cannot be copied, such as an open file or a connection."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self


class _Figures(_Shared):
    """Counts the epochs of all fits that it logs, and puts the prefix before each name."""

    def __init__(self, prefix: str) -> None:
        self.prefix, self._step = prefix, 0

    def _named(self, figures: Mapping[str, Any]) -> dict[str, Any]:
        return {self.prefix + name: value for name, value in figures.items()}


class TensorBoard(_Figures):
    """Scalars for a `SummaryWriter`, or whatever has its `add_scalar(name, value, step)`.

    >>> class Writer:
    ...     def add_scalar(self, name, value, step): print(name, value, step)
    >>> import fewsolves as fs
    >>> tell = fs.callbacks.TensorBoard(Writer())

    Args:
        writer: The writer that you have made.
        prefix: Before each name.
    """

    def __init__(self, writer: Any, prefix: str = "fewsolves/") -> None:
        super().__init__(prefix)
        self.writer = writer

    def __call__(self, record: EpochRecord) -> None:
        self._step += 1
        for name, value in self._named(numbers(record)).items():
            self.writer.add_scalar(name, value, self._step)


class MLflow(_Figures):
    """Metrics for the module `mlflow`, in its active run, or for whatever has its `log_metrics(metrics, step=)`.

    Args:
        mlflow: The module, or the object.
        prefix: Before each name.
    """

    def __init__(self, mlflow: Any, prefix: str = "") -> None:
        super().__init__(prefix)
        self.mlflow = mlflow

    def __call__(self, record: EpochRecord) -> None:
        self._step += 1
        self.mlflow.log_metrics(self._named(numbers(record)), step=self._step)

    def log_fit(self, model: Fitted) -> None:
        """After the fit: log method, settings and budget as parameters, the result as metrics, the report as artifact.

        The summary becomes the description of the run, and the curve of the best regret ends at the result.

        Args:
            model: The fitted model.
        """
        run = model.run_
        self.mlflow.log_params(self._named(parameters(run)))
        self.mlflow.log_metrics(self._named(results(run)))
        if run.reached.best is not None:  # the lowest reading may be one that was not taken
            self.mlflow.log_metrics({f"{self.prefix}best_regret": run.reached.best}, step=self._step)
        if run.message and hasattr(self.mlflow, "set_tag"):
            self.mlflow.set_tag(DESCRIPTION, f"{run.message} {run.next}")
        from fewsolves.reporting import report  # draws with matplotlib, an extra

        with TemporaryDirectory() as folder:
            self.mlflow.log_artifact(str(report(model.run_, Path(folder) / "report.html")))


class WandB(_Figures):
    """Figures for a run of Weights & Biases, as `wandb.init()` returns it, or for whatever has its `log(data, step=)`.

    >>> class Run:
    ...     def log(self, data, step): print(step, sorted(data))
    >>> import fewsolves as fs
    >>> log = fs.callbacks.WandB(Run())

    Args:
        run: The run that you have begun.
        prefix: Before each name.
    """

    def __init__(self, run: Any, prefix: str = "") -> None:
        super().__init__(prefix)
        self.run = run

    def __call__(self, record: EpochRecord) -> None:
        # W&B leaves out what has a lower step than anything in the run, such as figures of the caller's own
        self._step = max(self._step + 1, int(getattr(self.run, "step", 0)))
        self.run.log(self._named(numbers(record)), step=self._step)

    def log_fit(self, model: Fitted) -> None:
        """After the fit: method, settings and budget go to the run's config, the result to its summary.

        Args:
            model: The fitted model.
        """
        given = {name: _from_json(value) for name, value in parameters(model.run_).items()}
        self.run.config.update(self._named(given))  # W&B plots and filters numbers as numbers
        self.run.summary.update(self._named(results(model.run_)))


class CSV(_Shared):
    """One line per epoch, written as it ends; a file that is there already goes on.

    The columns are those of history.csv in a folder, which is written when a run has ended.

    Args:
        path: The file; its folder is made where there is none.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __call__(self, record: EpochRecord) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = not self.path.exists() or self.path.stat().st_size == 0
        text = csv_text([record])
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(text if new else text.split("\n", 1)[1])


def parameters(run: Run) -> dict[str, str]:
    """The settings of a run, by name."""
    given = {"problem": run.benchmark, "method": run.method, "predictor": run.predictor, "rows": str(run.table_rows)}
    given |= {name: "not set" if value == "null" else value for name, value in run.settings.items()}
    limits = {f"budget.{name}": str(most) for name, most in dict(run.result.get("budget") or {}).items() if most}
    return {name: clean(value, 400) for name, value in (given | limits).items()}


def _from_json(text: str) -> Any:
    """A number or a truth value where the text is one."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def results(run: Run) -> dict[str, float]:
    """The results of a run, by name."""
    start, best = run.reached
    known = {"start_regret": start, "regret": best, "solves": run.solves, "solves_per_row": run.solves_per_row}
    return {f"result.{name}": float(value) for name, value in known.items() if value is not None}


def numbers(record: EpochRecord) -> dict[str, float]:
    """The figures of an epoch that are known, by name."""
    figures: dict[str, float | None] = {  # the two losses have different units, and no curve in common
        "start_loss" if record.stage == "start" else "train_loss": record.train_loss,
        "validation_regret": record.validation_regret,
        "best_regret": record.best_regret,
        "trusted": record.trusted,
        "seconds": record.seconds,
        "solver_seconds": record.solver_seconds,
        "solves_saved": record.saved,
    }
    figures |= {f"solves_{phase}": record.solves.get(phase, 0) for phase in PHASES}
    figures["solves"] = paid(record.solves)
    return {name: float(value) for name, value in figures.items() if value is not None}
