"""Generation for PJM's load: the published schedule with its three networks, then a unit commitment."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from fewsolves.demo.benchmark import Benchmark
from fewsolves.problem import Array
from fewsolves_studies.real.bootstrap import interval
from fewsolves_studies.real.cell import FEW_COST_CALLS, Cell, Done, default_method, one, options
from fewsolves_studies.real.compare import Pair, pair, typical_day
from fewsolves_studies.real.published_nets import NETS, SHUFFLED, costs_of_net
from fewsolves_studies.real.run import knowing_the_truth
from fewsolves_studies.real.study import Frontier, RealStudy

SCHEDULE, COMMITMENT = "pjm-schedule", "pjm-commitment"
TRUTH = "true loads"
YEAR = options(train_days=365, test_every=4)  # of the commitment, where a solve takes a tenth of a second
AUTUMN = options(train_days=100, test_every=8)
BUDGETS = {YEAR: (5, 16, 32), AUTUMN: (5,)}  # of the others: the first is the default's
LAST = options(validation="last")  # the last fifth of the days, instead of every fifth week
ALL_DAYS = 2041  # that could be trained on


def cells(quick: bool) -> list[Cell]:
    """The networks and the methods on the schedule; every method with 5 solves a day on the commitment."""
    ours = default_method()
    if quick:
        cell = partial(Cell, benchmark=COMMITMENT, data=options(train_days=25, test_days=3), predictor="network")
        return [cell(method="pfl", plans=True), cell(method=ours, budget=8, plans=True, settings=FEW_COST_CALLS)]
    found = [Cell(benchmark=SCHEDULE, method=name, decide=NET_COSTS[name]) for name in (*NETS, SHUFFLED)]
    found += [Cell(benchmark=SCHEDULE, method=TRUTH, decide=knowing_the_truth)]
    for data in (YEAR, AUTUMN):
        found += [Cell(benchmark=COMMITMENT, data=data, method=TRUTH, decide=knowing_the_truth)]
        cell = partial(Cell, benchmark=COMMITMENT, data=data, predictor="network")
        found += [cell(method="pfl", plans=True), cell(method=ours, budget=5, plans=True)]
        found += [cell(method=method, budget=k) for k in BUDGETS[data] for method in ("pairs", "sfge")]
    for predictor in ("network", "linear"):
        for data in ((), LAST):
            cell = partial(Cell, benchmark=SCHEDULE, data=data, predictor=predictor)
            found += [cell(method="pfl"), cell(method="shift"), cell(method=ours, budget=5)]
    return found


def _costs_of(name: str) -> Any:
    def decide(dataset: Benchmark) -> Array:
        return costs_of_net(name, dataset)

    return decide


NET_COSTS = {name: _costs_of(name) for name in (*NETS, SHUFFLED)}  # one function each, so that equal cells are equal


def _commitments(done: Sequence[Done]) -> list[Pair]:
    """PFL and the default, of each setting of the commitment."""
    settings = dict.fromkeys(each.cell.data for each in done if each.cell.benchmark == COMMITMENT)
    found = [pair(done, benchmark=COMMITMENT, data=data) for data in settings]
    return [both for both in found if both is not None]


def picture(done: Sequence[Done]) -> Any:
    """Forecasts, committed capacity and the load of one day."""
    from fewsolves_studies.benchmarks.real.commitment import ten_units
    from fewsolves_studies.real.figures import load_day

    pairs = _commitments(done)
    if not pairs:
        return None
    day = typical_day(pairs[0])
    capacity = {name: ten_units().most @ plan for name, plan in day.decisions.items()}
    return load_day(day, capacity, what="committed capacity", unit="in the data's units")


def sentences(done: Sequence[Done]) -> list[str]:
    """What is saved, the networks' gaps, and the hours of solving."""
    sentences = []
    nets = {name: one(done, method=name) for name in NETS}
    rmse, weighted, task = nets.values()
    if rmse is not None and weighted is not None and task is not None:
        sentences.append(
            f"Published networks, trained here: task {task.mean:.3f}, {100 * (1 - task.mean / rmse.mean):.1f} % below "
            f"RMSE ({rmse.mean:.3f}) and {100 * (1 - task.mean / weighted.mean):.1f} % below weighted "
            f"({weighted.mean:.3f}); printed are 38.6 % and 8.6 %."
        )
    for both in _commitments(done):
        sentences += _of_commitment(both, done)
    return sentences


