"""Figure 1: a regret that is flat between steps, smoothed by importance sampling for several sigma."""

from __future__ import annotations

from fewsolves_studies.benchmarks.regret_landscapes import smoothing_by_importance
from fewsolves_studies.paper.experiment import Exhibits, Experiment, Size
from fewsolves_studies.paper.tables import PaperTable
from fewsolves_studies.paper.trial import Results, Trial

SIGMAS = (0.1, 0.3, 0.8)


def trials(size: Size) -> list[Trial]:
    return []  # computed from a function that is known: nothing is trained


def show(results: Results, size: Size) -> Exhibits:
    from fewsolves.reporting import figures

    picture = smoothing_by_importance(SIGMAS)
    levels = {"raw": picture["regret"], **{f"{sigma:g}": picture["smoothed"][sigma] for sigma in SIGMAS}}
    rows = [
        {"sigma": name, "largest change between neighbours": f"{abs(values[1:] - values[:-1]).max():.3f}"}
        for name, values in levels.items()
    ]
    caption = "A stepwise regret and its smoothed versions, from one set of samples drawn from Normal distributions."
    return Exhibits(
        {"smoothing": PaperTable("How steep what remains is", rows, "On a grid of 241 points over [-3, 3].")},
        {"smoothing": (figures.smoothing(**picture), caption)},
    )


EXPERIMENT = Experiment(
    name="smoothing",
    title="Figure 1: stochastic smoothing",
    about="Larger sigma, smoother regret; one set of paid points serves every sigma.",
    trials=trials,
    show=show,
)
