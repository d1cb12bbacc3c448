"""Where numba cannot be imported, the same functions run in NumPy, and one warning says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
TESTS = HERE.parents[2]
PARTS = ("test_factor", "test_profile", "test_covariance", "test_blocks", "test_search", "test_lanes", "test_numpy_fit")
FIT = """
import json, sys, warnings
if {blocked}:
    sys.modules["numba"] = None
import numpy as np
import fewsolves as fs

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = 5 + X[:, :2] ** 2 + 0.3 * rng.normal(size=(40, 2))
problem = fs.Problem(solve=np.ceil, cost=lambda y, z: float(np.sum(z + 9 * np.maximum(y - z, 0))))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    settings = {{"max_epochs": 6}}
    model = fs.DecisionRegressor(problem, "gp-surrogate", "linear", settings, verbose=False).fit(X, Y)
about = [str(one.message) for one in caught if "numba" in str(one.message)]
print(json.dumps([about, model.calls_.total(), model.predict(X).ravel().tolist()]))
"""


def fitted(blocked):
    """Warnings about numba, solves and predictions of a fit in a process of its own."""
    command = [sys.executable, "-c", FIT.format(blocked=blocked)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_gp_without_numba_the_method_pays_and_predicts_the_same_and_warns_once():
    none, solves, predictions = fitted(False)
    one, solves_without, predictions_without = fitted(True)
    assert none == [] and len(one) == 1 and "pip install 'fewsolves[fast]'" in one[0]
    assert solves_without == solves
    np.testing.assert_allclose(predictions_without, predictions, rtol=1e-6)


@pytest.mark.skipif(sys.modules.get("numba", 0) is None, reason="this is what it runs")
def test_gp_without_numba_numpy_passes_the_same_tests():
    files = [str(HERE / f"{part}.py") for part in PARTS]
    options = ["-p", "without_numba", "-p", "no:cacheprovider", "-W", "ignore:numba cannot be imported"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    command = [sys.executable, "-m", "pytest", *options, *files]
    done = subprocess.run(command, env=environment, cwd=TESTS.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
