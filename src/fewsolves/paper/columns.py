"""Columns that the tables have in common, by their heads: a row is put together from them.

`mine`, `other`: results by dataset. What is missing leaves its cells empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fewsolves.paper.experiment import Dot
from fewsolves.paper.printed import Printed
from fewsolves.paper.statistics import Summary, paired, summary

Found = Mapping[int, Mapping[str, Any]]
Columns = dict[str, Any]


def mean(mine: Found, key: str) -> Summary | None:
    return summary([result[key] for result in mine.values()])


def regret(mine: Found, told: Printed | None) -> Columns:
    """Test regret, mean ± standard deviation, half of the 95 % interval of the mean, and the paper's."""
    found = mean(mine, "test_regret")
    half = found.half if found else None
    return {
        "datasets": len(mine),
        "test regret": found,
        "± 95 %": "" if half is None else f"{float(f'{half:.2g}'):,g}",
        "printed": told,
    }


def against(name: str, mine: Found, other: Found, key: str = "test_regret") -> Columns:
    """The paired comparison with another method: mean ratio, half of its 95 % interval, datasets won, Wilcoxon's p."""
    found = paired(mine, other, key) if mine != other else None  # not with itself
    half, p = (found.ratio.half, found.p) if found else (None, None)
    return {
        f"to {name}": f"{found.ratio.mean:.3f}" if found else "",
        f"± to {name}": "" if half is None else f"{half:.3f}",
        f"better than {name}": f"{found.won} of {found.of}" if found else "",
        f"p to {name}": "" if p is None else f"{p:.3f}",
    }


def gap_closed(mine: Found, pfl: Found, floor: Found) -> Columns:
    """The share of the way from PFL to the floor, on fresh rows."""
    ways = {d: pfl[d]["fresh_regret"] - floor[d]["absolute"] for d in mine if d in pfl and d in floor}
    shares = [(pfl[d]["fresh_regret"] - mine[d]["fresh_regret"]) / way for d, way in ways.items() if way > 0]
    found = summary(shares)
    return {
        "gap closed": f"{found.mean:.0%}" if found else "",
        "± gap": f"{found.half:.0%}" if found and found.half is not None else "",
    }


def asked_for(mine: Found, told: Printed | None) -> Columns:
    return {"evaluations": summary([evaluations(result) for result in mine.values()]), "printed calls": told}


def evaluations(result: Mapping[str, Any]) -> float:
    """The paper's count; methods that look at decisions and not at regrets are counted by their solves."""
    return float(max(result["evaluations_per_instance"], result["solves_per_instance"]))


def seconds(mine: Found) -> Columns:
    taken = [result["seconds"] for result in mine.values()]
    return {
        "seconds": summary([one["total"] for one in taken]),
        "in the solver": summary([one["solver"] for one in taken]),
        "rest": summary([one["total"] - one["solver"] for one in taken]),
    }


def dot(name: str, mine: Found, other: Found, told: float | None) -> Dot | None:
    """Test regret relative to that of another method, as a point of a figure; `told` is the printed ratio."""
    found = paired(mine, other, "test_regret")
    return found and Dot(name, found.ratio.mean, found.ratio.half, told)
