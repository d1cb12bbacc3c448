"""Results come from others: whatever they hold, the page stays a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from fewsolves._internal.text import clean
from fewsolves.reporting import read_runs, write_report

from .html_reading import Page
from .made_up import write_run

PAYLOADS = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "' onmouseover='alert(1)",
    '" autofocus onfocus=alert(1) x="',
    '<a href="javascript:alert(1)">click</a>',
    "<iframe src=https://example.org></iframe>",
    "</style><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    "--><script>alert(1)</script><!--",
    "--!><img src=x onerror=alert(1)>",
    "]]><script>alert(1)</script>",
    "{{ 7 * 7 }}{% include '/etc/passwd' %}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<link rel=stylesheet href=//example.org/x.css>",
    "<meta http-equiv=refresh content='0;url=https://example.org'>",
    "<base href=https://example.org/>",
    '<math><mi xlink:href="data:text/html,<script>alert(1)</script>">',
    "url(https://example.org/x) expression(alert(1))",
    "\u202e<script>\u2066alert(1)\x00</scr\x00ipt>",
    "\x1b]8;;https://example.org\x07<b>link</b>\x1b[31m",
    "$\\frac{$ \\write18{ls} _^&#%",
    "\ud83d <script>\udc00",
    "x" * 5000,
]
TAGS = {
    "html head meta title style body header main section nav h1 h2 h3 p b ul li a dl dt dd div span strong",
    "table caption thead tbody tr th td figure figcaption details summary svg g path use text defs clippath rect",
}
ATTRIBUTES = {
    "lang charset http-equiv content name class id role tabindex aria-label aria-labelledby aria-hidden scope colspan",
    "href style d viewbox xmlns version stroke-linejoin transform x y width height clip-path",
}


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_reporting_hostile_strings_are_only_text(tmp_path: Path, payload: str) -> None:
    for i in range(2):  # twice the same dataset with other settings, so that settings become part of the label
        write_run(
            tmp_path / "runs" / str(i),
            payload,
            benchmark=payload,
            predictor=payload,
            commit=payload + str(i),
            stopped=payload,
            warnings=[payload],
            config={payload: {payload: payload}, "list": [payload], "beta": f"{payload}{i}"},
        )
    extra = Figure()
    extra.subplots().set_title("extra")
    path = write_report(
        read_runs(tmp_path / "runs"), tmp_path / "page.html", title=payload, extra_figures={payload: extra}
    )
    text = path.read_text(encoding="utf-8")
    found = Page(text)
    assert set(found.tags) <= set(" ".join(TAGS).split())
    assert {name for _, name, _ in found.attributes} <= set(" ".join(ATTRIBUTES).split())
    assert not found.comments
    for _, name, value in found.attributes:
        if name == "href":
            assert re.fullmatch(r"#[a-z0-9-]+", value)
        if name in ("style", "clip-path"):
            assert re.sub(r"url\(#[a-z0-9-]+\)", "", value).find("url(") < 0
    assert clean(payload, 60) in found.text  # shown as it is, not executed and not dropped
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]", text)
