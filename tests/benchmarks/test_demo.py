import json

import pytest
from rich.console import Console

from fewsolves.benchmarks import demo, regret_landscapes
from fewsolves.benchmarks import run as run_module

QUICK = {"start_epochs": 2, "max_epochs": 2}


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    few = ("pfl", "sfge", "spo+", "gp-surrogate")
    monkeypatch.setattr(demo, "METHODS", {name: demo.METHODS[name] for name in few})
    monkeypatch.setattr(demo, "ROWS", 40)
    monkeypatch.setattr(demo, "SHORT", QUICK)
    monkeypatch.setattr(run_module, "FRESH_ROWS", 20)
    monkeypatch.setattr(regret_landscapes, "DRAWS", 2)
    monkeypatch.setenv("COLUMNS", "160")


def test_the_demo_writes_a_report_and_prints_a_table(tmp_path, capsys):
    demo.run_demo(tmp_path / "out", "kp-capacity", 1)
    printed = capsys.readouterr().out
    assert "spo+ is left out: it needs an objective y @ z" in printed
    for name in ("pfl", "sfge", "gp-surrogate"):
        result = json.loads((tmp_path / "out" / name / "result.json").read_text())
        assert result["method"] == name
        assert result["dataset_seed"] == 1
        assert result["config"]["data"]["n"] == 40
        assert (tmp_path / "out" / name / "history.csv").exists()
        row = next(line for line in printed.splitlines() if line.strip(" │|┃").startswith(f"{name} "))
        assert f"{result['fresh_regret']:.4g}" in row
        assert f"{result['solves_per_instance']:.1f}" in row
    assert not (tmp_path / "out/spo+").exists()
    report = tmp_path / "out/report.html"
    assert f"report: {report}" in printed
    html = report.read_text()
    assert "fewsolves demo: kp-capacity" in html
    assert "A slice through the regret of one example" in html
    assert "figure 1 of the paper" in html


def test_the_table_is_sorted_by_regret_and_relative_to_prediction_focused_learning(tmp_path, capsys):
    demo.run_demo(tmp_path, "kp-capacity", 0)
    printed = capsys.readouterr().out
    table = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if line.startswith("│")]
    assert [float(row[1]) for row in table] == sorted(float(row[1]) for row in table)
    assert {row[0]: row[2] for row in table}["pfl"] == "1.00"


def test_a_start_without_regret_is_no_accident():
    figures = {"fresh_regret": 0.0, "solves_per_instance": 1.0, "total_solves_per_instance": 2.0}
    none = run_module.BenchmarkRun(fit=None, result=figures | {"seconds": {"total": 3.0}})
    console = Console(width=160)
    with console.capture() as captured:
        console.print(demo._table("toy-64", {"pfl": none, "sfge": none}))
    assert captured.get().count("–") == 2
