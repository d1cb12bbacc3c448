import pytest
from click.testing import CliRunner

from fewsolves.cli import main
from fewsolves.methods.registry import DEFAULT, METHODS
from fewsolves.settings import settings_of

LISTED = [DEFAULT, *(name for name in METHODS if name != DEFAULT)]


def call(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_command_methods_all_methods_are_listed():
    shown = call("methods").output.splitlines()
    assert [line.split()[0] for line in shown] == LISTED
    assert [line.split()[0] for line in shown if line.endswith(" (the default)")] == [DEFAULT]


@pytest.mark.parametrize("columns", [45, 80])
def test_command_methods_the_list_fits_the_terminal(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = call("methods").output
    assert max(map(len, shown.splitlines())) <= columns
    assert [line.split()[0] for line in shown.splitlines() if not line.startswith(" ")] == LISTED


@pytest.mark.parametrize("name", METHODS)
def test_command_methods_a_method_lists_its_settings_with_defaults_and_meanings(name):
    done = call("methods", name)
    assert done.exit_code == 0, done.output
    shown = " ".join(done.output.split())
    method = METHODS[name].with_settings({})
    assert shown.startswith(f"{name}: {method.summary}")
    for one in (*settings_of(method.settings), *settings_of(method.common)):
        assert f"{one.name} = {one.default!r} {one.meaning}; {one.allowed}" in shown


def test_command_methods_defaults_are_those_of_the_method():
    shown = call("methods", "gp-surrogate").output
    assert "  learning_rate = 0.003\n" in shown
    assert "  warm_start = True\n" in shown
    assert "Of pfl:\n  none" in call("methods", "pfl").output


def test_command_methods_an_unknown_name_is_reported():
    done = call("methods", "magic")
    assert done.exit_code == 2
    assert "unknown method 'magic'; choose one of pfl" in done.output
