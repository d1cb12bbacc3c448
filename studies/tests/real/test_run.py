import dataclasses
import json

import numpy as np
import pytest

from fewsolves.methods.registry import find_method
from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.real import run as module
from fewsolves_studies.real.cell import Cell, default_method, done_among, one, options
from fewsolves_studies.real.run import knowing_the_truth, result_of_cell, run_missing

SMALL = options(train_days=60, test_days=6)
PFL = Cell(benchmark="yaz-newsvendor", data=SMALL, method="pfl", predictor="linear", plans=True)
TRUTH = Cell(benchmark="yaz-newsvendor", data=SMALL, method="true demand", decide=knowing_the_truth)


def test_real_run_a_cell_tells_the_cost_of_every_test_day():
    record = json.loads(json.dumps(result_of_cell(PFL)))
    assert len(record["costs"]) == 6 and np.shape(record["y_hat"]) == (6, 7)
    assert record["config"]["data"]["train_days"] == 60
    assert result_of_cell(TRUTH)["costs"] == [0.0] * 6, "of a newsvendor who knows"


def test_real_run_boosted_forecasts_are_kept_or_corrected():
    cells = [dataclasses.replace(PFL, method=method, predictor="boosted") for method in ("pfl", "shift")]
    costs = [np.mean(result_of_cell(cell)["costs"]) for cell in cells]
    assert costs[1] < costs[0], "at a service level of 0.9 more is better"


def test_real_run_a_budget_is_per_training_day_and_holds():
    cell = Cell(benchmark="yaz-newsvendor", data=SMALL, method="pairs", predictor="linear", budget=4)
    record = result_of_cell(cell)
    assert 2.0 < record["total_solves_per_instance"] <= 4.0


def test_real_run_what_is_there_is_not_run_again_and_a_stop_loses_nothing(tmp_path, monkeypatch):
    study, news = Study(tmp_path), []
    made = module.result_of_cell

    def stopped(cell, work):
        if cell is TRUTH:
            raise KeyboardInterrupt
        return made(cell, work)

    monkeypatch.setattr(module, "result_of_cell", stopped)
    with pytest.raises(KeyboardInterrupt):
        run_missing([PFL, TRUTH], study, work=None, show=news.append)
    monkeypatch.setattr(module, "result_of_cell", made)
    run_missing([PFL, TRUTH, PFL], study, work=None, show=news.append)
    assert news[0] == "0 of 2 runs are there" and news[2] == "1 of 2 runs are there" and len(news) == 4
    assert [each.cell for each in done_among([PFL, TRUTH], study.read())] == [PFL, TRUTH]


def test_real_run_what_an_interrupted_run_has_found_so_far_is_not_kept(tmp_path, monkeypatch):
    made = module.fit
    monkeypatch.setattr(module, "fit", lambda plan: dataclasses.replace(made(plan), interrupted=True))
    with pytest.raises(KeyboardInterrupt):
        run_missing([PFL], Study(tmp_path), work=None, show=lambda news: None)
    assert not Study(tmp_path).read()


def test_real_run_that_fails_is_reported_and_does_not_stop_the_others(tmp_path):
    poor = Cell(benchmark="yaz-newsvendor", data=SMALL, method="pairs", predictor="linear", budget=1)
    study, news = Study(tmp_path), []
    assert run_missing([poor, TRUTH], study, work=None, show=news.append) == 1
    assert "failed: Budget" in news[1] and list(study.read()) == [TRUTH.run]


def test_real_run_under_other_settings_is_made_again(tmp_path):
    Study(tmp_path).keep(PFL.run, {"config": {"loss": {}, "train": {"patience": 1}}, "costs": []})
    assert PFL.result_in(Study(tmp_path).read()) is None


def test_real_run_identity_without_start_epochs_is_kept_for_a_network_and_not_for_a_linear_predictor():
    method = find_method("pfl").with_settings({})
    made = {"config": {"loss": dataclasses.asdict(method.settings), "train": dataclasses.asdict(method.recorded)}}
    network = dataclasses.replace(PFL, predictor="network")
    assert network.result_in({network.run: made}) is made and PFL.result_in({PFL.run: made}) is None


def test_real_run_with_a_work_folder_every_run_pays_for_its_labels_so_that_budgets_are_alike(tmp_path):
    cells = [Cell(benchmark="yaz-kitchen", data=SMALL, method="pairs", predictor="linear", budget=k) for k in (3, 4)]
    records = [result_of_cell(cell, tmp_path) for cell in cells]
    assert records[0]["calls"]["solve"]["labels"] == records[1]["calls"]["solve"]["labels"] > 0
    assert [one["total_solves_per_instance"] <= k for one, k in zip(records, (3, 4), strict=True)] == [True, True]
    assert len(list(tmp_path.iterdir())) == 2


def test_real_run_names_of_runs_distinguish_cells():
    cells = [PFL, TRUTH, Cell(benchmark="yaz-kitchen", method="pfl", predictor="linear", budget=4)]
    assert len({cell.run for cell in cells}) == 3
    assert PFL.run == "yaz-newsvendor,train_days=60,test_days=6/pfl.linear"
    assert one([], method="pfl") is None and default_method()
