"""What programs read: --json, names as in Python, and exit codes."""

import json

import pytest
from click.testing import CliRunner

from fewsolves.cli import main
from fewsolves.methods.registry import METHODS
from fewsolves.reporting import read_run
from problems_of_users import QUICK

SETTINGS = [part for name, value in QUICK.items() for part in ("--set", f"{name}={value}")]


def printed(*arguments):
    done = CliRunner().invoke(main, [*arguments, "--json"])
    assert done.exit_code in (0, 1), done.output
    return done, json.loads(done.stdout)


def test_command_json_of_methods():
    _, found = printed("methods")
    assert [one["name"] for one in found if one["default"]] == ["staged"]
    _, one = printed("methods", "sfge")
    assert _setting(one, "patience")["default"] == METHODS["sfge"].common.patience


def _setting(found, name):
    return next(one for one in found["settings"] if one["name"] == name)


def test_command_json_of_doctor_and_quote(own):
    done, found = printed("doctor", "plant:problem", *own)
    assert found["ok"]
    assert done.exit_code == 0
    assert {one["status"] for one in found["findings"]} <= {"ok", "note"}
    done, found = printed("doctor", "plant:profit", *own)
    assert (done.exit_code, found["ok"]) == (1, False)
    _, found = printed("quote", "plant:problem", *own, "--budget-solves", "500")
    assert found["budget"]["solves"] == 500
    assert {"staged", "pfl"} <= {line["method"] for line in found["lines"]}


@pytest.mark.filterwarnings("ignore")
def test_command_json_of_train(own, tmp_path):
    options = ["--method", "sfge", "--predictor", "linear", *SETTINGS, "--budget-solves", "500", "--no-report"]
    _, found = printed("train", "plant:problem", *own, "--folder", "run", *options)
    assert found["folder"] == "run"
    assert found["message"] == found["told"] == read_run("run").message
    assert found["gained"] in (True, False)
    assert found["budget"]["solves"] == 500
    assert found["calls"] == json.loads((tmp_path / "run/result.json").read_text())["calls"]


@pytest.mark.filterwarnings("ignore")
def test_command_exit_codes_of_train(own):
    options = ["--predictor", "linear", "--no-report"]

    def code(*arguments):
        return CliRunner().invoke(main, ["train", *arguments, *own, *options]).exit_code

    assert code("plant:problem", "--method", "stagd") == 2
    assert code("plant:profit", "--method", "pfl") == 1
    short = ["--method", "sfge", "--set", "max_epochs=1", "--set", "guard=1e9"]
    assert code("plant:problem", *short) == 0
    assert code("plant:problem", *short, "--fail-if-nothing-gained") == 3
    unclear = ["--method", "sfge", "--set", "max_epochs=1", "--set", "guard=-1e9"]  # whatever comes is taken
    assert code("plant:problem", *unclear) == 0
    assert code("plant:problem", *unclear, "--fail-if-nothing-gained") == 3, "its interval is not above zero"
    assert code("plant:problem", "--method", "pfl", "--fail-if-nothing-gained") == 2, "it compares with no start"
