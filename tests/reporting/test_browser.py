"""The page in a real browser, where there is one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from browser import EXECUTABLE, FLAGS

from fewsolves.reporting import Run, read_runs, write_report

from .html_reading import Page
from .made_up import write_run

SIZE = "--window-size=1200,1600"

pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="no chromium or chromium-browser on the path")


def browse(page: Path, folder: Path, *flags: str) -> str:
    assert EXECUTABLE is not None
    command = [EXECUTABLE, *FLAGS, SIZE, f"--user-data-dir={folder / 'profile'}", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def test_browser_rows_and_figures_are_in_the_document(few: list[Run], tmp_path: Path) -> None:
    page = write_report(few, tmp_path / "page.html", title="In a browser")
    found = Page(browse(page, tmp_path, "--dump-dom"))
    written = Page(page.read_text(encoding="utf-8"))
    assert found.tags["tr"] == written.tags["tr"] > 20
    assert found.tags["svg"] == written.tags["svg"] > 4
    assert found.tags["text"] > 20
    assert "gp-surrogate" in found.text


def test_browser_scripts_in_results_stay_asleep(tmp_path: Path) -> None:
    attack = "<img src=x onerror=\"document.title='taken'\"><svg onload=\"document.title='taken'\"><script>1</script>"
    write_run(tmp_path / "run", attack, warnings=[attack], benchmark=attack)
    page = write_report(read_runs(tmp_path / "run"), tmp_path / "page.html", title="quiet")
    found = Page(browse(page, tmp_path, "--dump-dom"))
    assert "taken" not in found.pieces
    assert found.pieces[[piece.strip() for piece in found.pieces].index("quiet")] == "quiet"
    assert not {"img", "script"} & set(found.tags)


def test_browser_light_and_dark_are_painted(few: list[Run], tmp_path: Path) -> None:
    page = write_report(few, tmp_path / "page.html", title="Painted")
    brightness = {}
    for name, flags in (("light", ()), ("dark", ("--force-dark-mode",))):
        picture = tmp_path / f"{name}.png"
        browse(page, tmp_path, f"--screenshot={picture}", *flags)
        pixels = matplotlib.image.imread(picture)[..., :3]
        assert pixels.shape[:2] == (1600, 1200)
        assert len(np.unique((pixels * 15).astype(int).reshape(-1, 3), axis=0)) > 20  # not an empty page
        brightness[name] = float(np.median(pixels))
    assert brightness["light"] > 0.9
    assert brightness["dark"] < 0.2
