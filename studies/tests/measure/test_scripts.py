"""The scripts behind the committed results: they are run by hand, so a name that moved would go unnoticed."""

from __future__ import annotations

import csv
import runpy
from pathlib import Path

import pytest

from fewsolves_studies import measure
from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.paper.trial import Results, Trial

ROOT = Path(__file__).parents[3]
SCRIPTS = Path(measure.__file__).parent
STUDIES = ("gp-surrogate", "gp-surrogate-toy", "gp-surrogate-network", "other-methods")


@pytest.fixture
def script():
    """The names of a script, without running it."""
    return lambda name: runpy.run_path(str(SCRIPTS / f"{name}.py"), run_name="imported")


@pytest.mark.parametrize("name", sorted(path.stem for path in SCRIPTS.glob("[!_]*.py")))
def test_scripts_finds_everything_that_it_imports(script, name):
    script(name)


def table_of(study):
    with (study.folder / "table.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", STUDIES)
def test_scripts_a_committed_table_is_what_its_runs_say(script, name):
    study = Study(ROOT / "results" / name)
    found = {
        Trial(benchmark=r["benchmark"], method=r["method"], dataset=r["dataset_seed"], predictor=r["predictor"]): r
        for r in study.read().values()
    }
    assert {trial.run for trial in found} == set(study.read())
    rows = {(row["benchmark"], row["method"]): row for row in script("over_datasets")["rows"](Results(found))}
    for row in table_of(study):
        made = rows.pop((row["benchmark"], row["method"]))
        assert row == {head: str(made.get(head, "")) for head in row}
    assert not rows


def test_scripts_the_committed_gains_on_the_panel_are_complete_and_their_table_is_theirs(script):
    panel, folder = script("panel"), ROOT / "results" / "panel"
    with (folder / "gains.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = [(name, str(seed)) for name in panel["PANEL"] for seed in panel["SEEDS"]]
    assert [(row["problem"], row["dataset"]) for row in rows] == expected
    assert panel["table"](rows) in (folder / "gains.md").read_text()


def test_scripts_the_gains_on_one_dataset_are_measured_again(script):
    """PFL and the true mean, with the figures on record; the policies, which take a minute, are left out."""
    panel = script("panel")
    panel["measure"].__globals__["pairs"] = lambda on, W, *_, **__: W
    with (ROOT / "results" / "panel" / "gains.csv").open(newline="") as file:
        recorded = next(row for row in csv.DictReader(file) if row["problem"] == "loading")
    found = panel["measure"]("loading", 0)
    assert list(found) == list(recorded) and found["instances"] == recorded["instances"] == "yes"
    for key in ("n_y", "cost at y", "PFL", "negative", "true mean", "s", "shift", "shift se"):
        assert float(found[key]) == pytest.approx(float(recorded[key]), rel=1e-4)


def test_scripts_the_committed_choices_are_what_their_runs_say(script):
    study = Study(ROOT / "results" / "choices")
    for row in table_of(study):
        of = f"{row['benchmark']}/{row['variant']}.linear."
        mine = [result for run, result in study.read().items() if run.startswith(of)]
        assert row == script("choices")["row"](row["variant"], row["benchmark"], mine)


def test_scripts_readings_are_ranked_by_their_distance_from_the_printed_counts(script):
    readings = script("readings")
    every = readings["found"](Study(ROOT / "results" / "paper").read())
    (row,) = readings["ranking"](every)
    assert (row["reading"], row["cells"], row["runs"]) == ("as it stands", "36", "180")
    near = sum(abs(one.count / one.published.mean - 1) <= 0.15 for one in every)
    assert row["within 15 %"] == f"{near} of 36"
    ratios = [(one.cell == "sharing off, beta 1", one.ratio("test"), one.published_ratio) for one in every]
    met = [first for first, ours, printed in ratios if abs(ours - printed.mean) <= printed.std]
    assert row["regrets within the spread, test rows"] == f"{sum(met)} of 4; all {len(met)} of 36"
    exact = [one._replace(runs={0: {"evaluations_per_instance": one.published.mean}}) for one in every]
    assert readings["distance"](exact) == 0.0
    twice = [one._replace(runs={0: {"evaluations_per_instance": 2 * one.published.mean}}) for one in every]
    assert readings["distance"](twice) == pytest.approx(0.6931, abs=1e-4)


def test_scripts_a_reading_without_pre_training_pays_from_the_first_epoch(script):
    trial = script("readings")["trial"]("100 steps, 40 of each", "pre-training off", "kp-capacity", 0)
    changed = {"gate_std": "observation", "points": 0, "refit_each": True, "adam_steps": 100}
    assert changed.items() <= dict(trial.settings).items()
    assert "sharing" not in dict(trial.settings)


def test_scripts_examples_of_one_truth_pay_for_one_hypercube_where_they_share(script):
    readings = script("readings")
    counted, share = readings["counted"], readings["distinct"]("kp-capacity", 0)
    assert share == 22 / 800
    of = "100 steps, 40 of each", "kp-capacity"

    def count(paid, cell, reading=of[0]):
        return counted({"evaluations_per_instance": paid}, reading, cell, of[1], 0)

    assert count(31.5, "beta 0.5") == 31.5, "nothing is shared"
    assert count(30.5, "full model") == pytest.approx(0.5 + 6 + 24 * share)
    assert count(40.5, "pre-training off") == pytest.approx(40.5 + 6 + 24 * share), "paid for, to compare landscapes"
    assert count(6.5, "full model", "as it stands") == 6.5


def test_scripts_the_committed_table_of_readings_is_what_their_runs_say(script, tmp_path):
    readings, results = script("readings"), ROOT / "results"
    runs = Study(results / "paper").read() | Study(results / "readings").read()
    assert readings["write"](tmp_path, readings["found"](runs)) == (results / "readings" / "table.md").read_text()
    assert (tmp_path / "counts.csv").read_text() == (results / "readings" / "counts.csv").read_text()


def test_scripts_the_committed_screen_of_readings_is_what_its_runs_say(script):
    screen, folder = script("readings_screen"), ROOT / "results" / "readings"
    with (folder / "screen.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == screen["screen"](Study(folder), int(rows[0]["datasets"]))
    assert screen["table"](rows) == (folder / "screen.md").read_text()
