"""The page of `fewsolves watch`: in a browser while a run goes on, and refused from elsewhere."""

from __future__ import annotations

import http.client
import json
import math
import re
import shutil
import socket
import sqlite3
import struct
import subprocess
import threading
import warnings
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pytest
from browser import EXECUTABLE, FLAGS

import fewsolves as fs
from fewsolves._internal.text import number
from fewsolves.errors import InputError
from fewsolves.fitting.fit import fit
from fewsolves.fitting.plan import Plan
from fewsolves.fitting.prepare import prepare
from fewsolves.fitting.progress_file import RunProgress, _stages, read_progress
from fewsolves.ledger.following import FailureGroup, Followed, Start
from fewsolves.methods.reading import Reading
from fewsolves.oracle import Calls
from fewsolves.reporting.server import WatchServer, is_loopback
from fewsolves.reporting.watch import Watch, _facts, _failures
from fewsolves.reporting.watched import Watched, Watcher, pace, state_of
from fewsolves.training.displays import State
from fewsolves.training.history import History
from fewsolves.training.progress import Progress
from fewsolves.training.reached import Reached

from .html_reading import Page

HALT = 120  # solves, after which the run waits


class Halting:
    """A solver that waits in the middle of a run until the test lets it go on."""

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
    X, Y = table()
    problem = fs.Problem(solve=solve, cost=lambda y, z: float(np.sum(z + 9 * np.maximum(y - z, 0))), name="blending")
    settings = {"start_epochs": 2, "max_epochs": 6}
    solving, budget = fs.SolveConfig(on_failure="skip"), fs.Budget(solves=1000)
    options = {"method": "sfge", "predictor": "linear", "folder": folder}
    fit(Plan(problem, X, Y, settings=settings, solving=solving, budget=budget, **options))  # type: ignore[arg-type]


def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, 10 + X[:, :2] + rng.gamma(1.0, 2.0, size=(40, 2))


def quick_model(folder: Path, name: str = "blending") -> fs.DecisionRegressor:
    problem = fs.Problem(
        solve=lambda y_hat: y_hat, cost=lambda y, z: float(np.sum(z + 9 * np.maximum(y - z, 0))), name=name
    )
    options = {"predictor": "linear", "budget": fs.Budget(solves=250), "verbose": False}
    return fs.DecisionRegressor(problem, folder=folder, **options)


def posted(server: WatchServer, form: str, **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/stop", body=form, headers=kind | headers)
    return connection.getresponse().status


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WatchServer]:
    made = WatchServer(tmp_path / "run")
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def answer_of(server: WatchServer, method: str = "GET", path: str = "/", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request(method, path, headers=headers)
    return connection.getresponse()


def browsed(server: WatchServer, profile: Path, path: str = "/") -> Page:
    """What Chromium makes of a page."""
    command = [str(EXECUTABLE), *FLAGS, f"--user-data-dir={profile / 'profile'}", "--dump-dom"]
    address = f"http://127.0.0.1:{server.server_port}{path}"
    return Page(subprocess.run([*command, address], capture_output=True, text=True, timeout=120, check=True).stdout)


@pytest.mark.skipif(EXECUTABLE is None, reason="no chromium or chromium-browser on the path")
def test_watch_a_browser_sees_a_folder_replaced_and_a_hostile_one(server: WatchServer, tmp_path: Path) -> None:
    attack = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
    quick_model(tmp_path / "run", name=attack).fit(*table())
    facts = json.loads((tmp_path / "run" / "progress.json").read_text())
    facts["stages"] = [[1, attack, True], [10**30, attack, False]]
    (tmp_path / "run" / "progress.json").write_text(json.dumps(facts))
    hostile = browsed(server, tmp_path)
    assert not {"img", "script"} & set(hostile.tags)
    assert attack[:20] in hostile.text
    shutil.rmtree(tmp_path / "run")
    assert "The folder was removed." in browsed(server, tmp_path).text
    quick_model(tmp_path / "run", name="again").fit(*table())
    assert "Ended " in browsed(server, tmp_path).text


@pytest.mark.skipif(EXECUTABLE is None, reason="no chromium or chromium-browser on the path")
@pytest.mark.filterwarnings("ignore:.*could not be found for")
@pytest.mark.filterwarnings("ignore:.*calls? failed")
def test_watch_a_browser_follows_a_run_that_goes_on_and_sees_it_end(server: WatchServer, tmp_path: Path) -> None:
    solve = Halting()
    run = threading.Thread(target=trained, args=(tmp_path / "run", solve))
    run.start()
    assert solve.reached.wait(120)
    during = browsed(server, tmp_path)
    solve.go_on.set()
    run.join()
    after = browsed(server, tmp_path)
    assert re.search(r"best [\d.]+, start [\d.]+", during.text)
    for expected in (
        "blending",
        "Running; ",
        "sfge",
        f"{HALT - 1}",
        "of 1,000 solves",
        "at most",
        "1 call failed",
        "row ",
    ):
        assert expected in during.text
    assert during.tags["svg"] == 2
    assert " solves; best so far " in during.text, "the value of a dot shows by it"
    assert during.tags["script"] == 0
    assert "document.title='taken'" in during.text, "a message of the solver is text"
    assert "Ended " in after.text
    assert "Paid: " in after.text


def test_watch_a_folder_without_a_ledger_is_waited_for(server: WatchServer) -> None:
    answer = answer_of(server)
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
    [
        ("localhost:8765", 200),
        ("LOCALHOST", 200),
        ("127.0.0.1", 200),
        ("[::1]:80", 200),
        ("rebound.example", 403),
        ("", 403),
        ("[::1].evil.com", 403),
        ("localhost:80@evil.com", 403),
        ("localhost.evil.com", 403),
        ("127.0.0.1.evil.com:80", 403),
        ("[::1]:80:80", 403),
        ("localhost:80 ", 403),
        ("localhost/evil.com", 403),
    ],
)
def test_watch_who_calls_it_by_a_name_from_elsewhere_is_refused(server: WatchServer, host: str, status: int) -> None:
    assert answer_of(server, Host=host).status == status


