"""A part of the long tier (`tests/faults/campaign.py`) on every run of the tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def printed_by(script, *options):
    command = [sys.executable, str(HERE / script), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_campaign_some_mutations_of_every_file_of_a_run():
    result = json.loads(printed_by("mutations.py", "--number", "60", "--seed", "7"))
    assert result["mutations"] == 60
    assert (result["wrong"], result["tracebacks"], result["slow"]) == (0, 0, 0), result
    assert result["refused"] > 0


def test_campaign_goes_on_where_it_stopped_and_ends_with_a_table(tmp_path):
    out = tmp_path / "faults.jsonl"
    out.write_text(json.dumps({"mutations": 95, "wrong": 0}) + "\n" + json.dumps({"kills": 5}) + "\n")
    printed = printed_by("campaign.py", "--out", str(out), "--kills", "5", "--mutations", "100")
    assert "| mutations | 100 |" in printed
    assert "| kills | 5 |" in printed
    assert len(out.read_text().splitlines()) == 3, "only what was missing was done"


@pytest.mark.faults
@pytest.mark.timeout(1600)
@pytest.mark.parametrize(
    ("method", "options"),
    [("gp-surrogate", ["--workers", "2"]), ("gp-surrogate", ["--asynchronous"]), ("staged", ["--workers", "2"])],
)
def test_campaign_kills_with_workers_and_in_the_asynchronous_mode(method, options, record_property):
    result = json.loads(printed_by("killing.py", "--benchmark", "user", "--method", method, "--kills", "10", *options))
    record_property("kills of the trainer", result["kills"])
    record_property("acknowledged and lost", result["acknowledged_and_lost"])
    assert result["kills"] == 10
    assert result["acknowledged_and_lost"] == result["survivors"] == 0
    assert result["differing_results"] == result["runs_that_paid_for_more_than_what_was_in_flight"] == 0
