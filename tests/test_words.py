"""The check of identifiers, .ci/words.py."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / ".ci" / "words.py"
specification = importlib.util.spec_from_file_location("words", PATH)
words = importlib.util.module_from_spec(specification)
specification.loader.exec_module(words)


@pytest.mark.parametrize("code", ["told = 1", "def _tell_all(): pass", "class TooDear: pass", "x.anew", "f(NOBODY=1)"])
def test_words_names_an_unclear_identifier_with_its_line(code, tmp_path, capsys):
    (tmp_path / "module.py").write_text(f"a = 1\n{code}\n")
    assert words.main([tmp_path]) == 1
    assert "module.py:2: " in capsys.readouterr().out


@pytest.mark.parametrize("code", ["retold = 1", "dearest = 2", "x = 'told'", "y = 1  # told", "untold = installed = 3"])
def test_words_leaves_other_words_text_and_comments_alone(code, tmp_path):
    (tmp_path / "module.py").write_text(code + "\n")
    assert words.main([tmp_path]) == 0


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ("MOST = 3", "MOST = 4", 1),
        ("A, MOST = 1, 3", "MOST = 4", 1),
        ("MOST = 3", "MOST = 3", 0),
        ("METHOD = 1", "METHOD = 2", 0),
    ],
)
def test_words_names_a_constant_with_two_values_in_one_folder(first, second, code, tmp_path, capsys):
    (tmp_path / "one.py").write_text(first + "\n")
    (tmp_path / "two.py").write_text(second + "\n")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "three.py").write_text("MOST = 5\n")
    assert words.main([], tmp_path) == code
    assert ("MOST is 4 here and 3 in one.py" in capsys.readouterr().out) == bool(code)


def test_words_of_the_repository_are_clear():
    assert words.main() == 0
