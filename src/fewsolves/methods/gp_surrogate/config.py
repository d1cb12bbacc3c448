"""Settings of the GP surrogate: ours, and the paper's."""

from __future__ import annotations

from fewsolves.errors import InputError
from fewsolves.methods.gp_surrogate.fallback import FallbackName
from fewsolves.methods.gp_surrogate.surrogate import design
from fewsolves.methods.gp_surrogate.surrogate.regret import SurrogateConfig
from fewsolves.settings import setting, settings

REACH = 0.6  # length-scales: a draw this far away is informative, and still correlated with the prediction


@settings
class GPSurrogateConfig(SurrogateConfig):
    """Settings of the GP surrogate; `PAPER` has the paper's."""

    design: design.Kind = setting(
        "where each example is evaluated before training; 'box' is the paper's", default="near"
    )
    points: int | None = setting(
        "evaluations of each example before training; None: the paper's number, logarithmic in n_y",
        default=4,
        least=1,
    )
    spread: float = setting(
        "how far around the start they lie, in standard deviations of each parameter", default=0.15, above=0
    )
    beta: float = setting("trust the surrogate where its std is below this", default=0.35, above=0)
    relative_beta: bool = setting(
        "beta is a share of the std before anything was known; False: of standardised regret (paper)", default=True
    )
    sober: bool = setting(
        "do not follow the mean where it is clearly below the least regret seen for the example", default=True
    )
    pessimism: float = setting("how many std are added to the mean", default=0.5, least=0)
    differentiate: bool = setting(
        "differentiate through the surrogate; False: only its value, by score function gradients (ablation)",
        default=True,
    )
    fallback: FallbackName = setting("what happens where it is not trusted; 'sfge' is the paper's", default="acquire")
    sigma: float | None = setting(
        f"std of the paid draws around the prediction; None: {REACH} length-scales away", default=None, above=0
    )
    correction: float = setting(
        "with 'acquire': share of the score function, corrected by the surrogate; 1: unbiased",
        default=0.0,
        least=0,
        most=1,
    )
    train_sigma: bool = setting("train sigma with the predictor, as SFGE does", default=False)

    def __post_init__(self) -> None:
        if self.sharing and self.design != "box":
            raise InputError("sharing compares regrets at points common to all examples; it needs design='box'")


PAPER = GPSurrogateConfig(
    pooled=False,
    smoothing="samples",
    design="box",
    points=None,
    beta=1.0,
    relative_beta=False,
    sober=False,
    pessimism=0.0,
    fallback="sfge",
    sigma=0.1,
    train_sigma=True,
    most_points=None,
)
