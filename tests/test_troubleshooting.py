"""docs/troubleshooting.md quotes what the product really says, and has every sentence of the summary."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "fewsolves"
PAGE = ROOT / "docs" / "troubleshooting.md"
QUOTES = re.findall(r'^\| "(.+?)" \|', PAGE.read_text(), flags=re.MULTILINE)
FEWEST_WORDS = 5  # shorter texts are parts of a sentence
IN_NOTEBOOKS = ("Result of the fit", "..., ... of it in your functions")  # a heading and a time: no sentences


def texts(file):
    """The strings of a module as a user sees them, with dots for what is filled in; docstrings are left out."""
    tree = ast.parse(file.read_text())
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "..." for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner | documented:
            yield node.value


def fragments(quote):
    """The parts of a quote between its dots that say something."""
    return [part.strip() for part in quote.split("...") if len(part.strip()) > 3]


@pytest.fixture(scope="module")
def said():
    return "\n".join(text for file in PACKAGE.rglob("*.py") for text in texts(file))


@pytest.mark.parametrize("quote", QUOTES)
def test_troubleshooting_quotes_what_the_product_says(quote, said):
    assert fragments(quote)
    assert not [part for part in fragments(quote) if part not in said]


def test_troubleshooting_has_every_sentence_of_the_summary():
    shown = [part for quote in QUOTES for part in fragments(quote)]
    every = [*texts(PACKAGE / "fitting" / "summary.py")]
    sentences = [
        text for text in every if len(text.replace("...", "").split()) >= FEWEST_WORDS and text not in IN_NOTEBOOKS
    ]
    assert len(sentences) > 15
    assert not [text for text in sentences if not any(part in text or text in part for part in shown)]


def warned(file):
    """What a module says through `warnings.warn`, but for names that are deprecated."""
    for node in ast.walk(ast.parse(file.read_text())):
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "warnings.warn"
            and isinstance(node.args[0], ast.JoinedStr)
        ) and not any("Deprecat" in ast.unparse(one) for one in node.args[1:]):
            parts = node.args[0].values
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "..." for part in parts)


def test_troubleshooting_has_every_warning():
    shown = [part for quote in QUOTES for part in fragments(quote) if len(part.split()) >= FEWEST_WORDS]
    every = [text for file in PACKAGE.rglob("*.py") for text in warned(file) if len(text.split()) >= FEWEST_WORDS]
    assert len(every) > 8
    assert not [text for text in every if not any(part in text for part in shown)]
