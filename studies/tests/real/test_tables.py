import sys
from pathlib import Path

import pytest

from fewsolves_studies.real.study import Frontier, Published, RealStudy
from fewsolves_studies.real.tables import lines, markdown, number

sys.path.insert(0, str(Path(__file__).parent))
from made_up import some

STUDY = RealStudy(
    name="x", title="X", about="About.", unit="cost", cells=lambda quick: [each.cell for each in some()],
    published=[Published("forest", "yaz-newsvendor,service=0.5", 2.0), Published("other", "elsewhere", 9.0)],
    frontiers=[Frontier("all", "yaz-newsvendor,service=0.5", "network", ("forest", "truth"))],
    picture=lambda done: None, sentences=lambda done: ["Cheaper."],
)  # fmt: skip


def test_real_tables_what_was_published_for_a_setting_stands_before_its_runs():
    rows = lines(STUDY, some())
    assert [row["policy"] for row in rows][:3] == ["forest (published)", "truth", "pfl"]
    assert {row["setting"] for row in rows} == {"yaz-newsvendor,service=0.5"}


def test_real_tables_differences_are_paired_with_pfl_of_the_same_predictor():
    row = lines(STUDY, some())[-1]
    assert row["less than PFL"] == "1.5" and row["95 %, paired"] == "1.5 to 1.5", "the same weather for both"
    assert float(row["share of PFL"]) == pytest.approx(2.5 / 4.0, abs=0.01) and row["solves per training day"] == "8.0"


def test_real_tables_a_table_has_a_column_for_every_head():
    text = markdown(lines(STUDY, some()))
    assert len({line.count("|") for line in text.splitlines()}) == 1


def test_real_tables_numbers_stay_readable():
    assert [number(value) for value in (245322.4, 66.13, 0.01234)] == ["245,322", "66.13", "0.01234"]
