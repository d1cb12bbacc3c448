from click.testing import CliRunner

import fewsolves as fs
from fewsolves.cli import main
from problems_of_users import NEWSVENDOR, demand_table


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_command_report_of_a_run(tmp_path):
    call(
        "train", "--benchmark", "kp-capacity", "--method", "pfl", "--out", tmp_path / "run",
        "--set", "start_epochs=2", "--data", "n=50",
    )  # fmt: skip
    done = call("report", tmp_path)
    assert done.exit_code == 0, done.output
    assert "kp-capacity" in (tmp_path / "report.html").read_text()


def test_command_report_of_a_fitted_model_beside_another(tmp_path):
    X, Y = demand_table(30)
    quick = {"start_epochs": 2}
    for method in ("pfl", "shift"):
        model = fs.DecisionRegressor(NEWSVENDOR, method, "linear", quick, folder=tmp_path / method, verbose=False)
        model.fit(X, Y)
    done = call("report", tmp_path / "shift", "--out", tmp_path / "one.html")
    assert done.exit_code == 0, done.output
    assert model.summary_.next in (tmp_path / "one.html").read_text()
    call("report", tmp_path)
    assert "2 (2 methods)" in (tmp_path / "report.html").read_text()
