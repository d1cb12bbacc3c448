"""The sensitivity to beta, the std below which the surrogate is trusted."""

from __future__ import annotations

from fewsolves_studies.paper.experiment import FOUR, Exhibits, Experiment, Size
from fewsolves_studies.paper.experiments.variants import Variant, points, row, trials
from fewsolves_studies.paper.tables import PaperTable
from fewsolves_studies.paper.trial import Results, Trial

METHOD = "gp-surrogate-paper"  # its beta is 1
VARIANTS = [
    Variant(f"{beta:g}", METHOD, {"beta": beta} if beta != 1.0 else {}, f"{METHOD}, beta={beta}", f"beta={beta}")
    for beta in (0.01, 0.05, 0.1, 0.5, 1.0)
]


def planned(size: Size) -> list[Trial]:
    return trials(size, VARIANTS)


def show(results: Results, size: Size) -> Exhibits:
    from fewsolves_studies.paper.figures import curves

    rows = [row(results, size, benchmark, one, "beta", "sensitivity") for benchmark in FOUR for one in VARIANTS]
    figure = curves(points(results, size, VARIANTS, "sensitivity"), of="Relative to PFL", along="beta")
    return Exhibits(
        {
            "sensitivity": PaperTable(
                "Regret and evaluations by beta",
                rows,
                "With the paper's settings: beta is a std of standardised regret.",
            )
        },
        {"sensitivity": (figure, "Test regret by beta.")},
    )


EXPERIMENT = Experiment(
    name="sensitivity",
    title="Sensitivity to beta",
    about="The less a surrogate is trusted, the more is paid; does it help?",
    trials=planned,
    show=show,
)
