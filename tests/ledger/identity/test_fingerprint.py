import ast
import functools
import importlib
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

import fewsolves as fs
from fewsolves.demo.slow import slow
from fewsolves.ledger.identity.fingerprint import NOT_CHECKED, differences, digest_of, fingerprint
from fewsolves.ledger.identity.source import _tree
from fewsolves_studies.benchmarks.catalogue import load
from problems_of_users import demand_table, order, pick, price, shortage_cost

_, Y = demand_table(10)
PENALTY = 9.0


def with_penalty(y_hat):
    return y_hat * PENALTY


def through_another(y_hat):
    return with_penalty(y_hat)


def parts(**change):
    return fingerprint(replace(fs.Problem(solve=pick, cost=price), **change), Y)


def changed(**change):
    return differences(parts(), parts(**change))


def test_fingerprint_the_same_problem_has_the_same_fingerprint():
    assert changed() == []


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"solve": order}, ["solve"]),
        ({"cost": shortage_cost}, ["cost"]),
        ({"name": "other"}, ["problem"]),
        ({"noisy": "both"}, ["deterministic"]),
        ({"instances": list(range(10))}, ["instances"]),
        ({"solve_batch": order}, ["solve_batch"]),
    ],
)
def test_fingerprint_what_changed_is_named(change, names):
    assert changed(**change) == names


def test_fingerprint_the_table_counts_row_by_row():
    problem = fs.Problem(solve=pick, cost=price)
    assert differences(fingerprint(problem, Y), fingerprint(problem, Y[::-1])) == ["Y"]


def written(tmp_path, name, text):
    """A function of a module of its own."""
    path = tmp_path / f"{name}.py"
    path.write_text(text)
    scope = {"__name__": name}
    exec(compile(text, str(path), "exec"), scope)
    return scope["solve"]


def test_fingerprint_comments_and_layout_do_not_count_and_constants_do(tmp_path):
    text = "def solve(y):\n    return y * {}{}\n"
    one, same, other = (
        digest_of(written(tmp_path, name, text.format(*values)))
        for name, values in {"a": ("2.0", ""), "b": ("2.0", "  # twice"), "c": ("3.0", "")}.items()
    )
    assert one == same
    assert one != other


def test_fingerprint_a_file_that_is_edited_while_the_program_runs_is_another_problem_only_for_who_reads_it(
    tmp_path, monkeypatch
):
    """What runs is what was imported; before, its answers were recorded as those of the new text."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    text = "class Plant:\n    def solve(self, y):\n        return y * 2.0\n\ndef solve(y):\n    return y * {}\n"
    file = tmp_path / "edited_while_it_runs.py"
    file.write_text(text.format(2.0))
    module = importlib.import_module(file.stem)
    before = digest_of(module.solve), digest_of(module.Plant().solve)
    file.write_text("LIMIT = 3\n\n" + text.format(33.0).replace("2.0", "LIMIT"))
    assert (digest_of(module.solve), digest_of(module.Plant().solve)) == before
    importlib.reload(module)
    assert digest_of(module.solve) != before[0]
    assert digest_of(module.Plant().solve) != before[1]


def test_fingerprint_constants_and_functions_of_the_module_count(monkeypatch):
    before = digest_of(with_penalty), digest_of(through_another)
    monkeypatch.setitem(globals(), "PENALTY", 10.0)
    after = digest_of(with_penalty), digest_of(through_another)
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_fingerprint_what_a_function_encloses_counts_unless_it_may_change_by_itself():
    def made(factor, seen):
        def solve(y_hat):
            seen.append(y_hat)
            return y_hat * factor

        return digest_of(solve)

    assert made(2.0, []) == made(2.0, [1, 2])
    assert made(2.0, []) != made(3.0, [])
    assert made(np.ones(3), []) != made(np.zeros(3), [])


def test_fingerprint_partial_functions_and_frozen_objects_count_with_their_values():
    def scaled(y_hat, factor):
        return y_hat * factor

    assert digest_of(functools.partial(scaled, factor=2)) != digest_of(functools.partial(scaled, factor=3))
    fast, slower = (slow(load("toy-64", 0, n=10).problem, seconds) for seconds in (0.0, 1.0))
    assert differences(fingerprint(fast, Y), fingerprint(slower, Y)) == ["solve", "solve_batch"]


def test_fingerprint_objects_that_may_change_count_by_their_class():
    class Model:
        def __init__(self):
            self.solved = 0

        def solve(self, y_hat):
            self.solved += 1
            return y_hat

    one, other = Model(), Model()
    other.solve(1)
    assert digest_of(one.solve) == digest_of(other.solve)


def test_fingerprint_benchmarks_differ_by_their_data():
    one, same, other = (load("kp-weights", seed, n=10).problem for seed in (0, 0, 1))
    assert differences(fingerprint(one, Y), fingerprint(same, Y)) == []
    assert "cost_batch" in differences(fingerprint(one, Y), fingerprint(other, Y))


@dataclass
class Plant:
    capacity: float


@pytest.mark.parametrize("known", [{"a": [1, (2.0, "x")]}, np.arange(3), Plant(2.0), "name", None])
def test_fingerprint_known_data_are_looked_into(known):
    one, other = [known] * 10, [known] * 9 + [1]
    assert changed(instances=one) == ["instances"]
    assert differences(parts(instances=one), parts(instances=list(one))) == []
    assert differences(parts(instances=one), parts(instances=other)) == ["instances"]


def test_fingerprint_known_data_that_cannot_be_looked_into_are_not_compared():
    assert parts(instances=[object()] * 10)["instances"] == NOT_CHECKED
    assert differences(parts(instances=[object()] * 10), parts(instances=[1] * 10)) == []


def test_fingerprint_a_function_without_source_is_known_by_its_code():
    scope: dict = {}
    exec("def solve(y):\n    return y + 1", scope)
    exec("def other(y):\n    return y + 2", scope)
    assert digest_of(scope["solve"]) != digest_of(scope["other"])
    assert digest_of(np.linalg.norm) == digest_of(np.linalg.norm)
    assert digest_of(len) != digest_of(sum)


def test_fingerprint_a_syntax_tree_is_the_same_text_in_every_python():
    """As `ast.dump` of Python 3.11 has it, which the digests of the first ledgers were made of."""
    tree = ast.parse("def f(x, *, y: int = 1) -> int:\n    return g(x)[y:] if x else f'{x!r:>{y}}'\n")
    name = "Name(id='{}', ctx=Load())".format
    form = f"JoinedStr(values=[Constant(value='>'), FormattedValue(value={name('y')}, conversion=-1)])"
    picked = f"Subscript(value=Call(func={name('g')}, args=[{name('x')}], keywords=[]), slice=Slice(lower={name('y')})"
    shown = f"JoinedStr(values=[FormattedValue(value={name('x')}, conversion=114, format_spec={form})])"
    returned = f"Return(value=IfExp(test={name('x')}, body={picked}, ctx=Load()), orelse={shown}))"
    parameters = (
        f"args=[arg(arg='x')], kwonlyargs=[arg(arg='y', annotation={name('int')})], kw_defaults=[Constant(value=1)]"
    )
    function = f"FunctionDef(name='f', args=arguments(posonlyargs=[], {parameters}, defaults=[]), body=[{returned}], "
    expected = f"Module(body=[{function}decorator_list=[], returns={name('int')})], type_ignores=[])"
    assert _tree(tree) == expected