def test_watch_says_nothing_of_a_browser_that_went_away(server: WatchServer, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", server.server_port)) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")  # closed by a reset, before the answer
    assert answer_of(server).status == 200
    assert capfd.readouterr() == ("", "")


def test_watch_one_page_and_nothing_else(server: WatchServer) -> None:
    assert answer_of(server, path="/../ledger.sqlite").status == 404
    assert answer_of(server, "POST").status == 403
    assert answer_of(server, "PUT").status == 501
    answer = answer_of(server)
    assert answer.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "Python" not in answer.headers["Server"]


def test_watch_a_port_that_is_taken_is_an_error_that_says_so(server: WatchServer, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"no page can be served at 127.0.0.1, port {server.server_port}"):
        WatchServer(tmp_path, port=server.server_port)


def test_watch_names_of_the_loopback_interface() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.8.8.8", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "192.168.1.2", "example.org", "", "localhost.evil.example")))


def test_watch_time_left_follows_the_pace_and_a_silent_run_is_noticed() -> None:
    def watched(budget: dict[str, float], seconds: float = 50.0) -> Watched:
        run = Followed(solved_at=[36.0 * k for k in range(100)], seconds=seconds)
        run.counts["solve"]["online"] = 100
        return Watched(Path(), "", "running", "", Start(1, 0.0, {"budget": budget}, None, None), run, None, 3600.0)

    run = Followed(solved_at=[0.0, 1800.0, 3600.0])
    running = Start(1, 0.0, {}, None, None)
    assert pace(run.solved_at, 3600.0) == pytest.approx(3.0)
    assert watched({"solves": 400}).left == "at most 3 h"
    assert watched({"solves": 400, "seconds": 60}).left == "at most 12 min"
    assert watched({}).left == "not known: no budget is set"
    assert watched({"solves": "many", "seconds": True}).limits == {}, "a hostile ledger"  # type: ignore[dict-item]
    assert state_of(run, running, None, 3700.0) == ("running", "Running; the last answer came 100 s ago.")
    state, message = state_of(run, running, None, 3600.0 + 20_000.0)
    assert state == "silent"
    assert message.endswith("Is it still running?")


