import sys
from pathlib import Path

from fewsolves_studies.real.output import write

sys.path.insert(0, str(Path(__file__).parent))
from made_up import some

from test_tables import STUDY


def test_real_output_table_and_pictures_are_written(tmp_path):
    text = write(STUDY, some(), tmp_path, "fewsolves real x")
    assert "Made by `fewsolves real x`." in text and "- Cheaper." in text
    assert (tmp_path / "table.md").read_text() == text
    assert {path.name for path in tmp_path.iterdir()} == {"table.md", "table.csv", "frontier.png", "frontier.svg"}
