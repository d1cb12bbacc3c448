from click.testing import CliRunner

from fewsolves.cli import main


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_report_of_a_run(tmp_path):
    call(
        "train", "--benchmark", "kp-capacity", "--method", "pfl", "--out", tmp_path / "run",
        "--set", "start_epochs=2", "--data", "n=50",
    )  # fmt: skip
    done = call("report", tmp_path)
    assert done.exit_code == 0, done.output
    assert "kp-capacity" in (tmp_path / "report.html").read_text()
