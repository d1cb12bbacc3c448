from click.testing import CliRunner

from fewsolves.cli import main
from fewsolves_studies.commands.real import NAMES
from fewsolves_studies.real.studies import STUDIES


def test_command_real_every_study_has_its_name():
    assert (*STUDIES, "all") == NAMES


def test_command_real_a_method_that_a_study_has_not_is_refused(tmp_path):
    done = CliRunner().invoke(main, ["real", "yaz-kitchen", "--quick", "--only", "x", "--out", str(tmp_path)])
    assert done.exit_code == 2 and "there is" in done.output


def test_command_real_a_study_by_name_goes_on_where_it_stopped(tmp_path):
    command = ["real", "yaz-kitchen", "--quick", "--out", str(tmp_path)]
    first = CliRunner().invoke(main, [*command, "--only", "pfl"])
    assert first.exit_code == 0, first.output
    again = CliRunner().invoke(main, [*command, "--only", "pfl", "--only", "staged"])
    assert again.exit_code == 0 and "Made by `fewsolves real yaz-kitchen --quick`" in again.output
    assert "0 of" not in again.output.splitlines()[0], "those of before are there"
    assert (tmp_path / "yaz-kitchen" / "day.png").exists()
