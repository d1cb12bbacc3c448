"""The studies of the default: what their tables count, and that a small one runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.measure import frontier
from fewsolves_studies.measure import frontier_tables as tables
from fewsolves_studies.measure.frontier_beside import beside

ROOT = Path(__file__).parents[3]


def runs_of(case, method, budget, ratios, *, solves, blocks=None, in_all=None):
    """Runs of datasets 0, 1, ... where PFL has a regret of 100."""
    return {
        f"{case}/{method}@{budget}.{dataset}": {
            "regret": 100 * ratio,
            "blocks": [100 * ratio] * 10 if blocks is None else [100 * (ratio + b) for b in blocks],
            "solves": solves,
            "solves_in_all": solves + 1 if in_all is None else in_all,
            "cost_calls": 0,
            "seconds": 1,
        }
        for dataset, ratio in enumerate(ratios)
    }


@pytest.fixture
def runs():
    """pairs are better at 4, and cheaper by nothing; shift is best of all, and dear."""
    return (
        runs_of("fleet", "pfl", "own", [1, 1, 1], solves=0)
        | runs_of("fleet", "shift", "own", [0.4, 0.4, 0.4], solves=30)
        | runs_of("fleet", "pairs", 2, [0.9, 0.9, 0.9], solves=2)
        | runs_of("fleet", "pairs", 4, [0.7, 0.71, 0.72], solves=4)
        | runs_of("fleet", "staged", 0, [1, 1, 1], solves=0)
        | runs_of("fleet", "staged", 2, [0.8, 0.81, 0.79], solves=2)
        | runs_of("fleet", "staged", 4, [0.8, 0.81, 0.82], solves=3.5)
        | runs_of("fleet", "staged", "own", [0.5, 0.5, 0.5], solves=1)
    )


def test_frontier_a_method_counts_with_its_largest_run_that_a_budget_allows(runs):
    of_case = tables.entries(runs)["fleet"]
    assert set(tables.at(of_case, 1, "solves")) == {"pfl", "staged"}
    assert tables.at(of_case, 3, "solves")["pairs"].budget == "2"
    assert tables.at(of_case, 4, "solves")["staged"].mean == pytest.approx(0.81)
    assert "shift" not in tables.at(of_case, 16, "solves") and "shift" in tables.at(of_case, 32, "solves")


def test_frontier_all_solves_are_another_count(runs):
    of_case = tables.entries(runs)["fleet"]
    assert tables.at(of_case, 4, "solves_in_all")["pairs"].budget == "2"
    assert "pairs" not in tables.at(of_case, 2, "solves_in_all")


def test_frontier_all_solves_but_the_labels_are_a_third_count_where_runs_have_it(runs):
    assert not tables.compare(tables.entries(runs), "solves_after_labels"), "older runs do not have it"
    counted = {name: run | {"solves_after_labels": run["solves"] + ("pairs" in name)} for name, run in runs.items()}
    of_case = tables.entries(counted)["fleet"]
    assert tables.at(of_case, 4, "solves_after_labels")["pairs"].budget == "2"
    assert tables.at(of_case, 4, "solves_after_labels")["staged"].budget == "4"


def test_frontier_the_default_is_compared_with_the_best_other_method_that_paid_no_more(runs):
    found = {one.budget: one for one in tables.compare(tables.entries(runs), "solves")}
    assert sorted(found) == [0, 2, 4]  # what the default was asked for
    assert found[2].best.method == "pairs" and found[2].to_best.mean == pytest.approx(-0.1)
    assert found[4].to_best.mean == pytest.approx(0.1) and tables.clearly_above(found[4].to_best)
    assert found[4].to_shift is None and not tables.clearly_above(found[4].to_pfl)


def test_frontier_the_table_counts_how_often_the_default_is_within_noise_of_the_best(runs):
    rows = tables.by_budget(tables.compare(tables.entries(runs), "solves"))
    table = {row["solves per row"]: row for row in rows if row["problems"] == "reported half of the panel"}
    assert table["2"]["within 1 s.e. of the best other"] == "1 (100%)"
    assert table["4"]["within 1 s.e. of the best other"] == "0 (0%)"
    assert [table[b]["not, and 1 % of PFL's regret behind"] for b in ("2", "4")] == ["0", "1"]
    assert table["all budgets"]["compared"] == "3" and table["all budgets"]["largest distance"] == "+0.100"
    assert {row["problems"] for row in rows} == {"reported half of the panel", "all"}


def test_frontier_noise_is_the_larger_of_that_over_datasets_and_that_over_fresh_rows():
    blocks = 0.3 * np.array([1, -1] * 5)
    made = runs_of("fleet", "pfl", "own", [1, 1, 1], solves=0)
    made |= runs_of("fleet", "pairs", 2, [0.7, 0.7, 0.7], solves=2)
    made |= runs_of("fleet", "staged", 2, [0.75, 0.75, 0.75], solves=2, blocks=blocks)
    of_case = {entry.method: entry for entry in tables.entries(made)["fleet"]}
    gap = tables.difference(of_case["staged"], of_case["pairs"])
    assert gap.mean == pytest.approx(0.05)
    assert gap.error == pytest.approx(0.1 / np.sqrt(3))  # ten blocks, each 0.3 off, of three datasets


def test_frontier_the_goals_stand_beside_what_was_reached():
    made = runs_of("kp-values", "pfl", "own", [1, 1], solves=0)
    made |= runs_of("kp-values", "staged", 4, [0.1, 0.2], solves=4)
    table = {row["benchmark"]: row for row in tables.must_show(tables.entries(made))}
    assert table["kp-values"] == {
        "benchmark": "kp-values", "@ 1": "", "@ 4": "0.150 ± 0.050 (0.15)", "@ 16": "", "@ 64": "",
    }  # fmt: skip


def test_frontier_the_halves_of_the_panel_share_no_problem():
    reported, chosen = (list(tables.GROUPS.values())[k] for k in (0, 1))
    assert not [case for case in frontier.CASES if reported(case) and chosen(case)]
    assert [case for case in frontier.CASES if reported(case)] == [
        "lot-sizing", "lot-sizing-stock", "portfolio", "inventory", "fleet", "crews", "picking", "items", "paths",
        "inventory-1000", "lot-sizing-1000",
    ]  # fmt: skip


def test_frontier_a_small_study_runs_and_goes_on_where_it_stopped(tmp_path):
    study, plan = Study(tmp_path), frontier.planned(["pfl", "shift", "pairs", "staged"], ["0", "2"])
    frontier.run_in_turn(frontier.CASES["fleet"], 0, plan, study, fresh=100)
    assert set(study.read()) == {
        f"fleet/{run}.0" for run in ("pfl@own", "shift@own", "pairs@2", "staged@0", "staged@2")
    }
    record = study.read()["fleet/shift@own.0"]
    assert record["solves"] > 5 and record["solves_in_all"] > record["solves"]  # its validation is what it pays
    pairs, default = (study.read()[f"fleet/{method}@2.0"] for method in ("pairs", "staged"))
    assert pairs["solves"] == pytest.approx(2) and pairs["solves_after_labels"] > 2.1, "its validation is counted apart"
    assert default["solves"] == default["solves_after_labels"] <= 2, "its evidence is part of what it pays"
    assert default["solves_in_all"] == pytest.approx(default["solves"] + 300 / 240, abs=0.05)  # labels of all rows
    assert frontier.complete([(frontier.CASES["fleet"], 0, plan)], study, jobs=1)  # nothing is missing
    tables.write(tmp_path, study.read())
    assert "| fleet | 1 | " in (tmp_path / "tables.md").read_text()
    assert (tmp_path / "reported.png").exists() and (tmp_path / "by-case.csv").exists()


def test_frontier_committed_tables_are_what_their_runs_say(tmp_path, monkeypatch):
    from fewsolves_studies.measure import frontier_pictures

    folder = ROOT / "results" / "frontier"
    monkeypatch.setattr(frontier_pictures, "draw", lambda *_: None)
    tables.write(tmp_path, Study(folder).read())
    for path in tmp_path.iterdir():
        assert path.read_text() == (folder / path.name).read_text()


def test_frontier_two_versions_are_compared_on_the_datasets_that_both_have():
    pfl = runs_of("fleet", "pfl", "own", [1, 1, 1], solves=0)
    former = pfl | runs_of("fleet", "staged", 4, [0.8, 0.8, 0.7], solves=4)
    present = pfl | runs_of("fleet", "staged", 4, [0.9, 0.9], solves=4)
    (row,) = beside(present, former)
    assert row == {"problem": "fleet", "@ 4": "0.900 (0.800) **+0.100 ± 0.000**", "datasets": "0, 1"}
    (row,) = beside(former, present)
    assert row["@ 4"] == "0.800 (0.900) -0.100 ± 0.000"