def _of_commitment(both: Pair, done: Sequence[Done]) -> list[str]:
    """What is saved, hours of the solver, and what others make of theirs."""
    ours, days = both.ours, both.ours.result["rows"]["train"]
    here = [each for each in done if each.cell.setting == ours.cell.setting]
    seconds = float(np.median([each.result["test_seconds_per_day"] for each in here if each.cell.decide is None]))
    lines = [f"Commitment, {days} training days: {both.description()}; {both.by_day()}."]
    truth = one(here, method=TRUTH)
    if truth is not None:
        lost = both.pfl.mean - truth.mean
        lines.append(
            f"That is {100 * both.saved.mean / lost:.0f} % of what PFL costs more than knowing the load ({lost:.2f} a "
            f"day, {100 * lost / both.pfl.mean:.1f} % of its cost: no forecast gains more)."
        )
    lines.append(
        f"A commitment takes {seconds:.2f} s: {ours.solves * days * seconds / 60:.1f} minutes of solving, "
        f"{_hours(ours, seconds):.1f} hours for all {ALL_DAYS:,} days."
    )
    for method in ("pairs", "sfge"):
        runs = sorted((each for each in here if each.cell.method == method), key=lambda each: each.solves)
        lines += [_beside(each, ours) for each in runs]
        lines += [_hours_saved(runs, ours, seconds)] if len(runs) > 1 else []
    return lines


def _hours(run: Done, seconds: float) -> float:
    """Of solving, were all days trained on."""
    return run.solves * ALL_DAYS * seconds / 3600


def _beside(run: Done, ours: Done) -> str:
    mean, low, high = interval(run.costs - ours.costs)
    return (
        f"{run.cell.method} with {run.solves:.1f} solves per training day costs {run.mean:.2f}, {mean:+.2f} a day "
        f"against {default_method()} ({low:+.2f} to {high:+.2f})."
    )


def _hours_saved(runs: Sequence[Done], ours: Done, seconds: float) -> str:
    """Against the cheapest run of another method that is as good, or the dearest that is not."""
    as_good = [each for each in runs if each.mean <= ours.mean]
    run = as_good[0] if as_good else runs[-1]
    saved = _hours(run, seconds) - _hours(ours, seconds)
    return (
        f"{run.cell.method} is {'as good' if as_good else 'not as good even'} with {run.solves:.1f} solves per "
        f"training day: {'' if as_good else 'more than '}{saved:.1f} hours of solving saved on all {ALL_DAYS:,} days."
    )


STUDY = RealStudy(
    name=COMMITMENT,
    title="Generation for a zone of PJM",
    about="Cost of a test day. `pjm-schedule` is the published problem on all its days (639 tested), `pjm-commitment` "
    "the unit commitment on the year before the test, tested on every fourth day after it (160), and on the 100 days "
    "before it, tested on every eighth (80).",
    unit="cost of a day",
    cells=cells,
    published=[],
    frontiers=[
        Frontier("schedule, validation=last", f"{SCHEDULE},validation=last", "network", (*NETS, TRUTH)),
        Frontier("commitment, a year", f"{COMMITMENT},train_days=365,test_every=4", "network", (TRUTH,)),
        Frontier("commitment, 100 days", f"{COMMITMENT},train_days=100,test_every=8", "network", (TRUTH,)),
    ],
    picture=picture,
    sentences=sentences,
    slow=True,
)
