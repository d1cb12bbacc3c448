"""Completion in a real shell: the line of docs/command-line.md is run there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
PROGRAM = f"#!{sys.executable}\nfrom fewsolves.cli import main\nmain(prog_name='fewsolves')\n"
TAB = """{line}
complete -p fewsolves > /dev/null || exit 9
COMP_WORDS=({words}); COMP_CWORD={last}
_fewsolves_completion fewsolves; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("fewsolves", "tr"), ["train"]),
        (("fewsolves", "train", "--budget-s"), ["--budget-solves", "--budget-seconds"]),
        (("fewsolves", "train", "--method", "st"), ["staged"]),
        (("fewsolves", "methods", "gp-"), ["gp-surrogate", "gp-surrogate-paper"]),
    ],
)
def test_completion_in_bash_offers_commands_options_and_methods(tmp_path, words, offered):
    program = tmp_path / "fewsolves"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    [line] = re.findall(r"^ +(eval .*bash_source.*\)\")", PAGE.read_text(), re.MULTILINE)
    script = TAB.format(line=line, words=" ".join(words), last=len(words) - 1)
    env = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == offered
