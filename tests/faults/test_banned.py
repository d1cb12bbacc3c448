"""E6, E8: nothing is unpacked, evaluated, unpickled or handed to a shell; durations do not depend on the clock."""

import re
from pathlib import Path

import pytest

from .banned import banned

ROOT = Path(__file__).parents[2]
UNPACKS = re.compile(r"(import|from) tarfile|tarfile\.|unpack_archive|\.extract(all)?\(")
WORKER_SIDE = {  # what the trainer itself sends down to its workers
    "src/fewsolves/execution/worker.py": " in main: cloudpickle.loads",
    "src/fewsolves/execution/ray.py": " in _Actor: cloudpickle.loads",
}


@pytest.mark.parametrize("folder", ["src", "benchmarks", "examples"])
def test_banned_no_module_can_run_code_from_a_file_or_a_string(folder):
    found = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        name = str(path.relative_to(ROOT))
        bad = banned(path.read_text(encoding="utf-8"))
        if name in WORKER_SIDE:
            bad = [one for one in bad if not one.endswith(WORKER_SIDE[name])]
        if bad:
            found[name] = bad
    assert found == {}


def test_banned_no_archive_is_ever_unpacked():
    """E6: there is nothing that could write where an archive says. (An NPZ file is read by NumPy, into memory.)"""
    found = [path for path in sorted((ROOT / "src").rglob("*.py")) if UNPACKS.search(path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "tarfile.open(f)",
        "from tarfile import open",
        "zipped.extract(x)",
        "shutil.unpack_archive(f)",
        "all.extractall(x)",
    ],
)
def test_banned_the_search_knows_how_archives_are_unpacked(source):
    assert UNPACKS.search(source)


@pytest.mark.parametrize(
    "source",
    [
        "import pickle; pickle.loads(x)",
        "import pickle as p; p.load(f)",
        "from pickle import loads as read; read(x)",
        "import dill; dill.load(f)",
        "from joblib import load; load(f)",
        "import cloudpickle; cloudpickle.loads(x)",
        "eval(x)",
        "exec(x)",
        "import yaml; yaml.load(f, Loader=yaml.Loader)",
        "import subprocess; subprocess.run(x, shell=True)",
        "import subprocess; subprocess.run(x, shell=maybe)",
        "import os; os.system(x)",
        "import torch; torch.load(f)",
        "import torch; torch.load(f, weights_only=False)",
        "import numpy as np; np.load(f, allow_pickle=True)",
        "archive.extractall(x)",
        "import tarfile; tarfile.open(f).extractall(x, filter='fully_trusted')",
        "import time; time.time()",
        "from time import time; time()",
        "import time; clock = time.time",
    ],
)
def test_banned_the_search_finds_what_it_should(source):
    assert banned(source)


@pytest.mark.parametrize(
    "source",
    [
        "model.eval()",
        "import re; re.compile(x)",
        "import torch; torch.load(f, weights_only=True)",
        "import numpy as np; np.load(f); np.load(f, allow_pickle=False)",
        "archive.extractall(x, filter='data')",
        "import subprocess; subprocess.run(x)",
        "import time; time.monotonic(); time.perf_counter()",
        "import cloudpickle; cloudpickle.dumps(x)",
        "import json; json.load(f)",
    ],
)
def test_banned_the_search_leaves_the_rest_alone(source):
    assert not banned(source)
