"""The figures of README and guide are those of results/, and of one file: none is stated without its mark."""

import json
import re

import pytest

from fewsolves_studies.measure import facts, peer_facts

FIGURE = re.compile(r"(?<![\w.(=-])\d+\.\d{2,}\b|\b\d+(?:\.\d+)? ?%|±")
DEFINED = {  # by what fewsolves does, not by a measurement: versions, levels, thresholds, settings
    *("3.11", "3.12", "3.13", "1.14", "1.15", "2.52", "2512.03861"),
    *("0.001", "0.01", "0.15", "±", "1 %", "5 %", "17 %", "20 %", "80 %", "95 %"),
    *("35 %", "78 %"),  # chances that the check of a ledger misses a change, by its number of rows
}
UNSEEN = re.compile(
    r"^```.*?^```$|^<!-- table: .*?<!-- end table -->$|^<!-- .*?-->$"
    r"|<!-- fact: .*?<!-- end -->|`[^`\n]*`|\]\([^)\s]*\)|^    [^\n]*$",
    re.MULTILINE | re.DOTALL,
)
TABLES = [line for table in facts.RESULTS.glob("*/*.md") for line in table.read_text().splitlines() if line[:1] == "|"]
REFRESH = "python -m fewsolves_studies.measure.facts refreshes it"


def name(page):
    return str(page.relative_to(facts.ROOT))


def of_a_study(line):
    """Whether a line of a table has its figures from a table of results/: the same case, and every cell is there."""
    cells = [cell.strip(" *") for cell in line.strip("|").split("|")] if line.startswith("|") else []
    return len(cells) > 1 and any(
        row.startswith(f"| {cells[0]} |") and all(cell in row for cell in cells[1:]) for row in TABLES
    )


@pytest.fixture(scope="module")
def recorded():
    return json.loads(facts.FILE.read_text())


def test_facts_are_those_of_the_result_files(recorded):
    assert recorded == facts.facts(), REFRESH


@pytest.mark.parametrize("page", facts.pages(), ids=name)
def test_facts_on_a_page_are_the_recorded_ones(page, recorded):
    text = page.read_text()
    marks = [*facts.MARK.finditer(text), *facts.TABLE.finditer(text)]
    assert not [mark["key"] for mark in marks if mark["key"] not in recorded]
    assert text.count("<!-- table:") == len(facts.TABLE.findall(text)), "written as the top of facts.py says?"
    assert text.count("<!-- fact:") == len(facts.MARK.findall(text)), "written as the top of facts.py says?"
    assert "\n<!-- fact:" not in text, "a comment at the beginning of a line would end the paragraph"
    assert facts.with_facts(text, recorded) == text, REFRESH


@pytest.mark.parametrize("page", facts.pages(), ids=name)
def test_facts_no_page_states_a_measured_figure_without_its_mark(page):
    own = "\n".join(line for line in page.read_text().splitlines() if not of_a_study(line))
    found = FIGURE.findall(UNSEEN.sub("", own))
    assert not [one for one in found if one not in DEFINED], "mark it as a fact, or name it in DEFINED above"


def test_facts_a_figure_that_is_not_marked_is_found():
    text = "0.78 of it, `0.78` in code, <!-- fact: a -->0.31<!-- end --> as a fact, and 12 % more"
    assert FIGURE.findall(UNSEEN.sub("", text)) == ["0.78", "12 %"]


def test_facts_in_a_table_are_those_of_a_study():
    row = next(row for row in TABLES if row.startswith("| energy-60 @ 2 |"))
    assert of_a_study(row)
    assert not of_a_study(re.sub(r"\d", "7", row))


def test_facts_of_a_page_are_refreshed():
    text = "It has <!-- fact: a.b -->0.78<!-- end --> of it."
    assert facts.with_facts(text, {"a.b": "0.75"}) == "It has <!-- fact: a.b -->0.75<!-- end --> of it."


def test_facts_tables_of_a_page_are_refreshed():
    text = "Before.\n\n<!-- table: a -->\n| old |\n<!-- end table -->\n\nAfter."
    made = "Before.\n\n<!-- table: a -->\n\n| new |\n\n<!-- end table -->\n\nAfter."
    assert facts.with_facts(text, {"a": "| new |"}) == made == facts.with_facts(made, {"a": "| new |"})


def test_facts_say_who_wins_where():
    found = {}
    for method, column, values in (
        ("staged", "path-4 @ 2", (0.08, 0.09)),
        ("least squares", "path-4 @ 2", (0.10, 0.11)),
        ("PyEPO CaVE", "path-4 @ 2", (0.085, 0.095)),
        ("staged", "path-4 @ 4", (0.12, 0.12)),
        ("least squares", "path-4 @ 4", (0.10, 0.11)),
        ("PyEPO CaVE", "path-4 @ 4", (0.07, 0.08)),
    ):
        found[method, column] = [{"regret": value, "solves": 1.0} for value in values]
    columns = peer_facts.columns_of(found)
    stated = dict(peer_facts._facts_of("peers", columns))
    assert stated["peers.winners"] == "the default in 1 of 2 cases, PyEPO CaVE in 1"
    assert (stated["peers.level"], stated["peers.worse"]) == ("1 of 2", "`path-4 @ 4`")
    row = peer_facts._by_problem(columns)[0]
    assert row["2 solves per row"] == "**the default 8.50 ± 0.50**; PyEPO CaVE 9.00 ± 0.50"
    assert row["4 solves per row"] == "**PyEPO CaVE 7.50 ± 0.50**; the default 12.00 ± 0.00"
