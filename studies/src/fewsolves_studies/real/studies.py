"""The studies by name."""

from __future__ import annotations

from fewsolves_studies.real import market_clearing, pjm_commitment, yaz_kitchen
from fewsolves_studies.real.study import RealStudy

STUDIES: dict[str, RealStudy] = {
    module.STUDY.name: module.STUDY for module in (market_clearing, yaz_kitchen, pjm_commitment)
}
