"""Variants of the GP surrogate beside the paper's: the rows and points of the ablation and of the sensitivity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fewsolves_studies.paper.experiment import FOUR, Size
from fewsolves_studies.paper.tables import (
    Dot,
    against,
    dot,
    evaluation_columns,
    gap_closed,
    printed,
    regret,
    to_printed_pfl,
)
from fewsolves_studies.paper.trial import FLOOR, Results, Trial

REFERENCES = (FLOOR, "pfl", "sfge")


class Variant(NamedTuple):
    """A method with settings changed; unchanged it is a run of Q1."""

    shown: str  # in our tables
    method: str
    settings: Mapping[str, Any] = {}
    label: str = ""  # of its runs, where that is not what is shown
    published_as: str = ""  # in the paper's tables, where that is not what is shown

    @property
    def name(self) -> str:
        return (self.label or self.shown) if self.settings else self.method


def trials(size: Size, variants: list[Variant]) -> list[Trial]:
    made = []
    for benchmark in FOUR:
        for dataset in size.seeds:
            made += [size.trial(benchmark, method, dataset) for method in REFERENCES]
            for one in variants:
                label = one.name if one.settings else ""
                made.append(size.trial(benchmark, one.method, dataset, label=label, settings=one.settings))
    return made


def row(results: Results, size: Size, benchmark: str, one: Variant, head: str, table: str) -> dict[str, Any]:
    where = size.setting(benchmark)
    mine, floor, pfl, sfge = (results.of(name, where) for name in (one.name, *REFERENCES))
    published, calls = (
        printed(f"{table}_{what}", one.published_as or one.shown, benchmark) for what in ("regret", "solver_calls")
    )
    ratio = to_printed_pfl(published, benchmark)
    return {
        "benchmark": benchmark,
        head: one.shown,
        **regret(mine, published),
        **against("PFL", mine, pfl),
        "printed to PFL": "" if ratio is None else f"{ratio:.2f}",
        **against("SFGE", mine, sfge),
        **gap_closed(mine, pfl, floor),
        **evaluation_columns(mine, calls),
    }


def points(results: Results, size: Size, variants: list[Variant], table: str) -> dict[str, list[Dot]]:
    """Of each benchmark: the regret of the variants relative to PFL."""

    def point(benchmark: str, one: Variant) -> Dot | None:
        mine, pfl = (results.of(name, size.setting(benchmark)) for name in (one.name, "pfl"))
        published = to_printed_pfl(printed(f"{table}_regret", one.published_as or one.shown, benchmark), benchmark)
        return dot(one.shown, mine, pfl, published)

    return {b: [found for one in variants if (found := point(b, one))] for b in FOUR}
