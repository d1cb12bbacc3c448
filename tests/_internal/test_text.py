"""Strings as they are shown."""

from __future__ import annotations

import pytest

from fewsolves._internal.text import clean

pytestmark = pytest.mark.portable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("two\n\tlines\r\n", "two lines"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://example.org\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x1b\\rest", "rest"),
        ("file\u202egpj.exe", "filegpj.exe"),
        ("a\u2066b\u2069c\u200f\u061c", "abc"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("nul\x00 bell\x07 c1\x9b31m", "nul bell c131m"),
        ("half \ud800 pair", "half pair"),
        ("line\u2028separator", "line separator"),
        ("日本語 ñ é Ω", "日本語 ñ é Ω"),
        ("<b>&amp;</b>", "<b>&amp;</b>"),
    ],
)
def test_text_nothing_invisible_is_left(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_text_long_text_is_cut() -> None:
    assert clean("x" * 10_000_000, 10) == "xxxxxxxxx…"
    assert len(clean("word " * 100_000)) <= 4000
