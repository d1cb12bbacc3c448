"""The pictures of results/pictures.md, and what makes them: a terminal, a page of a notebook, few colours."""

import os
import re
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "site"))

import browser  # noqa: E402

import notebooks  # noqa: E402

PICTURES = ROOT / "results" / "pictures"
MOST_BYTES = 1_500_000  # of all pictures


def test_pictures_are_small_and_all_shown_before_beside_after():
    files = sorted(file.name for file in PICTURES.glob("*"))
    shown = re.findall(r"\]\(pictures/([^)]+)\)", (ROOT / "results" / "pictures.md").read_text())
    assert sorted(shown) == files
    assert [one.replace("-before", "-after") for one in shown[::2]] == shown[1::2]
    assert sum((PICTURES / name).stat().st_size for name in files) < MOST_BYTES
    for name in files:
        with Image.open(PICTURES / name) as picture:
            assert picture.mode == "P"


def test_pictures_keep_the_colour_of_a_thin_line(tmp_path):
    pixels = np.random.default_rng(0).integers(180, 255, size=(60, 80, 1)).repeat(3, axis=2).astype(np.uint8)
    pixels[30, 5:40] = 0, 114, 178
    Image.fromarray(pixels).save(tmp_path / "one.png")
    browser.shrink(tmp_path / "one.png", 12)
    with Image.open(tmp_path / "one.png") as picture:
        small = np.array(picture.convert("RGB"))
    assert small[30, 20].tolist() == [0, 114, 178]
    assert len(np.unique(small.reshape(-1, 3), axis=0)) <= 12


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals of this kind")
def test_pictures_a_terminal_shows_what_a_program_leaves_on_its_screen(tmp_path):
    import terminal

    program = (
        "import os; print('gone\\x1b[2K\\rfirst <b>'); print('second\\x1b[1A\\rF', end='\\n\\n');"
        "print('\\x1b[32mgreen\\x1b[0m', os.get_terminal_size().columns); print('x' * 25)"
    )
    shown = terminal.Terminal([sys.executable, "-c", program], 20, folder=tmp_path, env=os.environ)
    assert shown.wait() == 0
    green = f'<span style="color: {terminal.NAMED["32"]}">green</span> 20'
    assert shown.html().splitlines() == ["First &lt;b&gt;", "second", green, "x" * 20, "x" * 5]
    assert "<b>$ python</b>\nshown</pre>" in terminal.page([("python", "shown")])


def test_pictures_a_page_of_a_notebook_has_the_richest_outputs():
    cell = nbformat.v4.new_code_cell("model")
    rich = nbformat.v4.new_output("display_data", {"text/plain": "Model()", "text/html": "<table></table>"})
    plain = nbformat.v4.new_output("stream", name="stdout", text="a < b")
    wrong = nbformat.v4.new_output("error", ename="AttributeError", evalue="no schedule_", traceback=[])
    cell.outputs = [rich, plain, wrong]
    page = notebooks.page(nbformat.v4.new_notebook(cells=[cell]))
    for expected in ("<table></table>", "a &lt; b", "AttributeError: no schedule_"):
        assert expected in page
    assert "Model()" not in page
