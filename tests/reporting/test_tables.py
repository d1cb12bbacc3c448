"""The numbers of the page: means, what is best, what a reader is warned of."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from fewsolves.reporting import Run, read_runs
from fewsolves.reporting.groups import groups
from fewsolves.reporting.notes import headline, notes
from fewsolves.reporting.tables import calls, decimals, details, fixed, overview, ranges, summary

from .made_up import write_run, write_runs


def test_reporting_tables_summary_holds_the_means_best_first(few: list[Run]) -> None:
    table = summary(groups(few))
    assert table.columns[:2] == ("Test regret", "Relative to PFL")
    assert table.rows[0].label == "gp-surrogate"
    assert table.rows[-1].label == "pfl"
    regrets = [run.regret for run in few if run.method == "gp-surrogate"]
    assert table.rows[0].cells[0].text == f"{np.mean(regrets):.2f}"
    assert table.rows[0].cells[0].deviation == f"{np.std(regrets, ddof=1):.2f}"
    assert table.rows[0].cells[0].best
    assert not any(row.cells[0].best for row in table.rows[1:])


def test_reporting_tables_the_cheapest_is_sought_among_methods_that_gain(few: list[Run]) -> None:
    table = summary(groups(few))
    column = table.columns.index("Solves per row of the table")
    paid = {row.label: float(row.cells[column].text) for row in table.rows}
    best = [row.label for row in table.rows if row.cells[column].best]
    assert best == ["memo"]  # PFL pays less, and gains nothing
    assert min(paid, key=lambda label: paid[label]) == "pfl"


def test_reporting_tables_columns_without_any_value_are_left_out(tmp_path: Path) -> None:
    write_run(tmp_path / "run", "sfge", fresh_regret=None)
    table = summary(groups(read_runs(tmp_path)))
    assert not {"Gap closed", "Regret, fresh data", "Relative to PFL"} & set(table.columns)
    assert not table.has_deviations
    assert not any(cell.best for row in table.rows for cell in row.cells)  # alone, nothing is best


def test_reporting_tables_reasons_are_counted(tmp_path: Path) -> None:
    for seed, reason in enumerate(("budget", "patience", "budget")):
        write_run(tmp_path / str(seed), "sfge", seed, stopped=reason)
    [row] = summary(groups(read_runs(tmp_path))).rows
    assert row.reasons == "budget (2×); patience (1×)"


def test_reporting_tables_calls_by_phase_add_up(few: list[Run]) -> None:
    table = calls(groups(few))
    assert table.columns[:7] == ("probe", "labels", "pre-training", "online", "validation", "test", "all")
    assert table.groups == (("Solves", 7), ("Cost calls", 7))
    for row in table.rows:
        counts = [int(cell.text.replace(",", "")) if cell.text != "–" else 0 for cell in row.cells[:7]]
        assert abs(sum(counts[:-1]) - counts[-1]) <= 3  # each is a rounded mean


def test_reporting_tables_overview_falls_back_to_regret_where_pfl_did_not_run(two_benchmarks: list[Run]) -> None:
    table = overview(groups(two_benchmarks))
    assert table.columns == ("kp-values", "wsmc-10-50")
    rows = {row.label: row.cells for row in table.rows}
    assert rows["pfl"][0].text == "1.00"
    assert rows["pfl"][1].text == "–"
    assert "," in rows["sfge"][1].text
    assert rows["sfge"][0].deviation == "@ 317"


def test_reporting_tables_equal_warnings_are_drawn_together(tmp_path: Path) -> None:
    for seed in range(3):
        write_run(tmp_path / str(seed), "sfge", seed, warnings=["3 solves timed out"])
    [note] = notes(groups(read_runs(tmp_path)))
    assert note == ("kp-weights, sfge, seeds 0–2", "3 solves timed out")


def test_reporting_tables_gaps_in_the_comparison_are_said(tmp_path: Path) -> None:
    write_runs(tmp_path, ("pfl", "sfge"), seeds=2)
    write_run(tmp_path / "odd", "memo", 1, commit="0" * 40, test_regret=float("nan"))
    texts = [f"{note.about}: {note.text}" for note in notes(groups(read_runs(tmp_path)))]
    assert any("memo, seed 1: test regret is nan" in text for text in texts)
    assert any("memo: ran on dataset seeds 1, of 0, 1 in all" in text for text in texts)
    assert any("2 commits: 000000000000, 3f9c2ab7d1e0" in text for text in texts)


def test_reporting_tables_name_code_that_is_not_committed(tmp_path: Path) -> None:
    write_run(tmp_path / "run", commit="3f9c2ab7d1e0+")
    [note] = notes(groups(read_runs(tmp_path)))
    assert "changes that are in no commit (3f9c2ab7d1e0+)" in note.text


def test_reporting_tables_the_headline_names_best_and_cheapest(few: list[Run]) -> None:
    text = headline(groups(few))
    assert text.startswith("gp-surrogate has the lowest test regret, 0.")
    assert "memo pays least among the methods that gain on PFL" in text


def test_reporting_tables_headlines_of_odd_pages(tmp_path: Path) -> None:
    write_run(tmp_path / "one", "sfge", test_regret=float("nan"))
    assert headline(groups(read_runs(tmp_path))) == "No run ended with a finite test regret."
    write_run(tmp_path / "one", "sfge", test_regret=1.5)
    assert headline(groups(read_runs(tmp_path))).startswith("sfge is the only method here, with a test regret of 1.50")


def test_reporting_tables_settings_are_listed_once_or_per_seed(few: list[Run]) -> None:
    [first, *_] = details(groups(few))
    settings = dict(first.settings)
    assert settings["learning_rate"] == "0.001"
    assert settings["seed"] == "0 (seed 0), 1 (seed 1), 2 (seed 2)"
    assert len(first.runs.rows) == 3


def test_reporting_tables_numbers() -> None:
    assert fixed(None, 2) == "–"
    assert fixed(1234.567, 1) == "1,234.6"
    assert fixed(-0.5, 2) == "−0.50"
    assert [fixed(value, 0) for value in (math.nan, math.inf, -math.inf)] == ["nan", "∞", "−∞"]


@pytest.mark.parametrize(
    ("values", "places"),
    [([128.55, 35.4], 1), ([1.78, 1.04, 4.85], 2), ([0.33], 3), ([287_000.0], 0), ([], 0), ([0.0, math.nan], 0)],
)
def test_reporting_tables_a_column_has_one_number_of_decimals(values: list[float], places: int) -> None:
    assert decimals(values) == places


def test_reporting_tables_ranges() -> None:
    assert ranges([4, 3, 2, 1, 0, 0]) == "0–4"
    assert ranges([0, 1, 5]) == "0, 1, 5"
    assert ranges([]) == ""
