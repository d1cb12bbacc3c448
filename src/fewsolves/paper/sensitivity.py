"""The sensitivity to beta, the std below which the surrogate is trusted."""

from __future__ import annotations

from typing import Any

from fewsolves.paper.columns import against, asked_for, dot, regret
from fewsolves.paper.experiment import FOUR, Dot, Experiment, Outcome, Size, Table
from fewsolves.paper.printed import printed, to_printed_pfl
from fewsolves.paper.task import Results, Task

BETAS = (0.01, 0.05, 0.1, 0.5, 1.0)


def _label(beta: float) -> str:
    return "gp-surrogate-paper" if beta == 1.0 else f"gp-surrogate-paper, beta={beta}"  # 1 is a run of Q1


def tasks(size: Size) -> list[Task]:
    made = []
    for benchmark in FOUR:
        for dataset in size.seeds:
            made.append(size.task(benchmark, "pfl", dataset))
            for beta in BETAS:
                changed = {"beta": beta} if beta != 1.0 else {}
                label = _label(beta) if changed else ""
                made.append(size.task(benchmark, "gp-surrogate-paper", dataset, label=label, settings=changed))
    return made


def show(results: Results, size: Size) -> Outcome:
    from fewsolves.paper.figures import curves

    rows = [_row(results, size, benchmark, beta) for benchmark in FOUR for beta in BETAS]
    note = "With the paper's settings: beta is a std of standardised regret."
    points = {b: [dot for beta in BETAS if (dot := _dot(results, size, b, beta))] for b in FOUR}
    return Outcome(
        {"sensitivity": Table("Regret and evaluations by beta", rows, note)},
        {"sensitivity": (curves(points, of="Relative to PFL", along="beta"), "Test regret by beta.")},
    )


def _dot(results: Results, size: Size, benchmark: str, beta: float) -> Dot | None:
    mine, pfl = (results.of(one, size.setting(benchmark)) for one in (_label(beta), "pfl"))
    told = printed("sensitivity_regret", f"beta={beta}", benchmark)
    return dot(f"{beta:g}", mine, pfl, to_printed_pfl(told, benchmark))


def _row(results: Results, size: Size, benchmark: str, beta: float) -> dict[str, Any]:
    mine, pfl = (results.of(one, size.setting(benchmark)) for one in (_label(beta), "pfl"))
    told, calls = (printed(f"sensitivity_{what}", f"beta={beta}", benchmark) for what in ("regret", "solver_calls"))
    return {
        "benchmark": benchmark,
        "beta": f"{beta:g}",
        **regret(mine, told),
        **against("PFL", mine, pfl),
        **asked_for(mine, calls),
    }


EXPERIMENT = Experiment(
    name="sensitivity",
    title="Sensitivity to beta",
    about="The less a surrogate is trusted, the more is paid; does it help?",
    tasks=tasks,
    show=show,
)
