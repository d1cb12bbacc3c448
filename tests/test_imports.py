"""What is imported, and when: a start costs what it uses."""

import subprocess
import sys
from pathlib import Path

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
    script = f"{code}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split("\n")[-2].split())


def test_imports_the_package_and_a_worker_need_numpy_alone(tmp_path):
    assert imported("import fewsolves.execution.worker", tmp_path) == set()


def test_imports_the_command_line_answers_without_what_trains(tmp_path):
    code = "from fewsolves.cli import main"
    code += "".join(f"\nmain({arguments!r}, standalone_mode=False)" for arguments in (["--help"], ["train", "--help"]))
    assert not imported(code, tmp_path) & {"torch", "numba", "scipy", "sklearn"}


def test_imports_a_fit_by_the_default_needs_no_compiler(tmp_path):
    code = f"{ROW}\nfs.DecisionRegressor(problem, budget=fs.Budget(solves=150), verbose=False).fit(X, X)"
    code = "import warnings; warnings.simplefilter('ignore')\n" + code
    assert not imported(code, tmp_path) & {"numba", "torch", "sympy"}


def test_imports_a_plan_with_arrays_needs_neither_scikit_learn_nor_pandas(tmp_path):
    """`DecisionRegressor` needs scikit-learn, which imports pandas by itself where that is installed."""
    code = f"{ROW}\nfs.fit(fs.Plan(problem, X, X, method='staged', budget=fs.Budget(solves=150)))"
    assert not imported(code, tmp_path) & {"sklearn", "pandas", "torch", "numba"}


def test_imports_a_fit_by_the_gp_surrogate_needs_no_torch_where_there_is_one(tmp_path):
    code = f"""import warnings; warnings.simplefilter("ignore")
{ROW}
for method in ("gp-surrogate", "gp-surrogate-paper"):
    model = fs.DecisionRegressor(problem, method, settings={{"max_epochs": 2}}, verbose=False).fit(X, X)
    model.surrogate_.save(method)
    fs.load_surrogate(method).regret(X[:3], [0, 1, 2])
"""
    assert "torch" not in imported(code, tmp_path)


def test_imports_a_loaded_model_predicts_without_numba_or_scikit_learn(tmp_path):
    saved = f"{ROW}\nfs.DecisionRegressor(problem, method='pfl', verbose=False).fit(X, X).save('model')"
    imported("import warnings; warnings.simplefilter('ignore')\n" + saved, tmp_path)
    there = imported(f"{ROW}\nfs.load('model', problem).predict(X)", tmp_path)
    assert not there & {"numba", "scipy", "sklearn", "torch"}


HIDDEN = """
import importlib.abc, sys, warnings
class NotInstalled(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if (package := name.split(".")[0]) in ("torch", "numba"):
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
sys.meta_path.insert(0, NotInstalled())
warnings.simplefilter("ignore")
"""
CORE = ("staged", "pfl", "shift", "pairs", "sfge", "spo+", "gp-surrogate", "gp-surrogate-paper")
WRITTEN_BY = Path(__file__).parent / "models_written_by"


def test_imports_methods_of_the_core_run_without_torch_and_numba(tmp_path):
    code = f"""{HIDDEN}{ROW}
linear = fs.Problem(solve=lambda y: np.eye(2)[np.argmin(y)], cost=lambda y, z: float(y @ z), linear="min")
for method in {CORE}:
    given = linear if method == "spo+" else problem
    model = fs.DecisionRegressor(given, method, budget=fs.Budget(solves=400), verbose=False).fit(X, X)
    assert model.run_.method == method and np.isfinite(model.predict(X)).all(), method
"""
    imported(code, tmp_path)


def test_imports_predictors_of_the_core_are_trained_saved_and_loaded_without_torch_and_numba(tmp_path):
    code = f"""{HIDDEN}{ROW}
from importlib.util import find_spec
from sklearn.linear_model import Ridge
Y, items = X + 1.0, np.repeat(X[:, :, None], 3, axis=2)
boosted = ["xgboost"] if find_spec("xgboost") else []
for predictor in ("linear", "network", *boosted, Ridge(), "linear-by-item"):
    given = items if predictor == "linear-by-item" else X
    model = fs.DecisionRegressor(problem, predictor=predictor, budget=fs.Budget(solves=300), verbose=False)
    model.fit(given, Y).save("model")
    forecaster = {{}} if isinstance(predictor, str) else {{"forecaster": model.forecaster_}}
    loaded = fs.load("model", problem, **forecaster)
    assert np.allclose(loaded.predict(given), model.predict(given)), predictor
"""
    imported(code, tmp_path)


def test_imports_models_and_a_surrogate_that_torch_wrote_are_loaded_without_torch(tmp_path):
    code = f"""{HIDDEN}{ROW}
folder = {str(WRITTEN_BY / "5e10b34")!r}
table = np.load(f"{{folder}}/table.npz")
for predictor in ("linear", "network"):
    model = fs.load(f"{{folder}}/{{predictor}}", problem)
    assert np.allclose(model.predict(table["X"]), table[predictor], rtol=1e-12), predictor
    assert len(model.decide(table["X"])) == len(table["X"])
surrogate = fs.load_surrogate(f"{{folder}}/surrogate")
mean, std = surrogate.regret(table["y_hat"], table["rows"])
assert np.allclose(mean, table["mean"], rtol=1e-9) and np.allclose(std, table["std"], rtol=1e-9)
value, slope = surrogate.with_slope(table["y_hat"], table["rows"])
assert np.isfinite(value) and slope.shape == table["y_hat"].shape
"""
    assert "torch" not in imported(code, tmp_path)


def test_imports_what_needs_torch_says_what_to_install(tmp_path):
    code = f"""{HIDDEN}{ROW}
method = fs.DecisionRegressor(problem, "lancer", verbose=False)
names = ("GPSurrogateLoss", "Loss", "DecisionLoss")
for use in (*(lambda name=name: getattr(fs, name) for name in names), lambda: method.fit(X, X)):
    try:
        use()
    except fs.InputError as error:
        assert "pip install 'fewsolves[torch]'" in str(error), error
    else:
        raise AssertionError(use)
"""
    imported(code, tmp_path)


@pytest.mark.parametrize("collects", [True, False])
def test_imports_garbage_is_collected_as_before_once_something_is_imported(collects, tmp_path):
    code = f"import gc, fewsolves as fs\ngc.{'enable' if collects else 'disable'}()\nfs.Budget\n"
    imported(f"{code}assert gc.isenabled() is {collects}", tmp_path)


def test_dir_lists_public_names_and_no_helpers():
    shown = set(dir(fewsolves))
    assert set(fewsolves.__all__) <= shown
    assert {name for name in shown if not name.startswith("__")} == set(fewsolves.__all__)
