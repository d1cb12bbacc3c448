"""Elementary functions against NumPy, and what becomes of machine code on disk when a source changes."""

from __future__ import annotations

import ast
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fewsolves
import fewsolves_studies
from fewsolves.methods.gp_surrogate.gp import lanes
from fewsolves.methods.gp_surrogate.gp.lanes import CHUNK, LANES, MULTIPLE, lanes_of

POSITIVE = np.concatenate([np.geomspace(1e-300, 1e300, 1000), np.linspace(0.5, 2, 1000)])


def changed(function, x):
    out = x.copy()
    function(out)
    return out


def test_gp_lanes_exp_is_right_to_the_last_digits_for_any_length():
    x = np.concatenate([-np.geomspace(1e-300, 699, 2 * CHUNK + 3), [0.0, 1.0, 700.0]])
    np.testing.assert_allclose(changed(lanes.exp, x), np.exp(x), rtol=5e-16)
    np.testing.assert_allclose(changed(lanes.exp, x[:3]), np.exp(x[:3]), rtol=5e-16)
    assert changed(lanes.exp, x[:0]).size == 0


def test_gp_lanes_exp_far_below_is_zero():
    assert not changed(lanes.exp, np.array([-math.inf, -701.0, -1e300, -1e9])).any()


def test_gp_lanes_log_is_right_to_the_last_digits():
    np.testing.assert_allclose(changed(lanes.log, POSITIVE), np.log(POSITIVE), rtol=1e-15, atol=1e-16)


def test_gp_lanes_lanes_in_use_are_a_multiple():
    assert [lanes_of(n) for n in (1, 4, 5, LANES)] == [MULTIPLE, 4, 8, LANES]


WHOLE = """
from fewsolves.methods.gp_surrogate.gp.lanes import compiled
from piece import times

@compiled
def whole(x):
    return times(x)
"""
PIECE = """
from fewsolves.methods.gp_surrogate.gp.lanes import inlined

@inlined
def times(x):
    return {factor} * x
"""
ASK = "from whole import whole; print(whole(1.0), sum(whole.stats.cache_hits.values()))"


@pytest.mark.skipif(lanes.numba is None, reason="without numba there is no machine code")
@pytest.mark.parametrize("given", [False, True], ids=["beside the source", "in a folder of the user"])
def test_gp_lanes_machine_code_is_kept_until_a_source_beside_it_changes(given, tmp_path):
    (tmp_path / "whole.py").write_text(WHOLE)
    environment = os.environ | ({"NUMBA_CACHE_DIR": str(tmp_path / "kept")} if given else {})
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # Python itself sees no change of one digit within a second

    def answer(factor):
        (tmp_path / "piece.py").write_text(PIECE.format(factor=factor))
        command = [sys.executable, "-c", ASK]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return [float(number) for number in done.stdout.split()]

    assert answer(2.0) == [2.0, 0]
    assert answer(2.0) == [2.0, 1]  # from disk
    assert answer(3.0) == [3.0, 0]  # numba alone would take 2.0 from disk: the file of `whole` is the same
    assert answer(2.0) == [2.0, 1]
    assert (tmp_path / "kept").is_dir() == given


@pytest.mark.skipif(lanes.numba is None, reason="without numba there is no machine code")
def test_gp_lanes_machine_code_is_renewed_when_the_engine_changes(monkeypatch, tmp_path):
    (tmp_path / "here").mkdir()
    monkeypatch.setattr(lanes.numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(lanes, "_digest", lambda folder: f"as it is: {folder}")
    before = lanes._folder_of_machine_code.__wrapped__(tmp_path / "here")
    monkeypatch.setattr(lanes, "_digest", lambda folder: f"changed: {folder}" if folder.name == "gp" else "as it is")
    assert lanes._folder_of_machine_code.__wrapped__(tmp_path / "here") != before
    assert str(tmp_path) == lanes.numba.config.CACHE_DIR, "what others compile is kept where they want it"


def names(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def test_gp_lanes_compiled_functions_use_only_sources_in_their_digest():
    packages, engine = (fewsolves, fewsolves_studies), "fewsolves.methods.gp_surrogate.gp"
    n_functions = 0
    for file in (path for one in packages for path in Path(one.__file__).parent.rglob("*.py")):
        body = ast.parse(file.read_text()).body
        imports = [node for node in body if isinstance(node, ast.ImportFrom) and "fewsolves" in (node.module or "")]
        origin = {alias.asname or alias.name: node.module for node in imports for alias in node.names}
        parts = file.parts[len(file.parts) - file.parts[::-1].index("src") :]
        folder = ".".join(parts[:-1])
        for function in (node for node in body if isinstance(node, ast.FunctionDef)):
            decorators = set().union(*map(names, function.decorator_list))
            ours, numbas = decorators & {"compiled", "inlined"}, decorators & {"njit"}
            used = {origin[name] for part in function.body for name in names(part) & origin.keys()}
            if ours:
                assert {module.rpartition(".")[0] for module in used} <= {folder, engine}, function.name
            elif numbas:
                assert not used, f"{function.name}: numba alone looks at its own file"
            n_functions += bool(ours or numbas)
    assert n_functions > 50


def test_gp_lanes_only_documented_names_of_numba_are_used():
    used = set()
    for file in Path(fewsolves.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                used |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                used |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "numba":
                used.add(f"numba.{node.attr}")
    assert {name for name in used if name.startswith(("numba", "llvmlite"))} <= {"numba", "numba.njit", "numba.config"}
