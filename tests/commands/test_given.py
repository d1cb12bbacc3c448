import sys

import click
import numpy as np
import pytest
from click.testing import CliRunner

import fewsolves as fs
from fewsolves.cli import main
from fewsolves.commands.given import find_problem


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("where", ["plant:problem", "plant.py:problem", "plant:make"])
def test_command_given_a_problem_is_found_by_module_or_file_and_may_be_made_by_a_function(own, where):
    found = find_problem(where)
    assert isinstance(found, fs.Problem)
    assert found.solve is sys.modules["plant"].order


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("plant", "is given as mymodule:name or file.py:name, got 'plant'"),
        ("plant:nothing", "plant has no 'nothing'"),
        ("plant:problm", "plant has no 'problm'; did you mean 'problem'?"),
        ("plant:number", "must be a fewsolves.Problem, or a function that makes one, got int"),
        ("plants:problem", "no module 'plants'"),
        ("plants.py:problem", "no file plants.py"),
        ("..:problem", "'..' is not the name of a module"),
        ("a..b:problem", "'a..b' is not the name of a module"),
    ],
)
def test_command_given_a_problem_that_is_not_there_is_one_line(own, where, says):
    done = call("doctor", where, *own)
    assert done.exit_code == 2
    assert says in done.output
    assert "Traceback" not in done.output


def test_command_given_a_file_with_the_name_of_a_module_that_is_loaded_is_refused(own, tmp_path):
    (tmp_path / "numpy.py").write_text("")
    with pytest.raises(click.UsageError, match=r"has the name of another module .* rename it"):
        find_problem("numpy.py:problem")


BROKEN = {
    "import nothing_of_the_kind": "ModuleNotFoundError: No module named 'nothing_of_the_kind' (",
    "from math import nothing": "ImportError: cannot import name 'nothing'",
    "def solve(y) return y": "SyntaxError: expected ':' (",
    "(": "SyntaxError: '(' was never closed (",
    "a = 1 / 0": "ZeroDivisionError: division by zero (",
    "import sys; sys.exit(3)": "SystemExit: 3 (",
    "class Odd(BaseException): ...\nraise Odd": "Odd (",
    "class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd": "Odd (",
    "raise ValueError('\\x1b[31mred\\nlines\\x1b[0m')": "ValueError: red lines (",
}


@pytest.mark.parametrize("code", BROKEN, ids=range(len(BROKEN)))
@pytest.mark.parametrize("kind", ["problem", "predictor"])
def test_command_given_a_module_that_cannot_be_imported_is_one_line_with_its_place(own, tmp_path, code, kind):
    name = f"broken_{kind}_{list(BROKEN).index(code)}"
    (tmp_path / f"{name}.py").write_text(code)
    given = (f"{name}.py:it",) if kind == "problem" else ("plant:problem", "--predictor", f"{name}.py:it")
    done = call("train", *given, *own, "--method", "sfge")
    assert done.exit_code == 1
    assert done.output.count("\n") == 1, done.output
    assert done.output.startswith(f"Error: {name}.py cannot be imported: {BROKEN[code]}")
    assert done.output.endswith(f"line {1 + code.count(chr(10))}). `python {name}.py` shows the whole error\n")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("def it():\n    raise RuntimeError('no database')", "odd.py:it() failed: RuntimeError: no database ("),
        ("def it(limit): ...", "odd.py:it() failed: TypeError: it() missing 1 required positional argument: 'limit'\n"),
        ("def __getattr__(name):\n    raise OSError('gone')", "odd.py:it cannot be read: OSError: gone ("),
    ],
)
def test_command_given_a_function_that_fails_to_make_a_problem_is_one_line(own, tmp_path, monkeypatch, code, says):
    monkeypatch.delitem(sys.modules, "odd", raising=False)
    (tmp_path / "odd.py").write_text(code)
    done = call("doctor", "odd.py:it", *own)
    assert done.exit_code == 1
    assert done.output.startswith(f"Error: {says}") and done.output.count("\n") == 1, done.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give a problem of your own (mymodule:problem) or --benchmark NAME"),
        (["plant:problem", "--benchmark", "toy"], "one of the two"),
        (["plant:problem"], "needs its table: --data FILE --x COLUMNS --y COLUMNS"),
        (["--benchmark", "toy", "--x", "a"], "a benchmark has its table"),
        (["plant:problem", "--data", "table.csv", "--x", "temp,demand_a", "--y", "demand_*"], "in --x and in --y"),
        (["plant:problem", "--data", "table.csv", "--x", "tmp", "--y", "demand_*"], "no column 'tmp'; it has 'temp'"),
    ],
)
def test_command_given_what_does_not_go_together_is_reported(own, arguments, says):
    done = call("quote", *arguments)
    assert done.exit_code == 2
    assert says in done.output


def test_command_given_a_quote_of_ones_own_problem_from_each_kind_of_file(own, tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow.csv
    import pyarrow.parquet

    done = call("quote", "plant:problem", *own)
    assert done.exit_code == 0, done.output
    assert "40 rows, n_y = 2" in done.output
    table = pyarrow.csv.read_csv(tmp_path / "table.csv")
    pyarrow.parquet.write_table(table, tmp_path / "table.parquet")
    numbers = np.column_stack([table[name].to_numpy() for name in table.column_names])
    np.savez(tmp_path / "table.npz", X=numbers[:, 1:3], Y=numbers[:, 3:5])
    for file, x, y in (("table.parquet", "temp,dow", "demand_*"), ("table.npz", "X", "Y")):
        again = call("quote", "plant:problem", "--data", file, "--x", x, "--y", y)
        assert "40 rows, n_y = 2" in again.output


def test_command_given_columns_with_known_data_go_to_the_functions(own):
    done = call("doctor", "plant:limited", *own, "--instances", "most")
    assert done.exit_code == 0, done.output


def test_command_given_a_table_that_is_not_there_is_wrong_usage(own, tmp_path):
    (tmp_path / "orders.csv").write_text("a\n1\n")
    done = call("doctor", "plant:problem", "--data", "order.csv", "--x", "a", "--y", "b")
    assert done.exit_code == 2
    assert "there is no file order.csv; did you mean 'orders.csv'?" in " ".join(done.output.split())
