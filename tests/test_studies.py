"""The scripts behind the committed results: they are run by hand, so a name that moved would go unnoticed."""

from __future__ import annotations

import csv
import runpy
from pathlib import Path

import pytest

from fewsolves.benchmarks.study import Study
from fewsolves.paper.trial import Results, Trial

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "benchmarks").glob("*.py"))
STUDIES = ("gp-surrogate", "gp-surrogate-toy", "gp-surrogate-network", "other-methods")


@pytest.fixture
def script(monkeypatch):
    """The names of a script, without running it."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return lambda name: runpy.run_path(str(ROOT / "benchmarks" / f"{name}.py"), run_name="imported")


@pytest.mark.parametrize("name", [path.stem for path in SCRIPTS])
def test_it_finds_everything_that_it_imports(script, name):
    script(name)


def table_of(study):
    with (study.folder / "table.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", STUDIES)
def test_a_committed_table_is_what_its_runs_say(script, name):
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


def test_the_committed_gains_on_the_panel_are_complete_and_their_table_is_theirs(script):
    panel, folder = script("panel"), ROOT / "results" / "panel"
    with (folder / "gains.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = [(name, str(seed)) for name in panel["PANEL"] for seed in panel["SEEDS"]]
    assert [(row["problem"], row["dataset"]) for row in rows] == expected
    assert panel["table"](rows) in (folder / "gains.md").read_text()


def test_the_gains_on_one_dataset_are_measured_anew(script):
    """PFL and the true mean, with the figures on record; the policies, which take a minute, are left out."""
    panel = script("panel")
    panel["measure"].__globals__["pairs"] = lambda on, W, *_, **__: W
    with (ROOT / "results" / "panel" / "gains.csv").open(newline="") as file:
        recorded = next(row for row in csv.DictReader(file) if row["problem"] == "loading")
    found = panel["measure"]("loading", 0)
    assert list(found) == list(recorded) and found["instances"] == recorded["instances"] == "yes"
    for key in ("n_y", "cost at y", "PFL", "negative", "true mean", "s", "shift", "shift se"):
        assert float(found[key]) == pytest.approx(float(recorded[key]), rel=1e-4)


def test_the_committed_choices_are_what_their_runs_say(script):
    study = Study(ROOT / "results" / "choices")
    for row in table_of(study):
        of = f"{row['benchmark']}/{row['variant']}.linear."
        mine = [result for run, result in study.read().items() if run.startswith(of)]
        assert row == script("choices")["row"](row["variant"], row["benchmark"], mine)
