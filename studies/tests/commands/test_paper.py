from __future__ import annotations

import pytest
from click.testing import CliRunner

from fewsolves.cli import main
from fewsolves_studies.benchmarks.study import Study
from fewsolves_studies.commands.paper import NAMES
from fewsolves_studies.paper.experiments import EXPERIMENTS


def test_command_paper_an_experiment_by_name(tmp_path):
    done = CliRunner().invoke(main, ["paper", "smoothing", "--quick", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "Made by `fewsolves paper smoothing --quick`" in done.output
    assert (tmp_path / "out" / "index.html").exists()
    assert CliRunner().invoke(main, ["paper", "q9"]).exit_code == 2


def test_command_paper_every_experiment_has_its_name():
    assert (*EXPERIMENTS, "all") == NAMES


@pytest.mark.parametrize(
    ("run", "options", "size"),
    [("kp-weights/pfl.linear.0", ["--quick"], "full"), ("kp-weights,n=80/x.0", [], "--quick")],
)
def test_command_paper_runs_of_another_size_are_refused_before_anything_runs(tmp_path, run, options, size):
    Study(tmp_path).keep(run, {})
    done = CliRunner().invoke(main, ["paper", "q1", *options, "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert f"has runs of {size} size" in done.output


def test_command_paper_a_folder_that_cannot_be_written_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "file").touch()
    done = CliRunner().invoke(main, ["paper", "q1", "--out", str(tmp_path / "file" / "below")])
    assert done.exit_code == 2
    assert "cannot be written" in done.output
