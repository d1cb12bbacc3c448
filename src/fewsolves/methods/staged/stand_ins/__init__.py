"""Stand-ins for the solver, one file each; `methods.staged.stand_ins.base` is their contract."""

from __future__ import annotations

from fewsolves.methods.staged.pool import Pool
from fewsolves.methods.staged.stand_ins.argmin import Argmin
from fewsolves.methods.staged.stand_ins.base import DescentPlan, Prior, StandIn
from fewsolves.methods.staged.stand_ins.shared_gp import SharedGP
from fewsolves.methods.staged.stand_ins.spo_plus import SPOPlus
from fewsolves.methods.staged.tuning import Tuning

__all__ = ["STAND_INS", "Argmin", "DescentPlan", "Prior", "SPOPlus", "SharedGP", "StandIn", "applicable"]

STAND_INS: tuple[type[StandIn], ...] = (SPOPlus, Argmin, SharedGP)


def applicable(pool: Pool, tuning: Tuning, probing: Tuning) -> list[StandIn]:
    """The stand-ins that compete; SPO+, where it applies, bounds what the others estimate.

    Args:
        pool: The known decisions.
        tuning: Constants of those with a slope.
        probing: Constants of those that are probed, which takes cost calls.
    """
    fit = [kind for kind in STAND_INS if kind.applicable(pool)]
    return [kind(pool, tuning if kind.sloped else probing) for kind in (fit[:1] if SPOPlus in fit else fit)]
