from click.testing import CliRunner

from fewsolves.cli import main


def test_command_doctor_a_benchmark_is_examined_and_sound():
    shown = CliRunner().invoke(main, ["doctor", "--benchmark", "kp-capacity", "--data", "n=50"])
    assert shown.exit_code == 0, shown.output
    assert "minimises the cost      ok" in shown.output
    assert "the problem is ready for training" in shown.output


def test_command_doctor_the_exit_code_says_that_something_is_to_be_mended(own):
    shown = CliRunner().invoke(main, ["doctor", "plant.py:profit", *own])
    assert shown.exit_code == 1
    assert "for a profit return its negative" in shown.output
    assert CliRunner().invoke(main, ["doctor", "plant.py:problem", *own, "--time-limit", "20"]).exit_code == 0
