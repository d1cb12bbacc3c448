"""The page of `fewsolves watch`: in a browser while a run goes on, and to nobody from elsewhere."""

from __future__ import annotations

import http.client
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.errors import InputError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.ledger.following import Followed, Start
from fewsolves.reporting import watch
from fewsolves.reporting.server import WatchServer, is_loopback
from fewsolves.reporting.watch import Watch

from .html_reading import Page
from .test_browser import CHROMIUM, FLAGS

HALT = 120  # solves, after which the run waits


class Halting:
    """A solver that waits in the middle of a run until it is told to go on."""

    def __init__(self) -> None:
        self.solves, self.reached, self.go_on = 0, threading.Event(), threading.Event()

    def __call__(self, y_hat: np.ndarray) -> np.ndarray:
        self.solves += 1
        if self.solves == 7:
            raise fs.Infeasible("<script>document.title='taken'</script>")
        if self.solves == HALT:
            self.reached.set()
            assert self.go_on.wait(120)
        return y_hat


def trained(folder: Path, solve: Halting) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = 10 + X[:, :2] + rng.gamma(1.0, 2.0, size=(40, 2))
    problem = fs.Problem(solve=solve, cost=lambda y, z: float(np.sum(z + 9 * np.maximum(y - z, 0))), name="blending")
    settings = {"start_epochs": 2, "max_epochs": 6}
    solving, budget = fs.SolveConfig(on_failure="skip"), fs.Budget(solves=1000)
    options = {"method": "sfge", "predictor": "linear", "folder": folder}
    fit(Plan(problem, X, Y, settings=settings, solving=solving, budget=budget, **options))  # type: ignore[arg-type]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WatchServer]:
    made = WatchServer(tmp_path / "run")
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def asked(server: WatchServer, method: str = "GET", path: str = "/", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request(method, path, headers=headers)
    return connection.getresponse()


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium or chromium-browser on the path")
@pytest.mark.filterwarnings("ignore:.*could not be found for")
@pytest.mark.filterwarnings("ignore:.*calls failed")
def test_watch_a_browser_follows_a_run_that_goes_on_and_sees_it_end(server: WatchServer, tmp_path: Path) -> None:
    def browsed() -> Page:
        command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
        address = f"http://127.0.0.1:{server.server_port}/"
        return Page(subprocess.run([*command, address], capture_output=True, text=True, timeout=120, check=True).stdout)

    solve = Halting()
    run = threading.Thread(target=trained, args=(tmp_path / "run", solve))
    run.start()
    assert solve.reached.wait(120)
    during = browsed()
    solve.go_on.set()
    run.join()
    after = browsed()
    assert f"Running: {HALT - 1} solves paid, validation regret " in during.text
    for expected in ("blending", "sfge", "of 1,000 solves", "at most", "1 call failed", "row "):
        assert expected in during.text
    assert during.tags["svg"] == 1
    assert during.tags["script"] == 0
    assert "document.title='taken'" in during.text, "a message of the solver is text"
    assert "Ended " in after.text
    assert "Paid: " in after.text


def test_watch_a_folder_without_a_ledger_is_waited_for(server: WatchServer) -> None:
    answer = asked(server)
    assert answer.status == 200
    assert "Nothing to follow yet: there is no ledger in" in answer.read().decode()


def test_watch_listens_on_loopback_alone_unless_an_address_is_given(server: WatchServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    own = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in own - {"127.0.0.1"}:
        with pytest.raises(OSError), socket.create_connection((str(address), server.server_port), timeout=5):
            pass


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:8765", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("rebound.example", 403), ("", 403)],
)
def test_watch_who_calls_it_by_a_name_from_elsewhere_is_refused(server: WatchServer, host: str, status: int) -> None:
    assert asked(server, Host=host).status == status


def test_watch_one_page_and_nothing_else(server: WatchServer) -> None:
    assert asked(server, path="/../ledger.sqlite").status == 404
    assert asked(server, "POST").status == 501
    answer = asked(server)
    assert answer.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "Python" not in answer.headers["Server"]


def test_watch_a_port_that_is_taken_is_an_error_that_says_so(server: WatchServer, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"no page can be served at 127.0.0.1, port {server.server_port}"):
        WatchServer(tmp_path, port=server.server_port)


def test_watch_names_of_the_loopback_interface() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.8.8.8", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "192.168.1.2", "example.org", "", "localhost.evil.example")))


def test_watch_time_left_follows_the_pace_and_a_silent_run_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Followed(solved_at=[0.0, 1800.0, 3600.0])
    run.counts["solve"]["online"] = 100
    running = Start(1, 0.0, {}, None, None)
    assert watch._pace(run.solved_at, 3600.0) == pytest.approx(3.0)
    assert watch._left({"solves": 400}, {"solves": 100}, 100.0) == "at most 3 h"
    assert watch._left({"solves": 400, "seconds": 60}, {"solves": 100, "seconds": 50}, 100.0) == "at most 12 min"
    assert watch._left({}, {"solves": 100}, 100.0).startswith("not known: it has no budget")
    assert watch._status_message(run, running, 3.0, 3700.0) == (
        "Running: 100 solves paid; the last answer came 100 s ago.",
        False,
    )
    told, alarm = watch._status_message(run, running, 3.0, 3600.0 + 20_000.0)
    assert alarm
    assert told.endswith("Is it still running?")


def test_watch_a_page_can_be_asked_for_by_several_at_a_time(tmp_path: Path) -> None:
    page = Watch(tmp_path)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(page.page())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    page.close()
