"""What the documentation shows is true: its Python runs, docstring examples hold, links lead somewhere.

Every fenced `python` block of a page runs, in the order of the page, in one namespace and an empty folder. Two comments
(those of Sybil) say more, and are not seen by readers:

    <!-- invisible-code-block: python          set-up that would bore a reader; runs like a block
    ... -->
    <!-- skip: next "why it cannot run" -->    the next block is only compiled
    <!-- prints -->                            the `text` block below it is what the blocks before it have printed last
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
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *PACKAGE.glob("**/*.md"),
        *ROOT.glob("results/*.md"),
        *ROOT.glob("results/real/*.md"),
    ]
)
CODE = re.compile(
    r"""(?:^<!--\ skip:\ next\ "(?P<reason>[^"\n]+)"\ -->\n+)?
        ^(?:```python\n(?P<shown>.*?)^```$ | <!--\ invisible-code-block:\ python\n(?P<hidden>.*?)^-->$)""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
FENCED = re.compile(r"^```(\w*)\n.*?^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^<!-- prints -->\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
COLUMNS = 88  # of code, which then fits a page of the site and a screen
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
def test_docs_the_python_of_a_page_runs_and_prints_what_is_shown(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    namespace = {"__name__": page.stem}
    for block in blocks(text_of(page)):
        compiled = compile(block.code, str(page), "exec")
        if block.runs:
            exec(compiled, namespace)
    printed = capsys.readouterr().out
    for shown in PRINTED.findall(page.read_text()):
        assert alike(shown, printed), f"the page shows\n{shown}\nand its code prints\n{printed}"


def alike(shown, printed):
    """Whether `shown` is a part of what was printed, but for line breaks and small differences of its numbers."""
    pattern = r"\s+".join(r"(\S*?)".join(re.escape(part) for part in NUMBER.split(word)) for word in shown.split())
    found = re.search(pattern, printed)
    if found is None:
        return False
    pairs = zip(NUMBER.findall(found[0]), NUMBER.findall(shown), strict=True)
    numbers = [[float(one.replace(",", "")) for one in pair] for pair in pairs]
    return all(new == pytest.approx(old, rel=0.1, abs=5) for new, old in numbers)


def test_docs_what_a_page_shows_as_printed_is_compared():
    printed = "a line\nRegret fell by 39% (95% interval 22% to 56%), paid: 1,499\nsolves.\n"
    assert alike("Regret fell by 40% (95% interval\n22% to 57%), paid: 1,500 solves.", printed)
    assert not alike("Regret fell by 60% (95% interval 22% to 57%)", printed)
    assert not alike("Regret rose by 40% (95% interval 22% to 57%)", printed)


def test_docs_readme_takes_three_minutes():
    seen = re.sub(r"<!--.*?-->", "", (ROOT / "README.md").read_text())
    assert len(seen.split()) <= 450


@pytest.mark.parametrize("page", [page for page in PAGES if PACKAGE not in page.parents], ids=name)
def test_docs_code_fits_a_page(page):
    """Fenced blocks, and indented ones, which begin at the fifth column."""
    text = re.sub(r"^<!-- invisible-code-block.*?^-->$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    fenced = [line for match in FENCED.finditer(text) for line in match[0].splitlines()]
    indented = re.findall(r"^    (?! *(?:[-*]|\d+\.) )(.*)$", FENCED.sub("", text), flags=re.MULTILINE)
    assert not [line for line in (*fenced, *indented) if len(line) > COLUMNS]


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
    listed = re.findall(r"\[`([^`]+)`\]\([\w-]+\.md\)", table)
    assert not [method for method in METHODS if not any(fnmatch(method, pattern) for pattern in listed)]


def test_docs_every_page_is_found_from_the_first():
    first = ROOT / "docs" / "README.md"
    seen, ahead = set(), [first]
    while ahead:
        page = ahead.pop()
        if page not in seen:
            seen.add(page)
            targets = [(page.parent / link.partition("#")[0]).resolve() for link in LINK.findall(page.read_text())]
            ahead += [target for target in targets if target.suffix == ".md" and target.is_file()]
    shown = [page for page in PAGES if PACKAGE not in page.parents]
    assert not [name(page) for page in shown if page not in seen]
