"""How sure is what the default hands back: what it says and decides on many datasets, beside the truth on fresh rows.

    python -m fewsolves_studies.measure.calibration --jobs 2

Problems of the panel by datasets that nothing was chosen on (from 200 on), small tables, a linear predictor, 200
datasets in all. Every state of the models that a run judges is also measured on 2,000 fresh rows: the start on all
rows, each candidate, and the result. Three tables:

handed back   how often the result is worse than the start, and by how much
intervals     how often the 95 % interval of `report["evidence"]`, which the summary states, misses the true change;
              those of all candidates, taken or not, beside it, since what is taken was chosen for looking good
decisions     what became of candidates that are truly better, and of those that are truly worse

The truth is known up to the noise of the fresh rows. An interval misses *clearly* where that cannot be the reason: it
is widened by that noise. Changes of less than 1 % of the start's regret are left out of the first and the last table.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fewsolves.fitting.summary import REACH
from fewsolves.methods.base import Context, Outcome
from fewsolves.methods.staged.cross_fitting import CrossFitting
from fewsolves.methods.staged.evidence import Candidate, Change
from fewsolves.methods.staged.method import Staged
from fewsolves.methods.staged.replicas import predict
from fewsolves.methods.staged.schedule import Stage
from fewsolves.methods.staged.stand_ins import StandIn
from fewsolves_studies.benchmarks.catalogue import PANEL
from fewsolves_studies.benchmarks.study import Result
from fewsolves_studies.measure import fresh_ratio
from fewsolves_studies.measure.resumable import Group, complete, parser_of, write

FIRST, DATASETS = 200, 200
ROWS, SOLVES = 120, 4
SMALL, NORMAL = 0.01, 1.96  # share of the regret at the start; standard errors


class Watched(CrossFitting):
    """Measures every state that is judged on the fresh rows of a table."""

    def __init__(self, context: Context, table: fresh_ratio.Table) -> None:
        super().__init__(context, context.settings)
        self.table, self.measured, self._of_stage = table, list[Result](), list[tuple[Candidate, Result]]()

    def start_truth(self) -> np.ndarray:
        """(n_fresh,): regrets of the start on all rows."""
        return self._truth(self.start.models)

    def _truth(self, state: Any) -> np.ndarray:
        """(n_fresh,): regrets of the predictor that this state would make."""
        now, predictor = self.models.snapshot(), copy.deepcopy(self.context.predictor)
        self.models.restore(state)
        self.models.install(predictor)
        self.models.restore(now)
        return self.table.regrets(predict(predictor, self.table.fresh.X))

    def _change(self, made: Candidate, before: Candidate, stand_in: StandIn | None) -> Change:
        self._compared_with = before
        return super()._change(made, before, stand_in)

    def _note(self, stage: Stage, made: Candidate, change: Change, before: float) -> None:
        super()._note(stage, made, change, before)
        facts = {"source": made.source, "said": change.mean, "error": change.error}
        true = difference(self._truth(made.models), self._truth(self._compared_with.models))
        self._of_stage.append((made, facts | true))

    def _first_stage(self, *given: Any) -> Candidate:
        return self._decided(super()._first_stage(*given))

    def _next_stage(self, *given: Any) -> Candidate:
        return self._decided(super()._next_stage(*given))

    def _decided(self, current: Candidate) -> Candidate:
        self.measured += [facts | {"taken": made is self.best} for made, facts in self._of_stage]
        self._of_stage.clear()
        return current


class WatchedMethod(Staged):
    """The default, watched; what was seen is in `seen` after a fit."""

    def __init__(self, table: fresh_ratio.Table) -> None:
        self.table, self.seen = table, dict[str, Any]()

    def train(self, context: Context) -> Outcome:
        run = Watched(context, self.table)
        outcome = run.run()
        self.seen |= {"start": run.start_truth(), "candidates": run.measured, "evidence": run.report.get("evidence")}
        return outcome


def difference(new: np.ndarray, old: np.ndarray) -> dict[str, float]:
    """Of regrets of the same fresh rows: the true change, and its standard error."""
    d = new - old
    return {"true": float(d.mean()), "true_error": float(d.std(ddof=1) / math.sqrt(len(d)))}


def measure(group: Group) -> Iterator[Result]:
    """The datasets of a group."""
    for problem, dataset, n, n_fresh in group.values():
        table = fresh_ratio.Table(problem, dataset, n, n_fresh)
        method = WatchedMethod(table)
        model = table.fit(method, seed=dataset, settings={"solves": SOLVES})
        seen = method.seen
        yield {
            "start": float(seen["start"].mean()),
            **difference(table.of(model), seen["start"]),
            "kept_start": bool(model.kept_start_),
            "evidence": seen["evidence"],
            "candidates": seen["candidates"],
        }


def problem_of(run: str) -> str:
    """Of the name of a run."""
    return run.rpartition("/")[0]


def handed_back(runs: Mapping[str, Result], problems: Sequence[str]) -> list[dict[str, str]]:
    """One row per problem, and one of all."""
    facts = []
    for problem in (*problems, "all"):
        some = [one for run, one in runs.items() if problem in ("all", problem_of(run))]
        if not some:
            continue
        change = np.array([one["true"] / one["start"] for one in some])
        worse = change > SMALL
        clear = [one["true"] > SMALL * one["start"] and one["true"] > NORMAL * one["true_error"] for one in some]
        facts.append(
            {
                "problem": problem,
                "datasets": str(len(some)),
                "worse than the start": f"{worse.sum()} ({worse.mean():.1%})",
                "clearly, beyond the noise of fresh rows": str(sum(clear)),
                "by, on average": f"{change[worse].mean():+.1%}" if worse.any() else "",
                "at the most": f"{change[worse].max():+.1%}" if worse.any() else "",
                "better": f"{np.mean(change < -SMALL):.0%}",
                "start kept": str(sum(one["kept_start"] for one in some)),
                "mean change": f"{change.mean():+.1%}",
            }
        )
    return facts


def misses(said: Sequence[tuple[float, float, float, float]]) -> dict[str, str]:
    """Of (said, error, true, error of the truth): how often intervals miss, and to which side."""
    known = np.array([one for one in said if math.isfinite(one[1])]).reshape(-1, 4)
    if not len(known):
        return {"intervals": "0"}
    off, error = known[:, 2] - known[:, 0], known[:, 1]
    missed, clearly = np.abs(off) > REACH * error, np.abs(off) > REACH * np.hypot(error, known[:, 3])
    z = off / np.maximum(np.hypot(error, known[:, 3]), 1e-300)
    return {
        "intervals": str(len(known)),
        "miss": f"{missed.sum()} ({missed.mean():.1%})",
        "miss clearly": f"{clearly.sum()} ({clearly.mean():.1%})",
        "promised too much": f"{np.sum(clearly & (off > 0))}",
        "too little": f"{np.sum(clearly & (off < 0))}",
        "median of (true - said) / error": f"{np.median(z):+.2f}",
    }


def intervals(runs: Mapping[str, Result], problems: Sequence[str]) -> list[dict[str, str]]:
    """Of the evidence in the report by problem and of all, and of all candidates."""
    facts = []
    for problem in (*problems, "all"):
        some = [one for run, one in runs.items() if problem in ("all", problem_of(run)) and one["evidence"]]
        said = [(o["evidence"]["change"], o["evidence"]["error"], o["true"], o["true_error"]) for o in some]
        if said:
            facts.append({"of": f"results, {problem}"} | misses(said))
    every = [one for run in runs.values() for one in run["candidates"]]
    for name, some in (("all candidates", every), ("candidates that were taken", [o for o in every if o["taken"]])):
        facts.append({"of": name} | misses([(o["said"], o["error"], o["true"], o["true_error"]) for o in some]))
    return facts


def decisions(runs: Mapping[str, Result]) -> list[dict[str, str]]:
    """What became of candidates that are truly better than what stood before them, and of those that are worse."""
    every, facts = [(one, run["start"]) for run in runs.values() for one in run["candidates"]], []
    for name, sign in (("better", -1), ("worse", 1)):
        some = [one for one, start in every if sign * one["true"] > SMALL * start]
        if some:
            taken = np.mean([one["taken"] for one in some])
            facts.append({"candidates that are": name, "number": str(len(some)), "taken": f"{taken:.0%}"})
    return facts


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__, "calibration")
    parser.add_argument("--problems", default=",".join(PANEL))
    parser.add_argument("--datasets", type=int, default=DATASETS, help="how many in all, over the problems in turn")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--first", type=int, default=FIRST, help="dataset")
    given = parser.parse_args(arguments)
    problems, number, size = given.problems.split(","), given.datasets, (given.rows, fresh_ratio.FRESH)
    if given.quick:
        problems, number, size = ["fleet", "loading"], 2, (60, 100)
    each = [(problems[k % len(problems)], given.first + k // len(problems)) for k in range(number)]
    groups = [{f"{problem}/{dataset}": (problem, dataset, *size)} for problem, dataset in each]
    runs = complete(groups, measure, given)
    write(given, runs, [handed_back(runs, problems), intervals(runs, problems), decisions(runs)])


if __name__ == "__main__":
    main()
