"""The page: complete, self-contained, the same each time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from fewsolves.errors import InputError
from fewsolves.reporting import Run, figures, read_runs, write_report
from fewsolves.reporting.groups import groups
from fewsolves.reporting.page import group_tiles, run_tiles

from .html_reading import Page
from .made_up import write_run, write_runs


def page(runs: list[Run], path: Path, **kwargs: object) -> Page:
    return Page(write_report(runs, path, title="A title", **kwargs).read_text(encoding="utf-8"))  # type: ignore[arg-type]


def test_page_holds_the_numbers(few: list[Run], tmp_path: Path) -> None:
    found = page(few, tmp_path / "report.html")
    assert found.tags["h1"] == 1
    assert "A title" in found.text
    for expected in ("kp-weights", "15 (5 methods)", "0–2", "linear", "3f9c2ab7d1e0", "No run gave a warning."):
        assert expected in found.text
    for method in ("pfl", "sfge", "gp-surrogate", "gp-surrogate-paper", "memo"):
        regrets = [run.regret for run in few if run.method == method]
        assert f"{np.mean(regrets):.2f}" in found.pieces
        assert f"± {np.std(regrets, ddof=1):.2f}" in found.text
    assert "no better for 20 epochs" in found.text
    assert found.tags["figure"] == found.tags["figcaption"] == 5
    assert found.tags["details"] == 5
    assert "early_stopping.patience" in found.text


def test_page_tables_and_figures_can_be_read_aloud(few: list[Run], tmp_path: Path) -> None:
    found = page(few, tmp_path / "report.html")
    assert found.tags["caption"] == found.tags["table"]
    scopes = [value for tag, name, value in found.attributes if (tag, name) == ("th", "scope")]
    assert len(scopes) == found.tags["th"]
    assert set(scopes) == {"col", "row", "colgroup"}
    labels = [value for tag, name, value in found.attributes if (tag, name) == ("svg", "aria-label")]
    assert len(labels) == 5
    assert all(len(label) > 40 for label in labels)
    ids = [value for _, name, value in found.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_page_nothing_is_loaded_or_run(few: list[Run], tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    found = page(few, path)
    policy = [value for _, name, value in found.attributes if name == "content" and "default-src" in value]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    assert not {"script", "link", "iframe", "img", "object", "form"} & set(found.tags)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert set(re.findall(r"https?:[^\"]*|//[a-z]", text)) == {"http://www.w3.org/2000/svg"}  # a name, never fetched


def test_page_warnings_are_in_plain_view(tmp_path: Path) -> None:
    write_run(tmp_path / "run", warnings=["3 of 800 solves timed out"])
    found = page(read_runs(tmp_path), tmp_path / "report.html")
    assert "1 warning" in found.text
    assert found.text.index("3 of 800 solves timed out") < found.text.index(
        "lowest" if "lowest" in found.text else "only"
    )


def test_page_several_benchmarks_get_an_overview_and_sections(two_benchmarks: list[Run], tmp_path: Path) -> None:
    found = page(two_benchmarks, tmp_path / "report.html")
    links = [value for tag, name, value in found.attributes if (tag, name) == ("a", "href")]
    ids = {value for _, name, value in found.attributes if name == "id"}
    assert links == ["#benchmark-1", "#benchmark-2"]
    assert {link[1:] for link in links} <= ids
    assert "All benchmarks" in found.text


def test_page_extra_figures_are_shown_with_their_captions(few: list[Run], tmp_path: Path) -> None:
    foreign = Figure()
    foreign.subplots().imshow(np.eye(3))
    x = np.linspace(0, 1, 9)
    extras = {"From elsewhere": foreign, "Ours": figures.smoothing(x, x, {0.1: x})}
    found = page(few, tmp_path / "report.html", extra_figures=extras)
    assert found.tags["figure"] == 7
    assert "From elsewhere" in found.text
    assert found.tags["image"] == 1
    cards = [value for tag, name, value in found.attributes if name == "class" and "white" in value.split()]
    assert len(cards) == 1  # only the figure that does not know the page's tones


def test_page_a_lead_comes_first_with_its_figures_in_place_of_the_headline(few: list[Run], tmp_path: Path) -> None:
    x = np.linspace(0, 1, 9)
    plain = page(few, tmp_path / "plain.html").text
    text = page(
        few,
        tmp_path / "report.html",
        lead=["Gained: <much>."],
        extra_figures={"Ours": figures.smoothing(x, x, {0.1: x})},
    ).text
    assert "has the lowest test regret" in plain
    assert "has the lowest test regret" not in text
    assert text.index("Gained: <much>.") < text.index("Ours") < text.index("Calls by phase")
    assert text.count("Ours") == 1


def test_page_of_bare_runs(few: list[Run], tmp_path: Path) -> None:
    """No history, one method, one seed, nothing optional: a table, and no figure that would be empty."""
    result = {key: few[-1].result[key] for key in ("benchmark", "method", "dataset_seed", "config", "test_regret")}
    result |= {"solves_per_instance": 3, "total_solves_per_instance": 5, "calls": {}, "seconds": {}}
    found = page([Run(result)], tmp_path / "report.html")
    assert found.tags["figure"] == 0
    assert "not recorded" in found.text


def test_page_the_same_runs_give_the_same_bytes(tmp_path: Path) -> None:
    """In another process too, whatever the order in which its sets iterate."""
    write_runs(tmp_path / "runs", seeds=2)
    code = (
        "import sys; from fewsolves.reporting import read_runs, write_report;"
        "write_report(read_runs(sys.argv[1]), sys.argv[2], title='t')"
    )
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "runs"), str(tmp_path / f"{seed}.html")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            timeout=120,
        )
    assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()


def test_page_writing(few: list[Run], tmp_path: Path) -> None:
    path = write_report(few[:1], str(tmp_path / "new" / "folder" / "report.html"), title="t")
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]
    with pytest.raises(InputError, match="at least one run"):
        write_report([], path, title="t")


def test_page_a_folder_as_path_is_refused_with_a_file_to_write(few: list[Run], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is a folder; give the file to write, such as .*report\.html"):
        write_report(few, tmp_path, title="Two methods")


@pytest.mark.parametrize("name", ["file/report.html", "x" * 300, "/dev/null", "a\0b"])
def test_page_a_file_that_cannot_be_written_is_refused(few: list[Run], tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot be written: .*; give another file"):
        write_report(few[:1], tmp_path / name, title="t")


def test_page_missing_packages_are_named() -> None:
    for package in ("jinja2", "matplotlib"):
        code = f"import sys; sys.modules[{package!r}] = None; from fewsolves.reporting import report"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 1
        assert f"{package} is not installed: pip install 'fewsolves[report]'" in done.stderr


def own(method: str = "sfge", **changes: object) -> Run:
    """A run on a problem of the user's own: judged on validation rows."""
    calls = {kind: {"labels": 40, "online": 90, "validation": 60} for kind in ("solve", "cost")}
    result = {
        "problem": "blending", "method": method, "config": {"seed": 5}, "predictor": "linear", "calls": calls,
        "rows": {"train": 90, "valid": 10, "test": 0}, "told": "Regret fell by 40%.", "next": "Score it.",
        "gain": {"mean": 2.0}, "kept_start": False, "best_validation_regret": 3.0, "start_validation_regret": 5.0,
        "solves_per_instance": 1.0, "total_solves_per_instance": 2.1, "seconds": {"total": 7.0, "solver": 6.0},
    }  # fmt: skip
    return Run({**result, **changes})


