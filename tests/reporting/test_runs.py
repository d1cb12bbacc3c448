"""Reading run folders: what is there, and what is said when it is not."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fewsolves as fs
from fewsolves._internal.text import number
from fewsolves.errors import InputError
from fewsolves.fitting.progress_file import read_progress
from fewsolves.reporting import Run, read_run, read_runs, run_sources
from problems_of_users import NEWSVENDOR, demand_table

from .html_reading import Page
from .made_up import write_run, write_runs


def change(folder: Path, **changes: Any) -> None:
    path = folder / "result.json"
    result = json.loads(path.read_text())
    result.update(changes)
    path.write_text(json.dumps({key: value for key, value in result.items() if value != "DROP"}))


def test_runs_a_run_has_typed_figures(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "run", "gp-surrogate", seed=3))
    assert (run.benchmark, run.method, run.dataset_seed, run.predictor) == ("kp-weights", "gp-surrogate", 3, "linear")
    assert run.calls("solve", "labels") == 900
    assert run.calls("cost", "test") == 100
    assert run.calls("cost", "unheard of") == 0
    assert run.number("solves_per_instance") == pytest.approx(29, abs=0.1)
    assert run.number("no such figure") is None
    assert run.seconds("solver") is not None
    assert run.calibration is not None
    assert run.calibration.nominal == (0.5, 0.8, 0.95)
    assert run.has_trust
    assert run.settings["early_stopping.patience"] == "20"
    assert run.settings["budget"] == "null"


def test_runs_history_rows_keep_their_blanks_and_add_up(tmp_path: Path) -> None:
    first, second, *_, last = read_run(write_run(tmp_path / "run")).history
    assert (first.stage, last.stage) == ("start", "train")
    assert first.validation_regret is not None
    assert second.validation_regret is None
    assert first.trusted is None
    assert last.trusted is not None
    assert sum(first.solves.values()) == 3 + 900 + 100
    assert last.solves["pre-training"] == 8 * 800


def test_runs_read_runs_finds_one_or_many(tmp_path: Path) -> None:
    write_runs(tmp_path / "all", ("sfge", "pfl"), seeds=2)
    found = read_runs(tmp_path / "all")
    assert [(run.method, run.dataset_seed) for run in found] == [("pfl", 0), ("pfl", 1), ("sfge", 0), ("sfge", 1)]
    assert len(read_runs(tmp_path / "all" / "kp-weights-pfl-1")) == 1
    assert read_runs(str(tmp_path / "all")) == found


def test_runs_read_runs_without_any_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no result\.json in .*give the folder"):
        read_runs(tmp_path)


@pytest.mark.parametrize("name", ["result.json", "history.csv"])
def test_runs_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = write_run(tmp_path / "run")
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"{name} is missing: give the folder of a run that has ended"):
        read_run(folder)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("result.json", b"{", "cannot be read"),
        ("result.json", b"", "cannot be read"),
        ("result.json", b"\xff\xfe", "cannot be read"),
        ("result.json", b"[1, 2]", "holds list, not an object"),
        ("result.json", b"[" * 100_000, "cannot be read"),
        ("result.json", b"{}", "'benchmark' is missing"),
        ("history.csv", b"", "lacks the column 'epoch'"),
        ("history.csv", b"epoch,train_loss\n0,1\n", "lacks the column 'stage'"),
        ("history.csv", b"stage,epoch,validation_regret\nstart,0\n", "line 2: not as many fields"),
        ("history.csv", b"stage,epoch,validation_regret\nstart,0,1.5,9\n", "line 2: not as many fields"),
        ("history.csv", b"stage,epoch,validation_regret\nstart,0,1.5\ntrain,one,1\n", "line 3: invalid literal"),
        ("history.csv", b"stage,epoch,validation_regret\nstart,0,low\n", "line 2: could not convert"),
        ("history.csv", b"stage,epoch,validation_regret,solves_online\nstart,0,1,inf\n", "line 2: cannot convert"),
        ("history.csv", b"stage,epoch,validation_regret\nstart,0,\xff\n", "cannot be read"),
        ("history.csv", b'stage,epoch,validation_regret\nstart,0,"1.5', "cannot be read"),
    ],
)
def test_runs_a_broken_file_is_named_with_what_to_do(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    folder = write_run(tmp_path / "run")
    (folder / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_run(folder)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"test_regret": None}, "'test_regret' is NoneType, expected float"),
        ({"test_regret": "low"}, "'test_regret' is str"),
        ({"dataset_seed": True}, "'dataset_seed' is bool"),
        ({"method": "DROP"}, "'method' is missing"),
        ({"config": []}, "'config' is list"),
        ({"calls": {"solve": 3}}, "wrong form"),
        ({"calls": {"solve": {"labels": "many"}}}, "wrong form"),
        ({"seconds": {"total": "long"}}, "wrong form"),
        ({"calibration": {"nominal": [0.5]}}, "wrong form"),
        ({"fresh_regret": "low"}, "wrong form"),
        ({"warnings": 3}, "wrong form"),
        ({"test_regret": 10**400}, "wrong form"),
        ({"calls": {"solve": {"labels": 10**400}}}, "wrong form"),
        ({"calls": {"solve": {"labels": 1e308}}}, "wrong form"),
        ({"rows": {"train": 3, "valid": 10**30}}, "wrong form"),
        ({"rows": {"train": 3}}, "wrong form"),
        ({"stages": [{"change": "less"}]}, "wrong form"),
        ({"calibration": {"nominal": [0.5, 0.8], "covered": [0.4], "n": 9}}, "wrong form"),
        ({"calibration": {"nominal": [0.5], "covered": [1e308], "n": 9}}, "wrong form"),
        ({"calibration": {"nominal": [0.5], "covered": [0.5], "n": 10**400}}, "wrong form"),
    ],
)
def test_runs_a_result_of_the_wrong_form_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    folder = write_run(tmp_path / "run")
    change(folder, **changes)
    with pytest.raises(InputError, match=message):
        read_run(folder)


@pytest.mark.parametrize("n", [0, 0.95])
def test_runs_a_calibration_of_no_regrets_is_none(tmp_path: Path, n: float) -> None:
    folder = write_run(tmp_path / "run")
    change(folder, calibration={"nominal": [0.5], "covered": [0.4], "n": n})
    assert read_run(folder).calibration is None


def test_runs_a_run_without_epochs_has_a_bare_header(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    (folder / "history.csv").write_text("stage,epoch\n")
    assert read_run(folder).history == ()


@pytest.mark.parametrize(
    ("commit", "shown"),
    [("3f9c2ab7d1e04c55", "3f9c2ab7d1e0"), ("3f9c2ab7d1e0+", "3f9c2ab7d1e0+"), ("v1", "v1"), (None, "")],
)
def test_runs_a_commit_keeps_its_mark_of_changes(tmp_path: Path, commit: str | None, shown: str) -> None:
    assert read_run(write_run(tmp_path / "run", commit=commit)).commit == shown


def test_runs_optional_parts_may_be_absent(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    gone = ("commit", "predictor", "fresh_regret", "calibration", "gap_closed", "warnings", "stopped")
    change(folder, **dict.fromkeys(gone, "DROP"))
    run = read_run(folder)
    assert (run.commit, run.predictor, run.calibration, run.warnings, run.stopped) == ("", "", None, (), "")


@pytest.mark.parametrize(("limit", "file"), [("MAX_RESULT_BYTES", "result.json"), ("MAX_HISTORY_BYTES", "history.csv")])
def test_runs_files_far_too_large_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, file: str
) -> None:
    monkeypatch.setattr(run_sources, limit, 10)
    with pytest.raises(InputError, match=rf"{file} is larger than"):
        read_run(write_run(tmp_path / "run"))


def test_runs_best_is_one_figure_in_history_summary_result_model_and_report(tmp_path: Path) -> None:
    rng, folder = np.random.default_rng(2), tmp_path / "run"
    seen: list[float | None] = []
    X = rng.normal(size=(100, 4))
    Y = 50 + X @ rng.normal(size=(4, 2)) * 10 + 5 * rng.normal(size=(100, 2))
    problem = fs.Problem(lambda y: y, lambda y, z: float(np.sum(z + 9 * np.maximum(y - z, 0))))
    options: dict[str, Any] = {"settings": {"solves": 1}, "predictor": "linear", "verbose": False, "folder": folder}
    model = fs.DecisionRegressor(problem, callbacks=[lambda one: seen.append(one.best_regret)], **options).fit(X, Y)
    best = model.summary_.reached.best
    assert best is not None
    readings = [one.validation_regret for one in model.history_ if one.validation_regret is not None]
    assert min(readings) < best, "readings of the evidence rows, one of them of a change that was not taken"
    assert [one for one in seen if one is not None][-1] == pytest.approx(best)
    progress = read_progress(folder)
    assert progress is not None
    for found in (progress.reached, model.run_.reached, read_run(folder).reached):
        assert found == model.summary_.reached
    written = json.loads((folder / "result.json").read_text())["best_validation_regret"]
    saved = fs.load(model.save(tmp_path / "model"), problem).about["validation_regret"]
    assert {written, saved, model.validation_regret_, model.history_[-1].best_regret} == {best}
    text = Page(model.report(tmp_path / "report.html").read_text()).text
    assert text.count(number(best)) >= 3
    assert "100; models are judged on rows that they have not seen" in text
    assert "to validate" not in text
    assert "2 parameters without bounds are predicted from 4 inputs." in text


def test_runs_have_one_denominator_the_rows_of_the_table_that_was_given(tmp_path: Path) -> None:
    X, Y = demand_table(60)
    model = fs.DecisionRegressor(NEWSVENDOR, predictor="linear", budget=fs.Budget(solves=120), verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
    run = model.run_
    assert run.rows["train"] + run.rows["valid"] < 60, "a sample was labelled"
    assert run.result["table_rows"] == run.table_rows == 60
    assert run.solves_per_row == run.solves / 60
    assert f"({run.solves / 60:.3g} per row of the table)" in model.summary_.message
    text = fs.report(model, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "The table has 60 rows" in text
    assert f"{run.solves / 60:.1f} per row of the table" in text
    assert "60, of which 30 were labelled and trained on" in text
    earlier = {name: value for name, value in run.result.items() if name != "table_rows"}
    assert Run(earlier).table_rows == 60, "a result of an earlier version says of how many rows it has drawn"
