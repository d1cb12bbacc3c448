"""What is imported, and when: a start costs what it uses."""

import subprocess
import sys

import pytest

import fewsolves

HEAVY = ("torch", "numba", "scipy", "sklearn", "sqlite3", "matplotlib", "pandas", "torch._dynamo", "sympy")
ROW = """
import numpy as np
import fewsolves as fs
problem = fs.Problem(solve=lambda y: y, cost=lambda y, z: float(abs(y - z).sum()))
X = np.random.default_rng(0).normal(size=(30, 2))
"""


def imported(code, tmp_path):
    """Which of the heavy packages a fresh process has imported after `code`."""
    told = f"{code}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split("\n")[-2].split())


def test_imports_the_package_and_a_worker_need_numpy_alone(tmp_path):
    assert imported("import fewsolves.execution.worker", tmp_path) == set()


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"]])
def test_imports_the_command_line_answers_without_what_trains(arguments, tmp_path):
    code = f"from fewsolves.cli import main\nmain({arguments!r}, standalone_mode=False)"
    assert not imported(code, tmp_path) & {"torch", "numba", "scipy", "sklearn"}


def test_imports_a_fit_by_the_default_needs_no_compiler(tmp_path):
    code = f"{ROW}\nfs.DecisionRegressor(problem, budget=fs.Budget(solves=150), verbose=False).fit(X, X)"
    code = "import warnings; warnings.simplefilter('ignore')\n" + code
    assert not imported(code, tmp_path) & {"numba", "torch._dynamo", "sympy"}


def test_imports_a_loaded_model_predicts_without_numba_or_scikit_learn(tmp_path):
    saved = f"{ROW}\nfs.DecisionRegressor(problem, method='pfl', verbose=False).fit(X, X).save('model')"
    imported("import warnings; warnings.simplefilter('ignore')\n" + saved, tmp_path)
    there = imported(f"{ROW}\nfs.load('model', problem).predict(X)", tmp_path)
    assert "torch" in there and not there & {"numba", "scipy", "sklearn", "torch._dynamo"}


@pytest.mark.parametrize("collects", [True, False])
def test_imports_garbage_is_collected_as_before_once_something_is_imported(collects, tmp_path):
    code = f"import gc, fewsolves as fs\ngc.{'enable' if collects else 'disable'}()\nfs.Budget\n"
    imported(f"{code}assert gc.isenabled() is {collects}", tmp_path)


def test_dir_lists_public_names_and_no_helpers():
    shown = set(dir(fewsolves))
    assert set(fewsolves.__all__) <= shown
    assert {name for name in shown if not name.startswith("__")} == set(fewsolves.__all__)
