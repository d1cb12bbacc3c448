from click.testing import CliRunner

from fewsolves.cli import main


def test_command_quote_the_benchmarks_price_is_reported():
    options = ["--benchmark", "kp-weights", "--delay", "0.01", "--workers", "4", "--max-solves", "9000"]
    shown = CliRunner().invoke(main, ["quote", *options])
    assert shown.exit_code == 0, shown.output
    assert "time on 4 workers" in shown.output
    assert "Not applicable here: lodl-mse" in shown.output
    wrong = CliRunner().invoke(main, ["quote", "--benchmark", "kp-weights", "--max-solves", "0"])
    assert wrong.exit_code == 2
    assert "solves must be a whole number above 0 or None, got 0" in wrong.output
