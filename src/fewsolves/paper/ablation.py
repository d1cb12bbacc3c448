"""The ablation: smoothing, pre-training, sample sharing and differentiation switched off one at a time.

The paper's full model has sample sharing on. "Pre-training off" keeps one point per example, because the units of the
surrogate come from there.
"""

from __future__ import annotations

from typing import Any

from fewsolves.paper.columns import against, asked_for, dot, regret
from fewsolves.paper.experiment import FOUR, Dot, Experiment, Outcome, Size, Table
from fewsolves.paper.printed import printed, to_printed_pfl
from fewsolves.paper.task import Results, Task

PAPERS: dict[str, dict[str, Any]] = {
    "full model": {"sharing": True},
    "smoothing off": {"sharing": True, "smoothing": "off"},
    "pretrain off": {"sharing": True, "points": 1},
    "sample sharing off": {},
    "differentiation off": {"sharing": True, "differentiate": False},
}
OURS: dict[str, dict[str, Any]] = {
    "our default": {},
    "ours, smoothing on": {"smoothing": "centres"},
    "ours, pretrain off": {"points": 1},
    "ours, differentiation off": {"differentiate": False},
    "ours, pessimism off": {"pessimism": 0.0},
}


def tasks(size: Size) -> list[Task]:
    made = []
    for benchmark in FOUR:
        for dataset in size.seeds:
            made.append(size.task(benchmark, "pfl", dataset))
            for method, variants in (("gp-surrogate-paper", PAPERS), ("gp-surrogate", OURS)):
                for label, settings in variants.items():
                    same = label if settings else ""  # the unchanged method is a run of Q1
                    made.append(size.task(benchmark, method, dataset, label=same, settings=settings))
    return made


def show(results: Results, size: Size) -> Outcome:
    from fewsolves.paper.figures import dots

    named = [(label, label if change else "gp-surrogate-paper") for label, change in PAPERS.items()]
    named += [(label, label if change else "gp-surrogate") for label, change in OURS.items()]
    rows = [_row(results, size, benchmark, label, name) for benchmark in FOUR for label, name in named]
    points = {b: [dot for label, name in named if (dot := _dot(results, size, b, label, name))] for b in FOUR}
    return Outcome(
        {"ablation": Table("One part switched off at a time: ours beside the printed figures", rows)},
        {"ablation": (dots(points, of="Test regret relative to PFL"), "One part switched off at a time.")},
    )


def _dot(results: Results, size: Size, benchmark: str, label: str, name: str) -> Dot | None:
    mine, pfl = (results.of(one, size.setting(benchmark)) for one in (name, "pfl"))
    return dot(label, mine, pfl, to_printed_pfl(printed("ablation_regret", label, benchmark), benchmark))


def _row(results: Results, size: Size, benchmark: str, label: str, name: str) -> dict[str, Any]:
    mine, pfl = (results.of(one, size.setting(benchmark)) for one in (name, "pfl"))
    told, calls = (printed(f"ablation_{what}", label, benchmark) for what in ("regret", "solver_calls"))
    ratio = to_printed_pfl(told, benchmark)
    return {
        "benchmark": benchmark,
        "variant": label,
        **regret(mine, told),
        **against("PFL", mine, pfl),
        "printed to PFL": "" if ratio is None else f"{ratio:.2f}",
        **asked_for(mine, calls),
    }


EXPERIMENT = Experiment(
    name="ablation",
    title="Ablation",
    about="The paper's settings with one part changed, and the same for our default.",
    tasks=tasks,
    show=show,
)
