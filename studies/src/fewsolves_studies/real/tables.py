"""The table of a study: a line per run, with its cost, the difference to PFL, and what was published beside it."""

from __future__ import annotations

from collections.abc import Sequence

from fewsolves_studies.real.bootstrap import interval
from fewsolves_studies.real.cell import Done, one
from fewsolves_studies.real.study import RealStudy

HEADS = (
    "setting", "policy", "predictor", "cost", "95 %", "less than PFL", "95 %, paired", "share of PFL",
    "solves per training day", "of them in training", "cost calls", "solver s per day", "commit",
)  # fmt: skip


def lines(study: RealStudy, done: Sequence[Done]) -> list[dict[str, str]]:
    """By setting: what was published, the references, then the runs in the order of the cells."""
    found: list[dict[str, str]] = []
    for setting in dict.fromkeys(each.cell.setting for each in done):
        here = [each for each in done if each.cell.setting == setting]
        found += [
            {"setting": setting, "policy": f"{one.name} (published)", "cost": number(one.cost)}
            for one in study.published
            if one.setting == setting
        ]
        for each in sorted(here, key=lambda each: each.cell.decide is None):
            found.append(_line(each, here))
    return found


def _line(each: Done, here: Sequence[Done]) -> dict[str, str]:
    cell, result = each.cell, each.result
    whole = interval(each.costs)
    line = {"setting": cell.setting, "policy": cell.method, "predictor": cell.predictor, "cost": number(each.mean)}
    line |= {"95 %": f"{number(whole.low)} to {number(whole.high)}", "commit": str(result.get("commit") or "")}
    if cell.decide is not None:
        return line
    line |= {
        "policy": cell.method + (f", budget {cell.budget}" if cell.budget else ""),
        "solves per training day": f"{each.solves:.1f}",
        "of them in training": f"{result['solves_per_instance']:.1f}",
        "cost calls": f"{result['cost_calls_per_instance']:,.0f}",
        "solver s per day": f"{result['test_seconds_per_day']:.2g}",
    }
    pfl = one(here, method="pfl", predictor=cell.predictor)
    if pfl is not None and pfl is not each:
        saved = interval(pfl.costs - each.costs)
        line |= {"less than PFL": number(saved.mean), "95 %, paired": f"{number(saved.low)} to {number(saved.high)}"}
        line |= {"share of PFL": f"{each.mean / pfl.mean:.3f}"}
    return line


def number(value: float) -> str:
    """Four digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def markdown(rows: Sequence[dict[str, str]], heads: Sequence[str] = HEADS) -> str:
    shown = [list(heads), ["---"] * len(heads), *([row.get(head, "") for head in heads] for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in shown) + "\n"
