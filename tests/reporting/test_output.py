"""Figures as text and files."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from fewsolves.errors import InputError
from fewsolves.reporting import Run, figures, read_runs

from .made_up import write_run


def test_reporting_output_the_same_figure_gives_the_same_bytes(few: list[Run], tmp_path: Path) -> None:
    first, second = (figures.training_curves(few) for _ in range(2))
    assert figures.svg(first) == figures.svg(first) == figures.svg(second)
    for name in ("a.svg", "a.png"):
        one = figures.save(first, tmp_path / name).read_bytes()
        assert one == figures.save(second, tmp_path / f"again-{name}").read_bytes()


def test_reporting_output_inline_svg_is_clean(few: list[Run]) -> None:
    text = figures.svg(figures.regret_against_solves(few), label='what "one" sees & <more>')
    root = ElementTree.fromstring(text)
    assert root.get("aria-label") == 'what "one" sees & <more>'
    assert root.get("role") == "img"
    assert not {"width", "height"} & set(root.attrib)
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}
    for unwanted in ("<!", "<?", "<metadata", "<style", "xlink"):
        assert unwanted not in text
    assert "gp-surrogate</text>" in text  # text stays text


def test_reporting_output_ids_of_two_figures_differ(few: list[Run]) -> None:
    texts = [figures.svg(figures.regret_against_solves(few)), figures.svg(figures.trust(few))]
    ids = [set(re.findall(r' id="([^"]+)"', text)) for text in texts]
    assert ids[0]
    assert not ids[0] & ids[1]
    for text, own in zip(texts, ids, strict=True):
        assert set(re.findall(r'(?:href="|url\()#([^")]+)', text)) <= own


def test_reporting_output_our_figures_follow_the_page_and_others_do_not(few: list[Run]) -> None:
    assert "var(--ink, #1c2024)" in figures.svg(figures.regret_against_solves(few))
    foreign = Figure(facecolor="white")
    foreign.subplots().plot([1, 2])
    assert "var(" not in figures.svg(foreign)


def test_reporting_output_links_out_of_a_figure_are_dropped() -> None:
    figure = Figure()
    figure.subplots().set_title("a title", url="https://example.org/tracker")
    text = figures.svg(figure)
    assert "a title" in text
    assert "example.org" not in text


def test_reporting_output_names_are_neither_mathematics_nor_markup(tmp_path: Path) -> None:
    runs = read_runs(write_run(tmp_path / "run", "gp $x_1$ <b> & 日本"))
    assert "gp $x_1$ &lt;b&gt; &amp; 日本" in figures.svg(figures.regret_against_solves(runs))


def test_reporting_output_files(few: list[Run], tmp_path: Path) -> None:
    figure = figures.regret_against_solves(few)
    assert figures.save(figure, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    ElementTree.parse(figures.save(figure, str(tmp_path / "a.svg")))
    with pytest.raises(InputError, match=r"\.svg or \.png, got 'a\.pdf'"):
        figures.save(figure, tmp_path / "a.pdf")
