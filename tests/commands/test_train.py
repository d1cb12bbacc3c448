import csv
import json

import pytest
from click.testing import CliRunner

from fewsolves.cli import main


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_command_train_writes_two_files(tmp_path):
    done = call(
        "train", "--benchmark", "kp-capacity", "--method", "sfge", "--dataset-seed", 3, "--out", tmp_path / "run",
        "--set", "max_epochs=2", "--set", "start_epochs=2", "--data", "n=50",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    result = json.loads((tmp_path / "run/result.json").read_text())
    assert result["benchmark"] == "kp-capacity"
    assert result["method"] == "sfge"
    assert result["dataset_seed"] == 3
    assert result["config"]["train"]["max_epochs"] == 2
    assert result["config"]["data"]["n"] == 50
    assert result["solves_per_instance"] == 2.0, "one solve per example and epoch"
    assert result["calls"]["solve"]["online"] == 2 * 40
    assert result["seconds"]["total"] > result["seconds"]["solver"] > 0
    for key in ("commit", "test_regret", "test_relative_regret", "best_validation_regret", "cost_calls_per_instance"):
        assert key in result
    with (tmp_path / "run/history.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["stage"] for row in rows] == ["start", "start", "train", "train"]
    assert rows[-1]["solves_online"] == "80"
    assert rows[-1]["validation_regret"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--benchmark", "nothing", "--method", "pfl"], "unknown benchmark 'nothing'"),
        (["--benchmark", "kp-weights", "--method", "magic"], "unknown method 'magic'"),
        (["--benchmark", "kp-weights", "--method", "spo+"], "linear in the predicted parameters"),
        (["--benchmark", "kp-weights", "--method", "pfl", "--set", "speed=3"], "no setting 'speed'"),
        (
            ["--benchmark", "kp-weights", "--method", "pfl", "--workers", "0"],
            "workers must be a whole number of at least",
        ),
        (["--benchmark", "kp-weights", "--method", "pfl", "--max-seconds", "-1"], "seconds must be a number above 0"),
        (["--benchmark", "kp-weights", "--method", "pfl", "--penalty", "3"], "penalty= goes with"),
        (
            ["--benchmark", "kp-weights", "--method", "pfl", "--on-failure", "hope"],
            "not one of 'raise', 'penalise', 'skip'",
        ),
        (["--benchmark", "kp-weights", "--method", "pfl", "--predictor", "tree"], "got 'tree'"),
        (["--benchmark", "kp-weights", "--method", "pfl", "--set", "speed"], "not NAME=VALUE"),
        (["--benchmark", "kp-weights", "--method", "pfl", "--data", "colour=3"], "no option colour"),
    ],
)
def test_command_train_a_mistake_is_one_line(arguments, says, tmp_path):
    done = call("train", *arguments, "--out", tmp_path / "run")
    assert done.exit_code != 0
    assert says in done.output
    assert "Traceback" not in done.output
    assert not (tmp_path / "run").exists()


def test_command_train_takes_a_budget_and_how_solves_run(tmp_path):
    done = call(
        "train", "--benchmark", "kp-capacity", "--method", "sfge", "--out", tmp_path / "run", "--data", "n=50",
        "--set", "max_epochs=9", "--set", "start_epochs=2", "--max-solves", 150, "--time-limit", 60,
        "--on-failure", "skip",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "the budget was spent in epoch" in done.output
    assert "note: the budget has no room for" in done.output
    result = json.loads((tmp_path / "run/result.json").read_text())
    assert sum(number for phase, number in result["calls"]["solve"].items() if phase != "test") <= 150
    assert (tmp_path / "run/ledger.sqlite").exists()


def test_command_train_an_interrupted_run_writes_what_it_has_and_says_so(tmp_path, monkeypatch):
    class Impatient:
        def __init__(self, label):
            assert label == "sfge on kp-capacity"

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def __call__(self, record):
            if (record.stage, record.epoch) == ("train", 2):
                raise KeyboardInterrupt

    monkeypatch.setattr("fewsolves.training.progress.Progress", Impatient)
    done = call(
        "train", "--benchmark", "kp-capacity", "--method", "sfge", "--out", tmp_path / "run", "--data", "n=50",
        "--set", "start_epochs=2",
    )  # fmt: skip
    assert done.exit_code == 130
    assert "the same command resumes it" in done.output
    assert json.loads((tmp_path / "run/result.json").read_text())["stopped"].startswith("interrupted in epoch 2")


def test_command_train_its_options_are_the_settings():
    help_text = " ".join(call("train", "--help").output.split())
    assert "--time-limit FLOAT Seconds after which a solve is ended, with all processes that it started." in help_text
    assert "--on-failure [raise|penalise|skip] What to do with a solve that still fails after its retries" in help_text
    assert "--max-solves INTEGER Maximum number of solves" in help_text
    assert "--asynchronous " in help_text
