"""Settings of the default."""

from __future__ import annotations

from fewsolves.methods.base import START_EPOCHS, WARM_START
from fewsolves.settings import setting, settings


@settings
class StagedConfig:
    """Settings of the default."""

    solves: float | None = setting(
        "solves per row after the labels, evidence included; None: what the budget allows", default=None, least=0
    )
    most: float = setting("maximum solves per row if neither `solves` nor a budget is given", default=32.0, above=0)
    cost_calls: float | None = setting(
        "cost calls at known decisions per solve, at most; None: 6,000 with cost_batch, 800 without",
        default=None,
        least=0,
    )
    solves_at_once: int | None = setting(
        "solves that training requests together, for many workers; 16 per worker keep them busy; None: those of a step",
        default=None,
        least=1,
    )


@settings
class StagedStart:
    """Settings of its prediction-focused start; its evidence is its guard."""

    warm_start: bool | None = setting(WARM_START, default=None)
    start_epochs: int | None = setting(START_EPOCHS, default=None, least=0)
