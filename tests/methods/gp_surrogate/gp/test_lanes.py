"""What every name of `lanes` must compute, in NumPy, and what becomes of machine code on disk when a source changes."""

from __future__ import annotations

import ast
import math
import operator
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fewsolves
import fewsolves_studies
from fewsolves.methods.gp_surrogate.gp import lanes
from fewsolves.methods.gp_surrogate.gp.lanes import (
    WIDTH,
    compiled,
    inlined,
    lane,
    load,
    splat,
    store,
    store_transposed,
    total,
)

POSITIVE = np.concatenate([np.geomspace(1e-300, 1e300, 1000), np.linspace(0.5, 2, 1000)])
NUMBERS = np.concatenate([-POSITIVE[::-1], [0.0, -0.0, 0.5, -0.5], POSITIVE])
WITH_NAN = np.array([1.0, np.nan, -2.0, np.inf, np.nan, 3.0, -np.inf, 0.0])


def applied(operation, *arrays):
    """`operation` on four numbers at a time."""
    if len(arrays) == 1:

        @inlined
        def each(x, out):
            for at in range(0, x.size, WIDTH):
                store(out, at, operation(load(x, at)))

    else:

        @inlined
        def each(x, y, out):
            for at in range(0, x.size, WIDTH):
                store(out, at, operation(load(x, at), load(y, at)))

    out = np.empty_like(arrays[0])
    each(*arrays, out)
    return out


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv"])
def test_gp_lanes_operators_act_on_each_of_the_four(name):
    operation, other = getattr(operator, name), np.roll(NUMBERS, 7)
    with np.errstate(all="ignore"):
        expected = operation(NUMBERS, other)
    np.testing.assert_array_equal(applied(operation, NUMBERS, other), expected)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("neg", NUMBERS, -NUMBERS),
        ("sqrt", POSITIVE, np.sqrt(POSITIVE)),
        ("rint", NUMBERS, np.rint(NUMBERS)),
        ("exponent", POSITIVE, np.frexp(POSITIVE)[1] - 1.0),
        ("mantissa", POSITIVE, 2.0 * np.frexp(POSITIVE)[0]),
        ("power_of_two", np.arange(-1000.0, 1000.0), np.exp2(np.arange(-1000.0, 1000.0))),
    ],
)
def test_gp_lanes_functions_of_one_number_are_exact(name, values, expected):
    operation = operator.neg if name == "neg" else getattr(lanes, name)
    np.testing.assert_array_equal(applied(operation, values), expected)


def test_gp_lanes_exp_and_log_are_right_to_the_last_digits():
    x = np.concatenate([-np.geomspace(1e-300, 699, 997), [0.0, 1.0, 700.0]])
    np.testing.assert_allclose(applied(lanes.exp, x), np.exp(x), rtol=5e-16)
    assert not applied(lanes.exp, np.array([-math.inf, -701.0, -1e300, -1e9])).any()
    np.testing.assert_allclose(applied(lanes.log, POSITIVE), np.log(POSITIVE), rtol=1e-15, atol=1e-16)


def test_gp_lanes_no_comparison_with_nan_is_true():
    other = np.roll(WITH_NAN, 1)
    np.testing.assert_array_equal(applied(lanes.maximum, WITH_NAN, other), np.where(other < WITH_NAN, WITH_NAN, other))

    @inlined
    def chosen(x, y):
        return lanes.where_above(x, y, splat(1.0), splat(2.0))

    np.testing.assert_array_equal(applied(chosen, WITH_NAN, other), np.where(other < WITH_NAN, 1.0, 2.0))


@compiled
def take_apart(x, out):
    four = load(x, 1)  # no alignment is needed
    for k in range(WIDTH):
        out[k] = lane(four, k)
    out[WIDTH] = total(four)
    store(out, WIDTH + 1, splat(x[0]))


@compiled
def transpose(x, out):
    store_transposed(out, 0, load(x, 0), load(x, 4), load(x, 8), load(x, 12))


def test_gp_lanes_four_numbers_are_loaded_taken_apart_and_summed_in_pairs():
    x, out = np.array([7.0, 1e16, 1.0, -1e16, 1.0]), np.empty(9)
    take_apart(x, out)
    assert out[:4].tolist() == x[1:].tolist()
    assert out[4] == (x[1] + x[2]) + (x[3] + x[4])
    assert out[5:].tolist() == [7.0] * 4


def test_gp_lanes_a_tile_is_transposed():
    x, out = np.arange(16.0), np.empty(16)
    transpose(x, out)
    np.testing.assert_array_equal(out.reshape(4, 4), x.reshape(4, 4).T)


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


def test_gp_lanes_machine_code_is_kept_until_a_source_beside_it_changes(tmp_path):
    (tmp_path / "whole.py").write_text(WHOLE)

    def answer(factor):
        (tmp_path / "piece.py").write_text(PIECE.format(factor=factor))
        done = subprocess.run([sys.executable, "-c", ASK], cwd=tmp_path, capture_output=True, text=True, check=True)
        return [float(number) for number in done.stdout.split()]

    assert answer(2.0) == [2.0, 0]
    assert answer(2.0) == [2.0, 1]  # from disk
    assert answer(3.0) == [3.0, 0]  # numba alone would take 2.0 from disk: the file of `whole` is the same


def test_gp_lanes_machine_code_is_renewed_when_the_engine_changes():
    engine = lanes._digest(Path(lanes.__file__).parent)
    assert engine in transpose._cache._cache_file._source_stamp


def names(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def test_gp_lanes_what_is_compiled_uses_only_sources_whose_change_renews_it():
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
