"""Every example runs, small; what pages show runs in test_docs.py."""

import re
import runpy
from pathlib import Path

import pytest

import fewsolves as fs

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
TORCH_LOOP = "09_own_torch_loop"
SMALL = {"rows": 20, "settings": {"start_epochs": 20}, "verbose": False, "budget": fs.Budget(solves=150)}
pytestmark = [
    pytest.mark.filterwarnings("ignore:the surrogate is over-confident"),  # it may be, on so few rows
    pytest.mark.filterwarnings("ignore:the budget"),
    pytest.mark.filterwarnings("ignore:.*training solves gained nothing"),  # as four rows to choose by may say
]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_example(path, capsys):
    options = {"rows": 20, "epochs": 2} if path.stem == TORCH_LOOP else SMALL
    runpy.run_path(str(path))["main"](**options)
    regrets = re.findall(r"^(\S[^(]*?) +regret +(-?[\d.]+)", capsys.readouterr().out, flags=re.MULTILINE)
    assert [name for name, _ in regrets][1:] == ["gp-surrogate" if path.stem == TORCH_LOOP else "staged"], (
        "beside its start"
    )


def test_examples_the_list_of_examples_names_them_all():
    listed = re.findall(r"^\| \[(.+?)\]\(\1\)", (ROOT / "examples" / "README.md").read_text(), flags=re.MULTILINE)
    assert listed == [path.name for path in EXAMPLES]