@pytest.mark.filterwarnings("ignore:.*calls? failed")
def test_watch_shows_start_and_best_of_the_summary(tmp_path: Path) -> None:
    model = quick_model(tmp_path / "run").fit(*table())
    found = Watcher(tmp_path / "run").look(0.0)
    assert found.reached == model.summary_.reached
    assert found.progress is not None
    assert found.progress.ended
    page = Watch(tmp_path / "run").page()
    assert page is not None
    start, best = model.summary_.reached
    assert start is not None
    assert best is not None
    assert f"best {number(best)}, start {number(start)}" in page
    assert len(page) < 300_000


@pytest.mark.parametrize("fast", [0.0, math.inf])
def test_watch_time_left_is_that_of_the_terminal(fast: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fewsolves.fitting.progress_file.REFRESH", 0.0)
    monkeypatch.setattr("fewsolves.training.expected.FAST", fast)  # no label is fast, or each one is
    lines, page, bests = [], [], []

    class Both(Progress):
        def _show(self, state: State) -> None:
            found = watcher.look(0.0)
            lines.append(state.facts[-1])
            page.append(found.left)
            bests.append(() if found.progress is None else found.progress.bests)

    watcher, X, Y = Watcher(tmp_path / "run"), *table()
    problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: float(np.sum(z + 9 * np.maximum(y - z, 0))))
    settings, folder = {"solves": 2}, tmp_path / "run"
    prepared = prepare(Plan(problem, X, Y, method="staged", settings=settings, predictor="linear", folder=folder))
    with Both(expected=prepared.expected, refresh=0.0) as progress:
        fit(prepared, callbacks=[progress])
    assert len(lines) > 10

    def kinds(said: list[str]) -> list[str]:
        return [kind for kind, _ in groupby(one.removeprefix("time left ").split()[0] for one in said)]

    assert kinds(lines) == (["labels", "known", "at"] if fast else ["at"]), "done in about, after the first epoch, most"
    assert kinds(page) == ["known", *kinds(lines)], "the page is read before the first answer is written to it"
    assert any(line.endswith(" left") for line in lines)
    assert not any(one.endswith(" left") for one in page), "it stands in a row of that name"
    assert all(earlier >= later for run in bests for earlier, later in pairwise(run)), "a best so far never rises"
    assert max(map(len, bests)) > 1


def test_watch_marks_the_stages_while_the_run_goes_on(tmp_path: Path) -> None:
    seen: list[RunProgress] = []

    def look(record: fs.EpochRecord) -> None:
        found = read_progress(tmp_path / "run")
        assert found is not None
        if record.judged is not None and not found.ended:
            seen.append(found)

    quick_model(tmp_path / "run").set_params(callbacks=[look]).fit(*table())
    after = read_progress(tmp_path / "run")
    assert after is not None
    assert [len(one.stages) for one in seen] == list(range(1, len(after.stages) + 1)), "each stage when it ends"
    assert all(len(one.readings) == len(one.stages) + 1 for one in seen)
    assert [at for at, _, _ in seen[-1].stages] == [at for at, _, _ in after.stages]
    best_before = [one.bests[-2] for one in seen]
    for one, before in zip(seen, best_before, strict=True):
        assert one.stages[-1][2] == (one.bests[-1] not in (before, one.reached.start)), "a taken change moves the best"


def test_watch_names_the_stages_that_a_method_names() -> None:
    history = History(Calls())
    for best, name in ((9.0, None), (7.0, "stage 1: pairs"), (7.0, "stage 2: pairs"), (9.0, "stage 1: shifts")):
        history.add("train", 1, 0.0, Reading(np.full(2, best)), None, best=best, judged=name)
    found = [(name, taken) for _, name, taken in _stages(history.records)]
    assert found == [("stage 1: pairs", True), ("stage 2: pairs", False), ("stage 1: shifts", False)]


def test_watch_cost_calls_are_those_of_the_run(tmp_path: Path) -> None:
    model = quick_model(tmp_path / "run").fit(*table())
    found = Watcher(tmp_path / "run").look(0.0)
    assert found.used["cost_calls"] == model.calls_.total("cost")
    assert found.run is not None
    assert found.used["cost_calls"] > found.run.paid("cost"), "a ledger has no cost calls at known decisions"
    assert found.used["solves"] == model.summary_.solves


