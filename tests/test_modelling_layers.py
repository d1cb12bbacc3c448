"""The models of docs/modelling-layers.md agree; its page runs in test_docs.py."""

from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from test_docs import blocks, text_of

PAGE = Path(__file__).parents[1] / "docs" / "modelling-layers.md"
LAYERS = ["with_highs", "with_pyomo", "with_cvxpy", "with_cp_sat", "with_math_opt", "with_gurobi"]
HOURS = np.random.default_rng(0).gamma(4.0, 1.5, size=(8, 5)).round(2)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """What the page defines."""
    namespace = {"__name__": "page"}
    for block in blocks(text_of(PAGE)):
        if "plan_jobs.py" not in block.code:
            exec(compile(block.code, str(PAGE), "exec"), namespace)
    return namespace


@pytest.mark.parametrize("name", LAYERS)
def test_modelling_layers_a_layer_earns_what_scipy_earns_whatever_was_solved_before(page, name):
    if name == "with_gurobi":
        pytest.importorskip("gurobipy", reason="it is proprietary")
    layer = page[name]
    solve = layer if name == "with_cp_sat" else layer()[0]
    earned = [page["EARNS"] @ solve(hours) for hours in (*HOURS, *HOURS[::-1])]
    expected = [page["EARNS"] @ page["with_scipy"](hours) for hours in HOURS]
    assert earned == pytest.approx(expected + expected[::-1])
    assert all(hours @ solve(hours) <= page["DAY"] + 1e-6 for hours in HOURS)


def test_modelling_layers_the_simulation_is_one_number_for_one_seed(page):
    cost, taken = page["simulated_cost"], np.ones(5)
    assert cost(HOURS[0], taken, 3) == cost(HOURS[0], taken, 3)
    assert len({cost(HOURS[0], taken, seed) for seed in range(20)}) > 1
    assert isinstance(page["problem"], fs.Problem)
