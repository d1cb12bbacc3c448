"""Every experiment's tables, figures and page, from made-up results."""

from __future__ import annotations

import csv
import shutil

import pytest

from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.paper.experiment import Size
from fewsolves_studies.paper.experiments import EXPERIMENTS
from fewsolves_studies.paper.output import write
from fewsolves_studies.paper.trial import Results, Trial
from reporting.html_reading import Page
from reporting.test_browser import EXECUTABLE, browse

from . import made_up

SIZE = Size(datasets=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    chosen = list(EXPERIMENTS.values())
    study = made_up.study_of([trial for one in chosen for trial in one.trials(SIZE)], folder)
    texts = list(write(chosen, chosen, SIZE, study))
    assert len(texts) == len(chosen) + 1
    return folder


def rows(folder, name):
    with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_paper_output_q1_lays_ours_beside_the_printed_figures(folder):
    table = {row["method"]: row for row in rows(folder, "q1")}
    assert table["sfge"]["kp-weights"] == "0.60 ± 0.00 (0.79)"
    assert table["spo+"]["kp-weights"] == "", "does not apply"
    long = {(row["benchmark"], row["method"]): row for row in rows(folder, "q1-long")}
    sfge = long["kp-weights", "sfge"]
    assert (sfge["to PFL"], sfge["better than PFL"]) == ("0.600", "2 of 2")
    assert (sfge["printed"], sfge["printed std"]) == ("1.4", "0.29")
    assert (sfge["test regret"], sfge["test regret std"], sfge["± 95 %"]) == ("6.3", "0.424264", "3.8")
    assert "| 6.30 ± 0.42 | 3.8 | 1.4 ± 0.29 |" in (folder / "q1.md").read_text()
    assert sfge["gap closed"] == "49%", "(10 - 6) / (10 - 2) and (11 - 6.6) / (11 - 2)"
    assert sfge["to SFGE"] == "", "not against itself"


def test_paper_output_q2_has_the_papers_count_and_the_seconds_of_slow_solves(folder):
    counts = {(row["benchmark"], row["method"]): row for row in rows(folder, "q2-solves")}
    assert counts["kp-weights", "lodl-quadratic"]["printed calls"] == "250"
    assert counts["kp-weights", "sfge"]["evaluations"] == "4"
    seconds = rows(folder, "q2-seconds")
    assert {row["solver"] for row in seconds} == {"5 ms a solve", "generic MILP, 120 s at the most"}
    assert {(row["seconds"], row["in the solver"], row["rest"]) for row in seconds} == {("20", "8", "12")}


def test_paper_output_q3_says_who_hit_the_limit(folder):
    table = {(row["benchmark"], row["method"]): row for row in rows(folder, "q3")}
    assert table["wsmc-10-250", "sfge"]["hit the limit"] == "2"
    assert table["wsmc-10-250", "gp-surrogate"]["hit the limit"] == "0"
    assert table["wsmc-10-1000", "gp-surrogate"]["printed seconds"] == "818.44"


def test_paper_output_figures_are_saved_for_screen_and_print(folder):
    for name in ("q1", "q3", "q4", "ablation", "sensitivity", "smoothing", "regret-calls"):
        assert (folder / f"{name}.svg").read_text().lstrip().startswith("<?xml")
        assert (folder / f"{name}.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_paper_output_nothing_of_a_figure_is_cut_off(folder, name):
    results = Results.among(EXPERIMENTS[name].trials(SIZE), Study(folder).read())
    for figure, _ in EXPERIMENTS[name].show(results, SIZE).figures.values():
        drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert 0 <= drawn.x0 < drawn.x1 <= width
        assert 0 <= drawn.y0 < drawn.y1 <= height


def test_paper_output_the_page_has_every_experiment_with_its_command(folder):
    page = Page((folder / "index.html").read_text(encoding="utf-8"))
    for name in EXPERIMENTS:
        assert f"fewsolves paper {name} --datasets 2" in page.text, name
    assert "abc123" in page.text
    assert not {"script", "img"} & set(page.tags)


@pytest.mark.skipif(EXECUTABLE is None, reason="no chromium or chromium-browser on the path")
def test_paper_output_the_page_in_a_browser(folder, tmp_path):
    written = Page((folder / "index.html").read_text(encoding="utf-8"))
    found = Page(browse(folder / "index.html", tmp_path, "--dump-dom"))
    assert found.tags["tr"] == written.tags["tr"] > 100
    assert found.tags["svg"] == written.tags["svg"] == 7


def test_paper_output_one_experiment_leaves_the_tables_of_the_others_alone(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "q4.md").write_text("mine")
    list(write(list(EXPERIMENTS.values()), [EXPERIMENTS["ablation"]], Size(datasets=1), Study(tmp_path)))
    assert (tmp_path / "q4.md").read_text() == "mine"
    assert rows(tmp_path, "ablation")[0]["datasets"] == "1"
    page = Page((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert "fewsolves paper q4 --datasets 2" in page.text, "the page has all that is there"


def test_paper_output_what_has_not_run_is_left_out(tmp_path):
    one = Trial(benchmark="toy-64", method="sfge", dataset=0, settings=(("start_epochs", 500), ("warm_start", False)))
    list(write(list(EXPERIMENTS.values()), [EXPERIMENTS["q4"]], Size(datasets=1), made_up.study_of([one], tmp_path)))
    page = Page((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert "1 of 12 runs" in page.text
    assert "fewsolves paper q1" not in page.text
