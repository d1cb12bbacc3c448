from __future__ import annotations

import pytest

from fewsolves.methods.registry import METHODS
from fewsolves_studies.paper.experiment import Size
from fewsolves_studies.paper.experiments import EXPERIMENTS
from fewsolves_studies.paper.trial import FLOOR, Results, Trial, datasets_of

from .made_up import study_of

WHOLE, SMALL = Size(), Size(datasets=1, quick=True)
TRIALS = {size.quick: {name: one.trials(size) for name, one in EXPERIMENTS.items()} for size in (WHOLE, SMALL)}


@pytest.mark.parametrize("size", [WHOLE, SMALL])
def test_trial_two_different_trials_never_share_the_name_of_a_run(size):
    every = {trial for trials in TRIALS[size.quick].values() for trial in trials}
    assert len({trial.run for trial in every}) == len(every)


@pytest.mark.parametrize("size", [WHOLE, SMALL])
def test_trial_every_trial_has_settings_that_its_method_knows(size):
    for trial in {trial for trials in TRIALS[size.quick].values() for trial in trials}:
        if trial.method != FLOOR:
            METHODS[trial.method].with_settings(dict(trial.settings))


def test_trial_q1_is_the_papers_table():
    trials = TRIALS[False]["q1"]
    assert {trial.dataset for trial in trials} == set(range(5))
    on_values = {trial.name for trial in trials if trial.benchmark == "kp-values"}
    assert {"pfl", "gp-surrogate", "gp-surrogate-paper", "sfge", "spo+", "lancer", "floor"} < on_values
    assert sum(name.startswith(("lodl", "egl")) for name in on_values) == 8
    assert "spo+" not in {trial.name for trial in trials if trial.benchmark == "kp-weights"}, "not a linear objective"


def test_trial_experiments_share_the_runs_that_they_have_in_common():
    q1 = set(TRIALS[False]["q1"])
    assert set(TRIALS[False]["regret-calls"]) == q1 < set(TRIALS[False]["q2"])
    for name in ("ablation", "sensitivity", "classical"):
        assert set(TRIALS[False][name]) & q1, name


def test_trial_what_runs_under_the_same_conditions_shares_its_start():
    conditions = {trial.conditions for trial in TRIALS[False]["q1"]}
    assert len(conditions) == 4 * 5
    slow = {trial.conditions for trial in TRIALS[False]["q2"]} - conditions
    assert {(one.delay > 0, one.limit is not None) for one in slow} == {(True, False), (False, True)}


def test_trial_results_are_found_again(tmp_path):
    mine = Trial(benchmark="kp-weights", method="sfge", dataset=1, label="mine", settings=(("patience", 3),))
    runs = study_of([mine, Trial(benchmark="kp-weights", method="pfl", dataset=1)], tmp_path).read()
    found = Results.among([mine, Trial(benchmark="kp-weights", method="pfl", dataset=2)], runs)
    assert list(found.found) == [mine]
    assert list(found.of("mine", "kp-weights")) == [1]
    assert found.names("kp-weights") == ["mine"]
    assert found.commits() == ["abc123"]
    assert datasets_of(runs) == 2


def test_trial_a_result_of_other_settings_is_not_taken_for_this_one(tmp_path):
    before = Trial(benchmark="kp-weights", method="sfge", dataset=0, label="mine", settings=(("patience", 3),))
    now = Trial(benchmark="kp-weights", method="sfge", dataset=0, label="mine", settings=(("patience", 4),))
    runs = study_of([before], tmp_path).read()
    assert before.run == now.run
    assert before.result_in(runs) is not None
    assert now.result_in(runs) is None
    assert not Results.among([now], runs).found