def test_page_a_run_of_the_users_own_has_its_problem_in_words(tmp_path: Path) -> None:
    known = {"inputs": [4], "parameters": 2, "lower": 0.0, "upper": 12_500.0, "known_data": True, "noisy": "cost"}
    found = page([own(described=known | {"linear": None})], tmp_path / "report.html").text
    assert "2 parameters, each at least 0 and at most 12,500, are predicted from 4 inputs." in found
    assert "The table has 100 rows, each with known data of its own. The cost function is random." in found
    assert "are predicted from" not in page([own()], tmp_path / "earlier.html").text, "a result of an earlier version"


def test_page_a_run_of_the_users_own_begins_with_what_was_gained_and_what_to_do(tmp_path: Path) -> None:
    found = page([own()], tmp_path / "report.html")
    order = [found.text.index(text) for text in ("A title", "Regret fell by 40%.", "Score it.", "The run gave no warn")]
    assert order == sorted(order)
    for expected in ("blending", "90 to train, 10 to validate", "Validation regret", "0.60"):
        assert expected in found.text
    assert "Test regret" not in found.text
    assert "Dataset" not in found.text
    assert not [value for _, name, value in found.attributes if name == "class" and "kept" in value.split()]


def test_page_begins_with_tiles_of_one_denominator(tmp_path: Path) -> None:
    run = own(gain={"start": 20.0, "best": 12.0}, start_validation_regret=20.0, best_validation_regret=11.0)
    tiles = run_tiles(run)
    rows = run.rows["train"] + run.rows["valid"]
    assert tiles[0] == ("−40 %", "avoidable cost (regret)")
    assert tiles[1] == ("12", "mean regret; 20 at the start"), "as the summary says, not as one reading was"
    assert tiles[2] == (f"{run.solves:,}", f"solves, {run.solves / rows:.1f} per row of the table")
    found = page([run], tmp_path / "report.html")
    assert found.text.index("avoidable cost") < found.text.index("Regret fell by 40%.")
    assert run_tiles(own(kept_start=True))[0].value == "0 %"


def test_page_a_start_that_was_kept_stands_out(tmp_path: Path) -> None:
    found = page([own(kept_start=True, message="Nothing was gained.")], tmp_path / "report.html")
    assert [value for _, name, value in found.attributes if name == "class" and "kept" in value.split()] == [
        "lead kept"
    ]