def test_watch_folder_that_is_removed_or_replaced_is_noticed(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "run")
    quick_model(tmp_path / "run").fit(*table())
    assert "Ended " in str(watch.page())
    shutil.rmtree(tmp_path / "run")
    assert "The folder was removed." in str(watch.page())
    quick_model(tmp_path / "run", name="another").fit(*table())
    page = str(watch.page())
    assert "<h1>another</h1>" in page
    assert "Ended " in page
    watch.close()


def test_watch_folder_of_runs_lists_and_compares_them(tmp_path: Path) -> None:
    for name in ("first", "second"):
        quick_model(tmp_path / name, name=name).fit(*table())
    watch = Watch(tmp_path)
    page = Page(str(watch.page()))
    assert f"2 runs in the folder {tmp_path}: 2 ended." in page.text
    assert page.tags["svg"] == 3, "one figure, and a key for each run"
    assert "<h1>second</h1>" in str(watch.page("second"))
    assert watch.page("..") is None
    assert watch.page("third") is None
    watch.close()


def test_watch_process_that_is_gone_is_noticed(tmp_path: Path) -> None:
    done = subprocess.Popen(["true"])
    done.wait()
    gone = RunProgress(Reached(), pid=done.pid, host=socket.gethostname())
    run = Followed(solved_at=[0.0, 1.0])
    state, message = state_of(run, Start(1, 0.0, {}, None, None), gone, 2.0)
    assert state == "gone"
    assert "ended without a result" in message
    found = Watched(Path(), "", state, message, Start(1, 0.0, {}, None, None), run, gone, 900.0)
    assert _facts(found, run)["Ran for"] == "1 s", "not until now"


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"start": "1", "best": null, "readings": [], "pid": 1, "host": ""}', "\0", '{"readings": 1e999}',
     '{"start": null, "best": null, "readings": [[1, "x"]], "pid": 1, "host": ""}', "[" * 100_000],
)  # fmt: skip
def test_watch_progress_file_of_another_form_is_ignored(tmp_path: Path, content: str) -> None:
    (tmp_path / "progress.json").write_text(content)
    assert read_progress(tmp_path) is None


def test_watch_run_is_stopped_with_the_token_of_the_page_alone(server: WatchServer, tmp_path: Path) -> None:
    solve = Halting()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = threading.Thread(target=trained, args=(tmp_path / "run", solve))
        run.start()
        assert solve.reached.wait(120)
        page = answer_of(server).read().decode()
        token = re.findall(r'name="token" value="([^"]+)"', page)[0]
        assert posted(server, "token=wrong") == 403
        assert posted(server, "") == 403
        assert posted(server, f"token={token}", Host="rebound.example") == 403
        assert not (tmp_path / "run" / "stop").exists()
        assert posted(server, f"token={token}") == 303
        solve.go_on.set()
        run.join()
    assert solve.solves <= HALT + 1, "no solve begins after the stop"
    found = Watcher(tmp_path / "run").look(0.0)
    assert found.state == "stopped"
    assert posted(server, f"token={token}") == 404, "no run is under way"
    assert not (tmp_path / "run" / "stop").exists()


def test_watch_a_page_is_served_to_several_at_a_time(tmp_path: Path) -> None:
    page = Watch(tmp_path)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(page.page())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    page.close()


ODD: tuple[object, ...] = (None, -1, 2**62, 1e308, float("inf"), "x", "\x1b[31m", "[]", "[" * 10_000, b"\xff\x00")


@pytest.mark.parametrize("column", ["run", "began", "terms", "ended", "told"])
def test_watch_odd_starts_end_in_a_page(tmp_path: Path, column: str) -> None:
    quick_model(tmp_path / "run").fit(*table())
    for odd in ODD:
        with closing(sqlite3.connect(tmp_path / "run" / "ledger.sqlite")) as file, file:
            file.execute(f"UPDATE starts SET {column} = ?", (odd,))
        watch = Watch(tmp_path / "run")
        page = watch.page()
        watch.close()
        assert page.rstrip().endswith("</html>"), odd
        assert "\x1b" not in page


def test_watch_lists_the_rows_of_failures_in_order() -> None:
    run = Followed()
    for row in (17, 3, 9):
        run.failures.setdefault(("solve", "error", "licence server down"), FailureGroup()).take(row)
    assert _failures(run) == ["3 x licence server down, rows 3, 9, 17 (solve, error)"]
