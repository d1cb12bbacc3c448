import pytest
from click.testing import CliRunner

from fewsolves.cli import main
from fewsolves.demo import demo, named


@pytest.fixture
def alone(monkeypatch):
    """As where no package with named problems is installed."""
    monkeypatch.setattr(named, "entry_points", lambda group: ())


@pytest.mark.parametrize("command", ["train", "quote", "doctor"])
def test_named_benchmark_option_without_studies_says_what_to_install(alone, command):
    done = CliRunner().invoke(main, [command, "--benchmark", "kp-values"])
    assert done.exit_code == 2
    assert "pip install --editable studies" in done.output
    assert "Traceback" not in done.output


def test_named_benchmark_demo_problem_needs_no_other_package_and_is_the_one_of_the_studies(alone, monkeypatch):
    shipped = demo.load(demo.SHIPPED_NAME, 1, n=20)
    monkeypatch.undo()
    same = named.named_problems().load(demo.SHIPPED_NAME, 1, n=20)
    assert shipped.options == same.options
    assert (shipped.X == same.X).all() and (shipped.Y == same.Y).all()
    assert (shipped.fresh(5).Y == same.fresh(5).Y).all()
