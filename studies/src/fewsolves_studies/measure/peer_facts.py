"""Who wins where beside other libraries, from results/peers and results/pyepo: sentences and tables for the pages.

A case is a problem and a number of solves per row: a column of the tables in results/. The winner has the lowest mean
regret over datasets; "level" is a method whose mean is above the lowest by no more than its own standard error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from fewsolves_studies.benchmarks.study import Result, Study
from fewsolves_studies.measure import beside_peers, beside_pyepo
from fewsolves_studies.measure.frontier_tables import markdown

DEFAULT, START = "staged", "least squares"
Runs = Mapping[tuple[str, str], Sequence[Result]]  # by method and column
Columns = dict[str, dict[str, np.ndarray]]  # regret in percent by dataset, by column and method


def peer_facts(results: Path) -> Iterator[tuple[str, str]]:
    """Of the public shapes."""
    found = beside_peers.reported(Study(results / "peers").read(), beside_peers.BUDGETS)
    columns = columns_of(found)
    yield from _facts_of("peers", columns)
    yield "peers.datasets", str(min(len(some) for some in found.values()))
    yield "peers.methods", str(len({method for method, _ in found} - {START}))
    yield "peers.table", markdown(_by_problem(columns))


def pyepo_facts(results: Path) -> Iterator[tuple[str, str]]:
    """Of PyEPO's own data."""
    runs = Study(results / "pyepo").read()
    found = beside_pyepo.reported(runs, beside_pyepo.BUDGETS)
    columns = columns_of(found)
    yield from _facts_of("pyepo", columns)
    for key, method in (("default", DEFAULT), ("spo", beside_pyepo.FASTER)):
        above = [by_method[method].mean() - by_method["SPO+"].mean() for by_method in columns.values()]
        yield f"pyepo.{key}-above", f"{min(above):.2f} to {max(above):.2f}"
    yield "pyepo.table", markdown(beside_pyepo.table(runs, beside_pyepo.BUDGETS))


def columns_of(found: Runs) -> Columns:
    """The regrets of all methods, column by column."""
    made: Columns = {}
    for (method, column), some in found.items():
        made.setdefault(column, {})[method] = 100 * np.array([result["regret"] for result in some])
    return made


def _facts_of(study: str, columns: Columns) -> Iterator[tuple[str, str]]:
    wins = Counter(ranked(by_method)[0] for by_method in columns.values())
    (first, number), *others = wins.most_common()
    listed = [f"{_named(first)} in {number} of {len(columns)} cases"]
    listed += [f"{_named(method)} in {number}" for method, number in others]
    yield f"{study}.winners", ", ".join(listed)
    level = [by_method for by_method in columns.values() if _level(by_method)]
    yield f"{study}.level", f"{len(level)} of {len(columns)}"
    worse = [column for column, some in columns.items() if some[DEFAULT].mean() > some[START].mean()]
    yield f"{study}.worse", ", ".join(f"`{column}`" for column in worse) or "no case"


def ranked(by_method: Mapping[str, np.ndarray]) -> list[str]:
    """Methods by mean regret, the lowest first."""
    return sorted(by_method, key=lambda method: float(by_method[method].mean()))


def _level(by_method: Mapping[str, np.ndarray]) -> bool:
    own, lowest = by_method[DEFAULT], by_method[ranked(by_method)[0]]
    return bool(own.mean() - lowest.mean() <= _error(own))


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _by_problem(columns: Columns) -> list[dict[str, str]]:
    """One line per problem, one cell per budget: the default, and the best of the others."""
    rows: dict[str, dict[str, str]] = {}
    for column, by_method in columns.items():
        problem, _, budget = column.rpartition(" @ ")
        other = next(method for method in ranked(by_method) if method != DEFAULT)
        texts = [_entry(by_method, method) for method in sorted((DEFAULT, other), key=ranked(by_method).index)]
        rows.setdefault(problem, {"": problem})[f"{budget} solves per row"] = "; ".join((f"**{texts[0]}**", texts[1]))
    return list(rows.values())


def _entry(by_method: Mapping[str, np.ndarray], method: str) -> str:
    values = by_method[method]
    return f"{_named(method)} {values.mean():.2f} ± {_error(values):.2f}"


def _named(method: str) -> str:
    ours = {*beside_peers.OURS, *beside_pyepo.OURS, beside_peers.VERTICES}
    theirs = method if method.startswith(("PyEPO", "PyDFLT")) else f"PyEPO {method}"
    return (
        "the default"
        if method == DEFAULT
        else method
        if method == START
        else f"`{method}`"
        if method in ours
        else theirs
    )
