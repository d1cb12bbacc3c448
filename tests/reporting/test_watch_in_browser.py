"""The pages of `fewsolves watch` and of a report in Chromium: what a reader sees, and what they load."""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import pytest

import fewsolves as fs
from fewsolves.reporting import Run, write_report
from fewsolves.reporting.server import WatchServer

from .test_watch import Halting, quick_model, table, trained

LARGEST = 300_000  # bytes of a page
LOOKS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
TAKEN = "document.title='taken'"
ATTACK = (
    f'<img src=http://evil.invalid/x onerror="{TAKEN}"><script>{TAKEN}</script>'
    "<style>@import '//evil.invalid'</style>"
)

pytestmark = pytest.mark.skipif(browser.EXECUTABLE is None, reason="no chromium or chromium-browser on the path")


@pytest.fixture(scope="module")
def chromium() -> Iterator[browser.Chromium]:
    made = browser.Chromium()
    yield made
    made.close()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a page that follows the folder."""
    server = WatchServer(folder, refresh=1)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def value(chromium: browser.Chromium, expression: str) -> Any:
    """Of the open page; None while it is being loaded again."""
    try:
        return chromium.value(expression)
    except RuntimeError:
        return None


def until(chromium: browser.Chromium, text: str) -> str:
    """Wait until the open page, which reloads itself, shows a text; return all that it shows."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if text in (shown := str(value(chromium, "document.body.innerText"))):
            return shown
        time.sleep(0.1)
    pytest.fail(f"{text!r} never came; the page shows {shown[:500]!r}")


def check_looks(chromium: browser.Chromium, address: str) -> None:
    """A page is small, asks no other host, logs no error, and fits its window, wide and on a phone, light and dark."""
    host = address.rpartition("/")[0]
    for width, scheme in LOOKS:
        chromium.look_as(width, scheme)
        chromium.open(address)
        assert chromium.value("document.documentElement.scrollWidth") <= width
        assert 1000 < chromium.value("new Blob([document.documentElement.outerHTML]).size") < LARGEST
        assert [url for url in chromium.requested if not url.startswith((host, "data:"))] == []
        assert chromium.errors == []
        background = chromium.value("getComputedStyle(document.body).backgroundColor")
        brightness = sum(int(part) for part in background.strip("rgb()").split(","))
        assert brightness > 700 if scheme == "light" else brightness < 100


def test_watch_in_browser_a_live_run_is_followed_and_stopped_by_its_button(
    chromium: browser.Chromium, tmp_path: Path
) -> None:
    solve = Halting()
    with warnings.catch_warnings(), serving(tmp_path / "run") as address:
        warnings.simplefilter("ignore")
        run = threading.Thread(target=trained, args=(tmp_path / "run", solve))
        run.start()
        try:
            assert solve.reached.wait(120)
            check_looks(chromium, address)
            shown = until(chromium, "Stop this run")
            assert "Running; the last answer came " in shown
            titles = "[...document.querySelectorAll('svg title')].map(one => one.textContent).join()"
            assert "; best so far " in chromium.value(titles), "values where the pointer rests"
            value(chromium, "document.querySelector('button').click()")
            end = time.monotonic() + 60
            while not (tmp_path / "run" / "stop").exists():
                assert time.monotonic() < end, "the button asks the run to stop"
                time.sleep(0.05)
        finally:
            solve.go_on.set()
            run.join()
        shown = until(chromium, "Stopped ")
        assert "The run was stopped early; with a folder, the same call resumes it." in shown
        assert "Stop this run" not in shown
        check_looks(chromium, address)


def test_watch_in_browser_an_open_page_notices_a_folder_that_is_replaced(
    chromium: browser.Chromium, tmp_path: Path
) -> None:
    quick_model(tmp_path / "run", name="first").fit(*table())
    with serving(tmp_path / "run") as address:
        chromium.open(address)
        assert "first" in until(chromium, "Ended ")
        shutil.rmtree(tmp_path / "run")
        assert "first" not in until(chromium, "The folder was removed.")
        quick_model(tmp_path / "run", name="again").fit(*table())
        assert "again" in until(chromium, "Ended ")


def test_watch_in_browser_an_index_of_runs_leads_to_each_and_back(chromium: browser.Chromium, tmp_path: Path) -> None:
    for name in ("north", "south"):
        quick_model(tmp_path / name, name=name).fit(*table())
    with serving(tmp_path) as address:
        check_looks(chromium, address)
        until(chromium, f"2 runs in the folder {tmp_path}: 2 ended.")
        value(chromium, "document.querySelectorAll('tbody a')[1].click()")
        assert "south" in until(chromium, "Paid: ")
        value(chromium, "document.querySelector('.eyebrow a').click()")
        until(chromium, "2 runs in the folder")


def test_watch_in_browser_a_hostile_folder_runs_and_loads_nothing(chromium: browser.Chromium, tmp_path: Path) -> None:
    name = "<script>alert(1)<&script>"
    quick_model(tmp_path / name, name=ATTACK).fit(*table())
    facts = json.loads((tmp_path / name / "progress.json").read_text())
    facts["stages"], facts["left"] = [[1, ATTACK, True], [10**30, ATTACK, False]], ATTACK
    (tmp_path / name / "progress.json").write_text(json.dumps(facts))
    for kind, content in (("noise", b"\0" * 4096), ("text", b"SQLite format 3\0" + b"x" * 900), ("empty", b"")):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "ledger.sqlite").write_bytes(content)
    with serving(tmp_path) as address:
        for page in ("", "run/%3Cscript%3Ealert(1)%3C%26script%3E", "run/noise", "run/text", "run/empty"):
            check_looks(chromium, address + page)
            assert chromium.value("document.title") != "taken"
            assert chromium.value("document.querySelectorAll('img, script, iframe, object').length") == 0
            assert chromium.value("document.querySelectorAll('style:not(svg style)').length") == 1, "that of the page"


def test_report_in_browser_fits_every_screen_and_loads_nothing(
    chromium: browser.Chromium, few: list[Run], many: list[Run], tmp_path: Path
) -> None:
    for name, runs in (("few", few), ("many", many)):
        page = write_report(runs, tmp_path / f"{name}.html", title=ATTACK)
        check_looks(chromium, page.as_uri())
        assert page.stat().st_size < LARGEST


def test_report_in_browser_of_a_model_begins_with_its_gain(chromium: browser.Chromium, tmp_path: Path) -> None:
    model = quick_model(tmp_path / "run").fit(*table())
    page = fs.report(model, tmp_path / "page.html")
    check_looks(chromium, Path(page).resolve().as_uri())
    shown = str(value(chromium, "document.body.innerText"))
    assert shown.index("solves, ") < shown.index(model.summary_.message[:20]), "tiles come first"
