"""The restaurant: seven dishes each for themselves beside the published figures, then in one kitchen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from fewsolves.demo.benchmark import Benchmark
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.real.yaz import DISHES
from fewsolves_studies.real.bootstrap import interval
from fewsolves_studies.real.cell import Cell, Done, Options, default_method, one, options
from fewsolves_studies.real.compare import pair, typical_day
from fewsolves_studies.real.run import knowing_the_truth
from fewsolves_studies.real.study import Frontier, Published, RealStudy

PLAIN, KITCHEN = "yaz-newsvendor", "yaz-kitchen"
SERVICE = (0.9, 0.75, 0.5)
DEFAULTS: dict[str, Options] = {PLAIN: (), KITCHEN: (("service", 0.9),)}  # that a setting does not name
QUANTILE, FOREST, TRUTH = "quantiles of the past", "forest weights", "true demand"
PRINTED = {  # sum over the dishes of the mean cost of a day, 185 days
    "quantiles of the past": (101.20, 168.51, 194.65),
    "linear, with leaking lags": (80.54, 132.22, 163.25),
    "deep, with leaking lags": (78.36, 130.13, 164.66),
    "forest weights, with leaking lags": (66.13, 111.01, 140.11),
    "forest weights, calendar only": (92.55, 152.47, 184.03),
    "nearest neighbours, calendar only": (88.27, 144.99, 176.97),
}


def quantiles(dataset: Benchmark) -> Array:
    """Sample average approximation: of each dish the quantile of all demands before the test."""
    assert dataset.split is not None and dataset.problem.cost_batch is not None
    past = np.concatenate([dataset.split.train, dataset.split.valid])
    service = float(str(dataset.options["service"]))
    order = np.quantile(dataset.Y[past], service, axis=0, method="inverted_cdf")
    test = dataset.Y[dataset.split.test]
    costs: Array = dataset.problem.cost_batch(test, np.tile(order, (len(test), 1)))
    return costs


def forest_weights(dataset: Benchmark) -> Array:
    """The best published policy on our features: of each dish the quantile of past demands, weighted by a forest.

    A past day weighs as much as the trees put it into the same leaf as the day to be decided.
    """
    from sklearn.ensemble import RandomForestRegressor

    assert dataset.split is not None and dataset.problem.cost_batch is not None
    past, test = np.concatenate([dataset.split.train, dataset.split.valid]), dataset.split.test
    service = float(str(dataset.options["service"]))
    order = np.empty((len(test), len(DISHES)))
    for dish, demand in enumerate(dataset.Y[past].T):
        forest = RandomForestRegressor(100, min_samples_split=16, random_state=0).fit(dataset.X[past], demand)
        leaves, seen = forest.apply(dataset.X[test]), forest.apply(dataset.X[past])
        weights = np.zeros((len(test), len(past)))
        for here, there in zip(leaves.T, seen.T, strict=True):
            same = here[:, None] == there
            weights += same / same.sum(axis=1, keepdims=True)
        ranked = np.argsort(demand, kind="stable")
        reached = np.cumsum(weights[:, ranked], axis=1) >= service * weights.sum(axis=1, keepdims=True) - 1e-9
        order[:, dish] = demand[ranked][reached.argmax(axis=1)]
    costs: Array = dataset.problem.cost_batch(dataset.Y[test], order)
    return costs


def cells(quick: bool) -> list[Cell]:
    """Three service levels of the newsvendor, also with the published lags, and the kitchen.

    With `validation=last` once more: the last fifth of the days is validated on instead of every fifth week.
    """
    few = (("train_days", 120), ("test_days", 30)) if quick else ()
    found = [Cell(benchmark=KITCHEN, data=few, method=TRUTH, decide=knowing_the_truth), *_methods(KITCHEN, few, quick)]
    for service in SERVICE[:1] if quick else SERVICE:
        data = options(service=service) + few
        found += [Cell(benchmark=PLAIN, data=data, method=QUANTILE, decide=quantiles)]
        found += [Cell(benchmark=PLAIN, data=data, method=FOREST, decide=forest_weights)]
        found += _methods(PLAIN, data, quick)
    for service in () if quick else SERVICE:
        data = options(service=service, lags="published")
        found += [Cell(benchmark=PLAIN, data=data, method=FOREST, decide=forest_weights)]
        for predictor in ("network", "linear"):
            cell = partial(Cell, benchmark=PLAIN, data=data, predictor=predictor)
            found += [cell(method="pfl"), cell(method="shift"), cell(method=default_method(), budget=8)]
    for benchmark in () if quick else (PLAIN, KITCHEN):
        for service in SERVICE if benchmark == PLAIN else SERVICE[:1]:
            data = options(service=service, validation="last")
            cell = partial(Cell, benchmark=benchmark, data=data, predictor="network")
            found += [cell(method="pfl"), cell(method="shift"), cell(method=default_method(), budget=8)]
    return found


def _methods(benchmark: str, data: Options, quick: bool) -> list[Cell]:
    ours, found = default_method(), []
    for predictor in ("network",) if quick else ("network", "linear"):
        cell = partial(Cell, benchmark=benchmark, data=data, predictor=predictor)
        kept = benchmark == KITCHEN and predictor == "network"
        found += [cell(method="pfl", plans=kept), cell(method="shift"), cell(method=ours, budget=8, plans=kept)]
        if not quick and predictor == "network" and ("service", 0.9) in (*data, *DEFAULTS[benchmark]):
            found += [cell(method=ours, budget=budget) for budget in (4, 16)]
            found += [cell(method=method, budget=k) for method in ("pairs", "sfge") for k in (8, 64)]
    return found


def picture(done: Sequence[Done]) -> Any:
    """Forecasts, portions and demands of one day in the kitchen."""
    from fewsolves_studies.real.figures import kitchen_day

    both = pair(done, benchmark=KITCHEN)
    return None if both is None else kitchen_day(typical_day(both), DISHES)


def sentences(done: Sequence[Done]) -> list[str]:
    """The worth of windows that know the day; what the trained forecast does differently in the kitchen, and saves."""
    lines = [sentence for service in SERVICE for sentence in _of_the_leak(done, service)]
    both = pair(done, benchmark=KITCHEN)
    if both is not None:
        dishes = zip(DISHES, both.change.mean(axis=0), strict=True)
        by_dish = ", ".join(f"{name} {change:+.1f}" for name, change in dishes)
        lines.append(f"In the kitchen {both.description(' portions')}: {by_dish}; {both.by_day()}.")
    return lines


def _of_the_leak(done: Sequence[Done], service: float) -> list[str]:
    """The same forest on the same days, with windows of either kind."""
    kinds = options(service=service), options(service=service, lags="published")
    known, leaking = (one(done, benchmark=PLAIN, data=data, method=FOREST) for data in kinds)
    if known is None or leaking is None:
        return []
    mean, low, high = interval(known.costs - leaking.costs)
    return [
        f"Service level {service}: forest weights cost {leaking.mean:.1f} with windows that end with the day itself, "
        f"as published, and {known.mean:.1f} with windows that end the day before, {mean:.1f} more "
        f"({low:.1f} to {high:.1f})."
    ]


STUDY = RealStudy(
    name=KITCHEN,
    title="Seven dishes of a restaurant",
    about="Cost of a test day, summed over the dishes (185 days). Published figures with leaking lags use windows that "
    "end with the day itself, whose demand nobody knows in the morning; settings with lags=published do the same.",
    unit="cost of a day",
    cells=cells,
    published=[
        Published(name, f"{PLAIN},service={service}" + (",lags=published" if "leaking" in name else ""), costs[k])
        for name, costs in PRINTED.items()
        for k, service in enumerate(SERVICE)
    ],
    frontiers=[
        Frontier(
            "newsvendor, service 0.9, network",
            f"{PLAIN},service=0.9",
            "network",
            ("nearest neighbours, calendar only", FOREST),
        ),
        Frontier("one kitchen, network", KITCHEN, "network"),
    ],
    picture=picture,
    sentences=sentences,
)
