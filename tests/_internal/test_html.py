"""HTML of notebook cells: everything that comes from outside is text."""

import pytest

from fewsolves._internal.html import html_facts, html_table

pytestmark = pytest.mark.portable

ATTACK = "<script>alert(1)</script>\x1b[31m"


def test_html_nothing_that_is_given_becomes_markup():
    facts = html_facts(ATTACK, {ATTACK: ATTACK}, sentences=[ATTACK], noted=[ATTACK])
    table = html_table([ATTACK, "n"], [[ATTACK, "1"]], above=ATTACK, below=[ATTACK])
    for page, times in ((facts, 5), (table, 4)):
        assert "<script" not in page
        assert "\x1b" not in page
        assert page.count("&lt;script&gt;") == times


def test_html_numbers_stand_to_the_right_and_names_to_the_left():
    page = html_table(["method", "solves"], [["pfl", "62"]], above="", below=[])
    assert page.count("text-align: right") == 2
    assert page.count("text-align: left") == 2
