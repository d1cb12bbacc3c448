"""Every example runs, small; what pages show runs in test_docs.py."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SMALL = {"rows": 20, "settings": {"max_epochs": 2, "start_epochs": 20}, "verbose": False}
pytestmark = pytest.mark.filterwarnings("ignore:the surrogate is over-confident")  # it may be, on so few rows


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, capsys):
    options = {"rows": 20, "epochs": 2} if path.stem == "09_own_torch_loop" else SMALL
    runpy.run_path(str(path))["main"](**options)
    regrets = re.findall(r"^(\S.*?) +regret.* (-?[\d.]+)", capsys.readouterr().out, flags=re.MULTILINE)
    assert [name for name, _ in regrets][1:] == ["gp-surrogate"], "beside what it is compared with"


def test_the_list_of_examples_names_them_all():
    listed = re.findall(r"^\| \[(.+?)\]\(\1\)", (ROOT / "examples" / "README.md").read_text(), flags=re.MULTILINE)
    assert listed == [path.name for path in EXAMPLES]
