"""`fewsolves train` on a problem of one's own; on benchmarks it is in test_train.py."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import fewsolves as fs
from fewsolves.cli import main
from fewsolves.commands.given import find_problem
from fewsolves.tables import read_table
from problems_of_users import QUICK

SETTINGS = [part for name, value in QUICK.items() for part in ("--set", f"{name}={value}")]
OPTIONS = ("--method", "sfge", "--predictor", "linear", *SETTINGS)


def train(*arguments):
    return CliRunner().invoke(main, ["train", *map(str, arguments)])


def test_command_train_own_a_problem_of_ones_own_is_trained_reported_and_can_be_loaded(own, tmp_path):
    done = train("plant:problem", *own, "--out", "run", *OPTIONS)
    assert done.exit_code == 0, done.output
    assert "solves" in done.output
    assert "wrote result.json, history.csv, model.json, model.safetensors, report.html in run" in done.output
    result = json.loads((tmp_path / "run/result.json").read_text())
    assert (result["problem"], result["method"]) == ("plant", "sfge")
    assert result["rows"] == {"train": 32, "valid": 8, "test": 0}, "as in Python"
    assert (tmp_path / "run/ledger.sqlite").exists()
    model = fs.load("run", find_problem("plant:problem"))
    table = read_table(tmp_path / "table.csv")
    X = table.matrix(["temp", "dow"])
    assert model.decide(X[:3]).shape == (3, 2)
    assert model.columns == ("temp", "dow")
    assert "plant" in (tmp_path / "run/report.html").read_text()
    again = CliRunner().invoke(main, ["report", "run", "--out", "again.html"])
    assert again.exit_code == 0, again.output
    assert (tmp_path / "again.html").exists()


def test_command_train_own_trains_as_python_does(own, tmp_path):
    done = train("plant:problem", *own, "--out", "run", "--predictor", "linear", "--set", "solves=1", "--no-report")
    assert done.exit_code == 0, done.output
    table = read_table(tmp_path / "table.csv")
    X, Y = table.matrix(["temp", "dow"]), table.matrix(["demand_a", "demand_b"])
    options = {"predictor": "linear", "settings": {"solves": 1}, "verbose": False}
    model = fs.DecisionRegressor(find_problem("plant:problem"), **options).fit(X, Y)
    assert np.array_equal(fs.load("run", find_problem("plant:problem")).predict(X), model.predict(X))


def test_command_train_own_the_same_command_goes_on_and_pays_nothing(own, tmp_path):
    train("plant:problem", *own, "--out", "run", *OPTIONS)
    before = (tmp_path / "run/model.safetensors").read_bytes()
    calls = []
    plant = find_problem("plant:problem")
    object.__setattr__(plant, "solve", lambda y_hat: calls.append(y_hat))  # another solver is another problem
    done = train("plant:problem", *own, "--out", "run", *OPTIONS)
    assert done.exit_code == 1
    assert "changed" in done.output
    object.__setattr__(plant, "solve", find_problem("plant:make").solve)
    done = train("plant:problem", *own, "--out", "run", *OPTIONS)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "run/model.safetensors").read_bytes() == before
    assert not calls


def test_command_train_own_without_a_folder_the_result_is_written_all_the_same(own, tmp_path):
    done = train("plant.py:problem", *own, *OPTIONS)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "runs/train/result.json").exists()
    assert not (tmp_path / "runs/train/ledger.sqlite").exists()


def validated(tmp_path):
    """The rows of the table that chose the result, by their days."""
    (rows,) = (json.loads(json.loads((tmp_path / "run/fit.json").read_text())["content"])["rows"]["valid"],)
    return rows


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        (["--validation", "last 10 %"], [36, 37, 38, 39]),
        (["--validation", "holdout"], [1, 5]),
        (["--time-order", "day"], list(range(32, 40))),
        (["--time-order", "day", "--validation", "last 5 %"], [38, 39]),
    ],
)
def test_command_train_own_which_rows_choose_the_result_can_be_said(own, tmp_path, options, rows):
    text = (tmp_path / "table.csv").read_text().splitlines()
    marked = [f"{line},{'holdout' if k == 0 else int(k - 1 in (1, 5))}" for k, line in enumerate(text)]
    (tmp_path / "table.csv").write_text("\n".join(marked) + "\n")
    done = train("plant:problem", *own, "--out", "run", *OPTIONS, *options)
    assert done.exit_code == 0, done.output
    assert validated(tmp_path) == rows


def test_command_train_own_rows_are_sorted_by_time_with_their_known_data_and_their_marks(own, tmp_path):
    head, *rows = (tmp_path / "table.csv").read_text().splitlines()
    in_order = [f"{row},2026-01-{int(row.split(',')[0]) % 28 + 1:02}" for row in rows]
    (tmp_path / "table.csv").write_text("\n".join([f"{head},date", *in_order[::-1]]) + "\n")
    options = ["--time-order", "date", "--validation", "late", "--instances", "most"]
    done = train("plant:limited", *own, *OPTIONS, "--out", "run", *options)
    assert done.exit_code == 2
    assert "no column 'late'" in done.output
    done = train("plant:limited", *own, *OPTIONS, "--out", "run", *options[:2], *options[4:])
    assert done.exit_code == 0, done.output
    table = read_table(tmp_path / "table.csv")
    assert np.array_equal(np.sort(table.columns["date"]), table.columns["date"][table.order("date")])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--time-order", "words"], "column 'words' has no time in row 0, but 'w0'; write 2026-11-16"),
        (["--validation", "1.5"], "above 0 and below 1"),
        (["--validation", "words"], "column 'words' has no number in row 0"),
        (["--method", "magic"], "unknown method 'magic'"),
        (["--validation", "zz"], "no column 'zz'"),
        (["--validation", "*"], "columns; name one"),
        (["--time-order", "*"], "columns; name one"),
        (["--instances", "zz"], "no column 'zz'"),
        (["--set", "max_epoch=1"], "max_epochs"),
        (["--predictor", "lienar"], "did you mean 'linear'?"),
    ],
)
def test_command_train_own_a_mistake_is_one_line_and_nothing_is_written(own, tmp_path, options, says):
    text = (tmp_path / "table.csv").read_text().splitlines()
    (tmp_path / "table.csv").write_text(
        "\n".join([f"{text[0]},words", *(f"{line},w{k}" for k, line in enumerate(text[1:]))]) + "\n"
    )
    done = train("plant:problem", *own, "--out", "run", *OPTIONS, *options)
    assert done.exit_code == (1 if "in row 0" in says else 2)
    assert says in done.output
    assert not (tmp_path / "run").exists()


def test_command_train_own_a_benchmark_has_its_own_split():
    done = train("--benchmark", "kp-capacity", "--method", "pfl", "--validation", "0.2")
    assert done.exit_code == 2
    assert "a benchmark has its split" in done.output


def test_command_train_own_a_table_that_has_grown_goes_on_in_the_same_folder(own, tmp_path):
    assert train("plant:problem", *own, "--out", "run", *OPTIONS).exit_code == 0
    paid = json.loads((tmp_path / "run/result.json").read_text())["calls"]["solve"]["labels"]
    rows = (tmp_path / "table.csv").read_text()
    (tmp_path / "table.csv").write_text(rows + "40,0.1,0.2,11,9,12\n41,-0.3,0.4,10,12,12\n")
    done = train("plant:problem", *own, "--out", "run", *OPTIONS)
    assert done.exit_code == 0, done.output
    result = json.loads((tmp_path / "run/result.json").read_text())
    assert sum(result["rows"].values()) == 42
    assert result["calls"]["solve"]["labels"] <= paid + 2


def test_command_train_own_a_regressor_of_ones_own_is_corrected(own, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from sklearn.ensemble import RandomForestRegressor\nforest = RandomForestRegressor(5, random_state=0)\n"
        "def make():\n    return RandomForestRegressor(5, random_state=0)\n"
    )
    for name in ("mine.py:forest", "mine:make"):
        done = train("plant:problem", *own, "--out", name.rpartition(":")[2], "--predictor", name, "--set", "solves=1")
        assert done.exit_code == 0, done.output
        assert "correction of RandomForestRegressor, " in done.output
        assert "the forecaster is not saved" in done.output
    result = json.loads((tmp_path / "forest/result.json").read_text())
    assert result["predictor"] == "RandomForestRegressor"
    done = train("plant:problem", *own, "--predictor", "mine:tree")
    assert "mine has no 'tree'" in done.output


@pytest.mark.parametrize("option", ["--folder", "--ledger"])
def test_command_train_own_an_empty_folder_is_refused(own, tmp_path, option):
    done = train("plant:problem", *own, option, "", *OPTIONS)
    assert done.exit_code == 2
    assert "it is empty; give the path of a folder, or . for the working directory" in done.output
    assert not (tmp_path / "result.json").exists()
