import os
import signal
import subprocess
import sys
from urllib.request import ProxyHandler, build_opener

from click.testing import CliRunner

from fewsolves.cli import main


def test_command_watch_the_command_serves_until_it_is_interrupted(tmp_path):
    command = [sys.executable, "-c", "from fewsolves.cli import main; main()", "watch", str(tmp_path), "--port", "0"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as serving:
        address = serving.stdout.readline().split()[0]
        page = build_opener(ProxyHandler({})).open(address, timeout=60).read().decode()
        serving.send_signal(signal.SIGINT)
        rest = serving.communicate(timeout=60)[0]
    assert address.startswith("http://127.0.0.1:")
    assert "fewsolves watch" in page
    assert "The page has ended." in rest
    assert serving.returncode == 0


def test_command_watch_an_address_that_is_not_here_is_refused(tmp_path):
    done = CliRunner().invoke(main, ["watch", str(tmp_path), "--address", "192.0.2.1"])
    assert done.exit_code == 1
    assert "no page can be served at 192.0.2.1" in done.output
