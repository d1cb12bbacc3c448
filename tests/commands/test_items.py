"""The command line with X of three dimensions, in an NPZ file."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from fewsolves.cli import main

PLANT = """
import numpy as np, torch
import fewsolves as fs
problem = fs.Problem(solve=lambda y_hat: y_hat, cost=lambda y, z: float(np.sum(z + 9 * np.maximum(y - z, 0))))
net = torch.nn.Linear(3, 1)
"""


@pytest.fixture
def plant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.delitem(sys.modules, "plant_of_items", raising=False)
    (tmp_path / "plant_of_items.py").write_text(PLANT)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4, 3))
    np.savez("table.npz", x=X, y=20 + X @ [3.0, 2.0, 1.0], day=np.arange(40))
    return "plant_of_items.py:problem"


def run(*options):
    return CliRunner().invoke(main, list(options))


@pytest.mark.parametrize("predictor", ["linear", "plant_of_items.py:net"])
def test_items_on_the_command_line(plant, predictor):
    table = ("--data", "table.npz", "--x", "x", "--y", "y")
    options = ("--method", "sfge", "--set", "max_epochs=1", "--predictor", predictor, "--no-report", "--out", "run")
    done = run("train", plant, *table, *options)
    assert done.exit_code == 0, done.output
    assert json.loads(Path("run/result.json").read_text())["predictor"] in ("linear", "given")
    done = run("quote", plant, *table)
    assert done.exit_code == 0, done.output
    done = run("doctor", plant, *table)
    assert done.exit_code == 0, done.output


def test_items_what_cannot_stand_together_is_said(plant):
    done = run("train", plant, "--data", "table.npz", "--x", "x,day", "--y", "y")
    assert done.exit_code == 1 and "'x' has shape (40, 4, 3), so it cannot be one of several columns" in done.output
    Path("table.csv").write_text("x,y\n" + '"[1, 3]",2\n' * 8)
    done = run("train", plant, "--data", "table.csv", "--x", "x", "--y", "y")
    assert done.exit_code == 1 and "arrays in a file that ends in .npz" in done.output
