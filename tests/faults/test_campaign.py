"""A part of the long tier (`tests/faults/campaign.py`) on every run of the tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def told_by(script, *options):
    command = [sys.executable, str(HERE / script), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_campaign_some_mutations_of_every_file_of_a_run():
    told = json.loads(told_by("mutations.py", "--number", "60", "--seed", "7"))
    assert told["mutations"] == 60
    assert (told["wrong"], told["tracebacks"], told["slow"]) == (0, 0, 0), told
    assert told["refused"] > 0


def test_campaign_goes_on_where_it_stopped_and_ends_with_a_table(tmp_path):
    out = tmp_path / "faults.jsonl"
    out.write_text(json.dumps({"mutations": 95, "wrong": 0}) + "\n" + json.dumps({"kills": 5}) + "\n")
    told = told_by("campaign.py", "--out", str(out), "--kills", "5", "--mutations", "100")
    assert "| mutations | 100 |" in told
    assert "| kills | 5 |" in told
    assert len(out.read_text().splitlines()) == 3, "only what was missing was done"


@pytest.mark.faults
@pytest.mark.timeout(1600)
@pytest.mark.parametrize(
    ("method", "options"),
    [("gp-surrogate", ["--workers", "2"]), ("gp-surrogate", ["--asynchronous"]), ("staged", ["--workers", "2"])],
)
def test_campaign_kills_with_workers_and_in_the_asynchronous_mode(method, options, record_property):
    told = json.loads(told_by("killing.py", "--benchmark", "user", "--method", method, "--kills", "10", *options))
    record_property("kills of the trainer", told["kills"])
    record_property("acknowledged and lost", told["acknowledged_and_lost"])
    assert told["kills"] == 10
    assert told["acknowledged_and_lost"] == told["survivors"] == 0
    assert told["differing_results"] == told["runs_that_paid_for_more_than_what_was_in_flight"] == 0
