"""What the documentation shows is true: its Python runs, docstring examples hold, links lead somewhere.

Every fenced `python` block of a page runs, in the order of the page, in one namespace and an empty folder. Two comments
(those of Sybil) say more, and are not seen by readers:

    <!-- invisible-code-block: python          set-up that would bore a reader; runs like a block
    ... -->
    <!-- skip: next "why it cannot run" -->    the next block is only compiled
"""

import doctest
import importlib
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from fewsolves.methods.registry import METHODS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "fewsolves"
STUDIES = ROOT / "studies" / "src" / "fewsolves_studies"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *PACKAGE.glob("**/*.md"), *ROOT.glob("results/*.md")])
CODE = re.compile(
    r"""(?:^<!--\ skip:\ next\ "(?P<reason>[^"\n]+)"\ -->\n+)?
        ^(?:```python\n(?P<shown>.*?)^```$ | <!--\ invisible-code-block:\ python\n(?P<hidden>.*?)^-->$)""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
FENCED = re.compile(r"^```(\w*)\n.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


class Block(NamedTuple):
    code: str  # with as many empty lines before it that a traceback names the line of the page
    runs: bool


def text_of(page: Path) -> str:
    """A page without its fenced blocks in other languages, which may show what is a mark elsewhere."""
    return FENCED.sub(
        lambda match: match[0] if match[1] in ("python", "py") else "\n" * match[0].count("\n"), page.read_text()
    )


def blocks(text: str) -> Iterator[Block]:
    for match in CODE.finditer(text):
        kind = "hidden" if match["shown"] is None else "shown"
        yield Block("\n" * text.count("\n", 0, match.start(kind)) + match[kind], runs=match["reason"] is None)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def headings(page: Path) -> set[str]:
    """The anchors that a host makes of the headings."""
    titles = re.findall(r"^#+ +(.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.filterwarnings("ignore:the surrogate is over-confident")  # it may be, on so few rows
@pytest.mark.parametrize("page", [page for page in PAGES if any(blocks(text_of(page)))], ids=name)
def test_docs_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    namespace = {"__name__": page.stem}
    for block in blocks(text_of(page)):
        compiled = compile(block.code, str(page), "exec")
        if block.runs:
            exec(compiled, namespace)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_docs_no_python_of_a_page_is_left_out(page):
    text = text_of(page)
    marks = re.findall(r"^\s*```\s*(?:python|py)\b|^\s*<!--+ *(?:invisible-code-block|skip)", text, flags=re.MULTILINE)
    found = list(blocks(text))
    assert len(marks) == len(found) + sum(not block.runs for block in found), "written as the top of this file says?"


def test_docs_blocks_are_found_hidden_skipped_and_numbered():
    text = (
        "# Title\n\n<!-- invisible-code-block: python\na = 1\n-->\n\n```python\nb = a\n```\n\n```bash\nls\n```\n\n"
        '<!-- skip: next "needs a cluster" -->\n```python\nc()\n```\n'
    )
    assert [(block.code.strip(), block.runs) for block in blocks(text)] == [
        ("a = 1", True),
        ("b = a", True),
        ("c()", False),
    ]
    assert [block.code.rstrip().count("\n") for block in blocks(text)] == [3, 7, 16]


@pytest.mark.filterwarnings("ignore:the surrogate is over-confident")
@pytest.mark.parametrize(
    "path",
    [path for one in (PACKAGE, STUDIES) for path in sorted(one.rglob("*.py")) if ">>> " in path.read_text()],
    ids=name,
)
def test_docs_the_examples_of_docstrings_hold(path):
    torch.manual_seed(0)
    package = STUDIES if STUDIES in path.parents else PACKAGE
    module = importlib.import_module(".".join(path.relative_to(package.parent).with_suffix("").parts))
    result = doctest.testmod(module)
    assert result.failed == 0, "see the output"
    assert result.attempted == path.read_text().count(">>> "), "each is found, behind decorators too"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_docs_links_lead_to_files_and_headings_that_exist(page):
    dead = []
    for link in LINK.findall(page.read_text()):
        if re.match(r"\w+:", link):  # somewhere else
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and anchor not in headings(file)):
            dead.append(link)
    assert not dead


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_docs_files_that_a_page_names_exist(page):
    named = re.findall(r"`((?:src|tests|docs|studies|results|examples)/[\w./*-]+)`", page.read_text())
    assert not [path for path in named if not any(ROOT.glob(path.rstrip("/")))]


def test_docs_every_method_has_a_line_that_links_its_page():
    table = (ROOT / "docs" / "methods" / "README.md").read_text()
    told = re.findall(r"\[`([^`]+)`\]\([\w-]+\.md\)", table)
    assert not [method for method in METHODS if not any(fnmatch(method, pattern) for pattern in told)]


def test_docs_every_page_is_found_from_the_first():
    first = ROOT / "docs" / "README.md"
    seen, ahead = set(), [first]
    while ahead:
        page = ahead.pop()
        if page not in seen:
            seen.add(page)
            targets = [(page.parent / link.partition("#")[0]).resolve() for link in LINK.findall(page.read_text())]
            ahead += [target for target in targets if target.suffix == ".md" and target.is_file()]
    assert not [name(page) for page in PAGES if ROOT / "docs" in page.parents and page not in seen]
