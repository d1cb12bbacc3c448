"""What holds of every study."""

import pytest

from fewsolves.methods.registry import METHODS
from fewsolves_studies.benchmarks.catalogue import REAL
from fewsolves_studies.real.cell import default_method
from fewsolves_studies.real.studies import STUDIES

EVERY = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)


@EVERY
def test_studies_its_cells_are_runs_of_real_benchmarks_by_known_methods(study):
    for cell in (*study.cells(True), *study.cells(False)):
        assert cell.benchmark in REAL
        assert cell.decide is not None or (
            cell.method in METHODS and cell.predictor in ("linear", "network", "boosted")
        )


@EVERY
def test_studies_no_two_runs_have_one_name(study):
    cells = study.cells(False)
    assert len({cell.run for cell in cells}) == len(set(cells)) == len(cells)


@EVERY
def test_studies_the_default_and_pfl_keep_what_the_picture_shows(study):
    for quick in (True, False):
        kept = {cell.method for cell in study.cells(quick) if cell.plans}
        assert kept == {"pfl", default_method()}


@EVERY
def test_studies_published_figures_and_panels_belong_to_settings_that_are_run(study):
    settings = {cell.setting for cell in study.cells(False)}
    assert {each.setting for each in study.published} <= settings
    assert {each.setting for each in study.frontiers} <= settings


@EVERY
def test_studies_without_runs_there_are_no_sentences(study):
    assert study.sentences([]) == [] and study.picture([]) is None