def test_page_stages_are_listed_with_what_each_changed(tmp_path: Path) -> None:
    stages = [
        {"stage": "correction", "solves_per_row": 0.5, "change": -1.25, "error": 0.5, "accepted": True},
        {"stage": "first stage", "solves_per_row": 1.7, "change": 0.5, "error": 0.75, "accepted": False},
        {"stage": "next stage", "solves_per_row": 6.0, "change": -0.1, "error": 0.1, "accepted": 0.5},
    ]
    found = page([own("staged", stages=stages)], tmp_path / "report.html")
    for expected in ("correction", "−1.250", "0.500", "first stage", "yes", "no", "50%"):
        assert expected in found.pieces


def test_page_several_runs_of_the_users_own_are_compared_on_validation_rows(tmp_path: Path) -> None:
    runs = [own("pfl", best_validation_regret=5.0, gain=None), own(), own("gp-surrogate", best_validation_regret=2.0)]
    found = page(runs, tmp_path / "report.html")
    assert "gp-surrogate has the lowest validation regret, 0.40 of PFL’s" in found.text
    assert "Validation regret relative to PFL" in found.text


@pytest.mark.parametrize("unread", [None, float("nan")], ids=["now", "as 0.2.0 wrote it"])
def test_page_of_a_run_that_was_stopped_before_anything_was_judged_says_so(
    tmp_path: Path, unread: float | None
) -> None:
    gain = None if unread is None else {"start": unread, "best": unread}
    none = {"gain": gain, "kept_start": True, "best_validation_regret": unread, "start_validation_regret": unread}
    run = own("staged", stopped="interrupted before anything was judged; kept its start", **none)
    assert run_tiles(run)[0] == ("–", "no regret is known: stopped before anything was judged")
    found = page([run], tmp_path / "report.html")
    assert "nan" not in found.text
    assert "diverged" not in found.text
    failures = {"number": 3, "by_status": {"error": 3}, "first": []}
    assert own(**none, stopped="schedule complete", failures=failures).unjudged == "every solve at a prediction failed"
    beside = page([run, own(), own("pfl", best_validation_regret=5.0, gain=None)], tmp_path / "several.html")
    assert "nan" not in beside.text


def judged(what: str, digest: str) -> dict[str, object]:
    return {"what": what, "rows": 24, "digest": digest}


def test_page_runs_that_were_judged_on_different_rows_are_not_compared(tmp_path: Path) -> None:
    pfl = own("pfl", best_validation_regret=5.0, gain=None, judged_on=judged("validation", "a"))
    staged = own("staged", gain={"start": 5.0, "best": 2.8}, judged_on=judged("evidence", "b"))
    apart = page([pfl, staged], tmp_path / "apart.html").text
    assert "judged on different rows, so their regrets cannot be compared" in apart
    assert "24 evidence" in apart
    assert "24 validation" in apart
    assert "Relative to its own start" in apart
    assert "relative to PFL" not in apart
    assert "of PFL" not in apart
    together = page([pfl, own("sfge", judged_on=judged("validation", "a"))], tmp_path / "together.html").text
    assert "Relative to PFL" in together
    assert "different rows" not in together
    without = own("egl-mse", gain=None, start_validation_regret=None, judged_on=judged("validation", "c"))
    assert [one.relative for one in groups([pfl, without]) if one.method == "egl-mse"] == [None]


def test_page_of_several_runs_begins_with_tiles(few: list[Run], two_benchmarks: list[Run], tmp_path: Path) -> None:
    runs = [own("pfl", best_validation_regret=5.0, gain=None), own(), own("gp-surrogate", best_validation_regret=2.0)]
    tiles = group_tiles(groups(runs))
    assert tiles[0] == ("−60 %", "avoidable cost (regret) with gp-surrogate, relative to PFL")
    assert tiles[1] == ("190", "solves by gp-surrogate, 1.9 per row of the table")
    assert "−60 %" in page(runs, tmp_path / "report.html").text
    three = [run for run in few if run.method in ("pfl", "sfge", "gp-surrogate")]
    assert group_tiles(groups(three))[-1].label == "fewer solves than the next method, sfge"
    assert [tile.label for tile in group_tiles(groups(two_benchmarks))] == ["benchmarks", "methods", "solves in all"]


def test_page_of_a_benchmark_says_where_readings_of_training_are_of_different_rows(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "sfge", "sfge")
    write_run(tmp_path / "runs" / "pfl", "pfl")
    apart = "The runs were judged on different rows: compare each with its own start"
    assert apart not in page(read_runs(tmp_path / "runs"), tmp_path / "alike.html").text
    judged = {"what": "evidence", "rows": 50, "digest": "another"}
    write_run(tmp_path / "runs" / "staged", "staged", judged_on=judged)
    found = page(read_runs(tmp_path / "runs"), tmp_path / "apart.html").text
    assert apart in found
    assert "so their regrets cannot be compared" not in found, "those of the test rows can be"
