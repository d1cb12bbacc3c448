"""The guide to a method of one's own: its example runs as it stands, and needs nothing that is not public."""

import re
from pathlib import Path

import fewsolves as fs

PAGE = Path(__file__).parents[1] / "docs" / "your-own-method.md"
PUBLIC = {"fewsolves", "fewsolves.settings", "fewsolves.testing", "numpy", "torch"}


def test_own_method_the_guide_runs_with_public_names_alone(capsys):
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL))
    imported = re.findall(r"^(?:import|from) (\S+)", code, flags=re.MULTILINE)
    assert set(imported) <= PUBLIC
    assert set(re.findall(r"\bfs\.(\w+)", code)) <= set(fs.__all__)
    exec(compile(code, PAGE.name, "exec"), {})
    printed = capsys.readouterr().out
    assert re.search(r"my-pairs +at least \d+ +not measured", printed)
