"""`fewsolves stop`: a run ends early and keeps everything."""

import json
import os
import socket

from click.testing import CliRunner

from fewsolves.cli import main


def written(folder, **facts):
    known = {"start": None, "best": None, "readings": [], "pid": os.getpid(), "host": socket.gethostname()}
    (folder / "progress.json").write_text(json.dumps(known | facts))


def test_command_stop_asks_the_run_under_way(tmp_path):
    written(tmp_path)
    done = CliRunner().invoke(main, ["stop", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "stop").exists()


def test_command_stop_says_where_no_run_is_under_way(tmp_path):
    for prepare in (lambda: None, lambda: written(tmp_path, ended=True)):
        prepare()
        done = CliRunner().invoke(main, ["stop", str(tmp_path)])
        assert done.exit_code == 1
        assert "no run is under way" in done.output
        assert not (tmp_path / "stop").exists()
