"""Every example runs, small; what pages show runs in test_docs.py."""

import re
import runpy
from pathlib import Path

import pytest

import fewsolves as fs

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
CLUSTER = "17_cluster_ray"  # runs on the cluster of tests/faults/test_cluster.py
TORCH_LOOPS = ("09_own_torch_loop", "13_images_own_torch_loop")
FEW = fs.Budget(solves=150, cost_calls=20_000)
SMALL = {"rows": 20, "settings": {"start_epochs": 20}, "verbose": False, "budget": FEW}
pytestmark = [
    pytest.mark.filterwarnings("ignore:the surrogate is over-confident"),  # it may be, on so few rows
    pytest.mark.filterwarnings("ignore:the budget"),
    pytest.mark.filterwarnings("ignore:.*training solves gained nothing"),  # as four rows to choose by may say
]


@pytest.mark.parametrize("path", [path for path in EXAMPLES if path.stem != CLUSTER], ids=lambda path: path.stem)
def test_examples_example_compares_its_model_with_prediction_alone(path, capsys):
    options = {"rows": 20, "epochs": 2} if path.stem in TORCH_LOOPS else SMALL
    if path.stem == "16_lightgbm_corrected":
        options = SMALL | {"settings": {}}  # a forecaster of one's own has no epochs
    compared = runpy.run_path(str(path))["main"](**options)
    assert len(compared.lines) == 2, "beside its start"
    assert compared.lines[1].interval is not None
    assert str(compared) in capsys.readouterr().out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_example_opens_with_its_benefit_and_draws_its_comparison(path):
    source = path.read_text()
    first = re.match(r'"""(.+?)\n\n', source, flags=re.DOTALL)[1]
    assert re.fullmatch(r"[A-Z`].+\.", " ".join(first.split())), "one sentence"
    assert f'fs.plot.compare(main()).savefig("{path.stem[3:]}.png")' in source


def test_examples_the_list_of_examples_names_them_all():
    listed = re.findall(r"^\| \[(.+?)\]\(\1\)", (ROOT / "examples" / "README.md").read_text(), flags=re.MULTILINE)
    assert listed == [path.name for path in EXAMPLES]
