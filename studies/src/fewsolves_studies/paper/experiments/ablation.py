"""The ablation: smoothing, pre-training, sample sharing and differentiation switched off one at a time.

The paper's full model has sample sharing on. "Pre-training off" keeps one point per example, because the units of the
surrogate come from there.
"""

from __future__ import annotations

from fewsolves_studies.paper.experiment import FOUR, Exhibits, Experiment, Size
from fewsolves_studies.paper.experiments.variants import Variant, points, row, trials
from fewsolves_studies.paper.tables import PaperTable
from fewsolves_studies.paper.trial import Results, Trial

PAPERS, OURS = "gp-surrogate-paper", "gp-surrogate"
VARIANTS = [
    Variant("full model", PAPERS, {"sharing": True}),
    Variant("smoothing off", PAPERS, {"sharing": True, "smoothing": "off"}),
    Variant("pretrain off", PAPERS, {"sharing": True, "points": 1}),
    Variant("sample sharing off", PAPERS),
    Variant("differentiation off", PAPERS, {"sharing": True, "differentiate": False}),
    Variant(OURS, OURS),
    Variant("ours, smoothing on", OURS, {"smoothing": "centres"}),
    Variant("ours, pretrain off", OURS, {"points": 1}),
    Variant("ours, differentiation off", OURS, {"differentiate": False}),
    Variant("ours, pessimism off", OURS, {"pessimism": 0.0}),
]


def planned(size: Size) -> list[Trial]:
    return trials(size, VARIANTS)


def show(results: Results, size: Size) -> Exhibits:
    from fewsolves_studies.paper.figures import dots

    rows = [row(results, size, benchmark, one, "variant", "ablation") for benchmark in FOUR for one in VARIANTS]
    figure = dots(points(results, size, VARIANTS, "ablation"), of="Test regret relative to PFL")
    return Exhibits(
        {"ablation": PaperTable("One part switched off at a time: ours beside the printed figures", rows)},
        {"ablation": (figure, "One part switched off at a time.")},
    )


EXPERIMENT = Experiment(
    name="ablation",
    title="Ablation",
    about="The paper's settings with one part changed, and the same for gp-surrogate.",
    trials=planned,
    show=show,
)
