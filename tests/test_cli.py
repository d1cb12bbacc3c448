from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from fewsolves import commands
from fewsolves.cli import COMMAND_ENTRY_POINTS, _found, main
from fewsolves.errors import InputError


def test_cli_every_file_of_the_commands_is_one():
    shared = {"__init__", "options", "given", "user_code"}
    files = {path.stem for path in Path(commands.__file__).parent.glob("*.py")} - shared
    plugins = {plugin.name for plugin in entry_points(group=COMMAND_ENTRY_POINTS)}
    assert set(main.commands) == files | plugins >= {"train", "quote", "report", "paper"}
    shown = CliRunner().invoke(main, ["--help"])
    assert shown.exit_code == 0
    assert all(f"  {name} " in shown.output for name in main.commands)


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (InputError("row 3 is\x1b[31m red"), 1, "Error: row 3 is red"),
        (KeyboardInterrupt(), 130, "the same command resumes it"),
    ],
)
def test_cli_what_was_expected_is_one_line(error, code, says, monkeypatch):
    def fail():
        raise error

    monkeypatch.setitem(main.commands, "fail", click.Command("fail", callback=fail))
    done = CliRunner().invoke(main, ["fail"])
    assert done.exit_code == code
    assert says in done.output
    assert "Traceback" not in done.output


def test_cli_plugin_that_cannot_be_imported_is_named_and_left_out(monkeypatch, capsys):
    broken = [
        EntryPoint("absent", "no_such_package.commands:absent", COMMAND_ENTRY_POINTS),
        EntryPoint("number", "math:pi", COMMAND_ENTRY_POINTS),
    ]
    monkeypatch.setattr("fewsolves.cli.entry_points", lambda group: broken)
    assert "train" in {command.name for command in _found()}
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("warning: the command absent of no_such_package.commands:absent is left out, Module")
    assert second.endswith("TypeError: math:pi is not a click command")


@pytest.mark.parametrize("group", [[], ["ledger"]], ids=" ".join)
def test_cli_summaries_fit_eighty_columns(group):
    shown = CliRunner().invoke(main, [*group, "--help"], terminal_width=80).output
    commands = shown.partition("Commands:")[2]
    assert "..." not in commands
    assert max(map(len, shown.splitlines())) <= 80
