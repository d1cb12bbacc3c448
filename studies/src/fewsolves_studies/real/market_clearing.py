"""Market clearing: what a dispatch that is trained for its cost saves, beside the prescriptive trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from fewsolves.demo.benchmark import Benchmark
from fewsolves.problem import Array
from fewsolves_studies.benchmarks.real.market_clearing import BOUNDARY, STARTS, hourly_loads
from fewsolves_studies.benchmarks.real.tables import HOURS
from fewsolves_studies.real.cell import BOOSTED, FEW_COST_CALLS, Cell, Done, default_method, options
from fewsolves_studies.real.compare import Pair, pair, typical_day
from fewsolves_studies.real.run import costs_of, knowing_the_truth
from fewsolves_studies.real.study import Frontier, Published, RealStudy

NAME = "market-clearing"
MONTHS = (6, 12, 18)
FOREST = "forest, then dispatch"
TRUTH = "true loads"
PRINTED = {  # mean daily cost of 301 days, by months of training
    "prescriptive trees": (265_902.0, 245_322.0, 245_091.0),
    "deterministic": (396_658.0, 277_377.0, 273_105.0),
    "stochastic, 100 scenarios": (384_362.0, 272_081.0, 271_439.0),
}


def forest(dataset: Benchmark) -> Array:
    """The published deterministic policy: a random forest of temperature, weekday, hour and month, hour by hour."""
    from sklearn.ensemble import RandomForestRegressor

    assert dataset.split is not None
    days, loads, temperature = hourly_loads()
    day, hour = np.repeat(days, HOURS), np.tile(np.arange(HOURS), len(days))
    weekday, month = (day.astype(int) + 3) % 7, day.astype("datetime64[M]").astype(int) % 12 + 1
    X = np.column_stack([temperature.ravel(), weekday, hour, month])
    first = np.datetime64(STARTS[int(str(dataset.options["months"]))])
    past = (day >= first) & (day < np.datetime64(BOUNDARY))
    model = RandomForestRegressor(200, min_samples_leaf=2, random_state=0).fit(X[past], loads.ravel()[past])
    test = np.isin(day, dataset.source.days[dataset.split.test])  # type: ignore[attr-defined]
    return costs_of(dataset, model.predict(X[test]).reshape(-1, HOURS))


def cells(quick: bool) -> list[Cell]:
    """PFL, shift and the default with 8 solves a day on each period; on a year others and other budgets too."""
    ours, found = default_method(), []
    periods = [options(months=6, test_days=10)] if quick else [options(months=months) for months in MONTHS]
    for data in periods:
        found += [Cell(benchmark=NAME, data=data, method=TRUTH, decide=knowing_the_truth)]
        found += [] if quick else [Cell(benchmark=NAME, data=data, method=FOREST, decide=forest)]
    for predictor in ("network",) if quick else ("network", "linear"):
        for data in periods:
            cell = partial(Cell, benchmark=NAME, data=data, predictor=predictor)
            kept = predictor == "network"
            few = FEW_COST_CALLS if quick else ()
            found += [cell(method="pfl", plans=kept), cell(method="shift")]
            found += [cell(method=ours, budget=8, plans=kept, settings=few)]
            if kept and ("months", 12) in data:
                found += [cell(method=ours, budget=budget) for budget in (4, 16)]
                found += [cell(method=method, budget=budget) for method in ("pairs", "sfge") for budget in (8, 32)]
    for data in () if quick else periods:
        cell = partial(Cell, benchmark=NAME, data=data, predictor=BOOSTED)
        found += [cell(method="pfl"), cell(method=ours, budget=8)]
    return found


def _pairs(done: Sequence[Done]) -> dict[int, Pair]:
    """By months of training."""
    found = {months: pair([each for each in done if ("months", months) in each.cell.data]) for months in MONTHS}
    return {months: both for months, both in found.items() if both is not None}


def picture(done: Sequence[Done]) -> Any:
    """Forecasts, plans and the truth of one day, by what was trained on a year; of the quick size on what there is."""
    from fewsolves_studies.real.figures import load_day

    pairs = _pairs(done)
    if not pairs:
        return None
    day = typical_day(pairs.get(12) or pairs[max(pairs)])
    plans = {name: plan.sum(axis=1) for name, plan in day.decisions.items()}
    return load_day(day, plans, what="plan", unit="MW")


def sentences(done: Sequence[Done]) -> list[str]:
    """What the trained forecast does differently, and what it saves."""
    return [
        f"{months} months: {both.description(' MW')}, {both.change[:, :6].mean():+.0f} from 0 to 6 h, "
        f"{both.change[:, 15:21].mean():+.0f} from 15 to 21 h; {both.by_day()}."
        for months, both in _pairs(done).items()
    ]


STUDY = RealStudy(
    name=NAME,
    title="Market clearing on real loads",
    about="Mean cost of a test day (301 days of 2011): a day-ahead dispatch for predicted loads and its correction in "
    "real time. Solves per training day are all that were paid but for the test: labels, training and validation.",
    unit="cost of a day",
    cells=cells,
    published=[
        Published(name, f"{NAME},months={months}", costs[k])
        for name, costs in PRINTED.items()
        for k, months in enumerate(MONTHS)
    ],
    frontiers=[
        Frontier("a year of training, network", f"{NAME},months=12", "network", ("prescriptive trees", TRUTH)),
        Frontier("18 months, network", f"{NAME},months=18", "network", ("prescriptive trees", TRUTH)),
    ],
    picture=picture,
    sentences=sentences,
)
