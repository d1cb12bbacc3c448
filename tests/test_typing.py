"""Types of what users call, as mypy sees them in a program of theirs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = """
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

import fewsolves as fs

problem = fs.Problem(solve=lambda y_hat: y_hat, cost=lambda y, z: float(abs(y - z).sum()))
X: NDArray[np.float64] = np.zeros((9, 2))
model = fs.DecisionRegressor(problem).fit(X, X)
assert_type(model, fs.DecisionRegressor[NDArray[Any]])
assert_type(model.predict(X), NDArray[Any])
assert_type(model.decide(X), NDArray[Any] | list[Any])
assert_type(model.score(X, X), float)
loaded = fs.load("model", problem)
assert_type(loaded, fs.DecisionModel)
assert_type(loaded.predict(X), NDArray[Any])
assert_type(loaded.decide(X), NDArray[Any] | list[Any])


framed = fs.DecisionRegressor(problem).fit(X, DataFrame())
assert_type(framed, fs.DecisionRegressor[DataFrame])
assert_type(framed.predict(X), DataFrame)
assert_type(framed.decide(X), NDArray[Any] | list[Any] | DataFrame)
assert_type(framed.set_output(transform="default").predict(X), NDArray[Any])
assert_type(model.set_output(transform="pandas").predict(X), DataFrame)
assert_type(model.refit(X, X), fs.DecisionRegressor[NDArray[Any]])
fitted_later = fs.DecisionRegressor(problem)
fitted_later.fit(X, X)
assert_type(fitted_later.predict(X), NDArray[Any] | DataFrame)
assert_type(fs.DecisionRegressor(problem).fit([[1.0]], [[1.0]]).predict(X), NDArray[Any] | DataFrame)
in_their_units: NDArray[np.float64] = model.predict(X)
assert_type(fs.by_item({}, row="day", item="shop", x=["rain"]).X, NDArray[Any])
"""


STUBS = """
class DataFrame:
    columns: list[str]
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_typing_predict_and_decide_give_what_y_was(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "stubs" / "pandas").mkdir(parents=True)  # pandas has no types of its own, and pandas-stubs is optional
    (tmp_path / "stubs" / "pandas" / "__init__.pyi").write_text(STUBS)
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml"]
    done = subprocess.run(
        [*command, str(tmp_path / "program.py")],
        cwd=ROOT,
        env=os.environ | {"MYPYPATH": str(tmp_path / "stubs")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
