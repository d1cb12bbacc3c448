"""No setting of any method is accepted and ignored."""

import pytest

from fewsolves.methods.registry import METHODS
from fewsolves.settings import settings_of
from fewsolves.testing import check_setting

FAMILIES = ("pfl", "shift", "staged", "pairs", "sfge", "spo+", "memo", "pg", "perturbed-fy", "lancer", "gp-surrogate")
LOOP = {  # settings under which another setting acts
    "validation_move": {"validation_share": 5.0},
    "patience": {"learning_rate": 1e-300, "max_epochs": 6},
    "guard": {"guard": -1e9, "max_epochs": 12, "start_epochs": 0},
}
UNSURE = {"beta": 1e-6}  # every row is paid for
UNDER = {
    ("sfge", "guard"): {"guard": -1e9, "max_epochs": 12, "start_epochs": 0, "steps_per_epoch": 8},
    ("memo", "guard"): {"guard": -1e9, "max_epochs": 12, "start_epochs": 0, "steps_per_epoch": 8},
    ("sfge", "sigma_decay"): {"sigma_kind": "annealed"},
    ("memo", "sigma_decay"): {"sigma_kind": "annealed"},
    ("spo+", "guard"): {"warm_start": True, "start_epochs": 0, "guard": -1e9},
    ("spo+", "start_epochs"): {"warm_start": True, "max_epochs": 0},
    ("gp-surrogate", "refit_after"): UNSURE,
    ("gp-surrogate", "smoothing_sigma"): {"smoothing": "samples"},
    ("gp-surrogate", "sharing"): {"design": "box", **UNSURE},
    ("gp-surrogate", "share_within"): {"design": "box", "sharing": True, **UNSURE},
    ("gp-surrogate", "relative_beta"): {"beta": 0.03},
    ("gp-surrogate", "sober"): {"learning_rate": 0.5, "pessimism": 0.0, "max_epochs": 10, **UNSURE},
    ("gp-surrogate", "fallback"): UNSURE,
    ("gp-surrogate", "sigma"): UNSURE,
    ("gp-surrogate", "correction"): UNSURE,
    ("gp-surrogate", "train_sigma"): {"fallback": "sfge", **UNSURE},
}
VALUES = {
    "guard": 1e9,
    "start_epochs": 7,
    "validation_share": 0.01,
    "validation_move": 1e9,
    "patience": 1,
    "max_epochs": 2,
    "batch_size": 4,
    ("pg", "steps_per_epoch"): 1,
    ("shift", "rounds"): 0,
    ("shift", "errors"): -1e9,
    "warm_start": False,
    ("spo+", "warm_start"): True,
    ("staged", "most"): 0.5,
    ("staged", "solves"): 0.5,
    ("sfge", "sigma_kind"): "annealed",
    ("gp-surrogate", "beta"): 1e-6,
    ("gp-surrogate", "refit_after"): 1,
    ("gp-surrogate", "most_points"): 3,
    ("memo", "sigma_kind"): "annealed",
}
ROWS = {"pg": 80, ("sfge", "guard"): 120}  # where fewer show nothing
CASES = [
    (name, one.name)
    for name in FAMILIES
    for part in (METHODS[name].settings, METHODS[name].common)
    for one in settings_of(part)
]


@pytest.mark.parametrize(("method", "name"), CASES)
def test_setting_changes_the_result_or_is_refused(method, name):
    under = UNDER.get((method, name), LOOP.get(name, {}))
    check_setting(
        method,
        name,
        under=under,
        value=VALUES.get((method, name), VALUES.get(name)),
        n=ROWS.get(method, ROWS.get((method, name), 24)),
    )


def test_setting_that_is_ignored_is_found():
    class IdleSFGE(type(METHODS["sfge"])):
        name, summary = "idle", ""

        def with_settings(self, given):
            return super().with_settings({name: value for name, value in given.items() if name != "sigma"})

    with pytest.raises(AssertionError, match="another result with sigma"):
        check_setting(IdleSFGE(), "sigma")
