"""Types of what users call, as mypy sees them in a program of theirs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = """
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import fewsolves as fs

problem = fs.Problem(solve=lambda y_hat: y_hat, cost=lambda y, z: float(abs(y - z).sum()))
X: NDArray[np.float64] = np.zeros((9, 2))
model = fs.DecisionRegressor(problem).fit(X, X)
assert_type(model, fs.DecisionRegressor)
assert_type(model.predict(X), NDArray[Any])
assert_type(model.decide(X), NDArray[Any] | list[Any])
assert_type(model.score(X, X), float)
loaded = fs.load("model", problem)
assert_type(loaded, fs.DecisionModel)
assert_type(loaded.predict(X), NDArray[Any])
assert_type(loaded.decide(X), NDArray[Any] | list[Any])
assert_type(fs.by_item({}, row="day", item="shop", x=["rain"]).X, NDArray[Any])
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_typing_predict_and_decide_give_arrays_and_lists(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml"]
    done = subprocess.run([*command, str(tmp_path / "program.py")], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
