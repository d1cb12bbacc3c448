from click.testing import CliRunner

from fewsolves.cli import main
from fewsolves_studies.benchmarks.catalogue import DESCRIPTIONS


def test_command_benchmarks_all_benchmarks_are_listed():
    shown = CliRunner().invoke(main, ["benchmarks"]).output.splitlines()
    assert [line.split()[0] for line in shown] == list(DESCRIPTIONS)
