"""Pages of the site: the repository's Markdown, laid out for Sphinx, with its links turned to pages of the site.

A page reads well on a code host as it is. For the site its links are rewritten: a link to a page leads to that page of
the site, a link to anything else leads to the file in the repository, and pictures are copied.

    docs/README.md              index.md, the home; its `##` sections are the parts of the navigation
    docs/ledger.md              ledger.md
    results/README.md           results/index.md; research pages are those that it lists
    examples/01_newsvendor.py   examples/01_newsvendor.md     by `gallery`
    src/fewsolves/plot.py       api/plot.md                   by `reference`

Other files, such as sources and tables, are no pages. Their links begin with the environment variable FEWSOLVES_SOURCE,
the address of the repository on a code host (https://.../blob/main). Without it they lead to the files of the checkout
that the site was built in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from search import with_keywords

ROOT = Path(__file__).resolve().parents[2]
HOME = "docs/README.md"
PLACES = {  # of files that are found by another name on the site
    HOME: "index.md",
    "README.md": "overview.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "src/fewsolves/__init__.py": "api/index.md",
    "src/fewsolves/estimator.py": "api/DecisionRegressor.md",
    "src/fewsolves/plot.py": "api/plot.md",
    "src/fewsolves/callbacks.py": "api/callbacks.md",
    "src/fewsolves/testing/__init__.py": "api/testing.md",
}
TITLES = {"README.md": "Overview"}  # of pages that are called otherwise on the site
BELOW = {  # pages of a folder, and the page that lists them
    "methods": "methods/index",
    "results": "results/index",
    "results/real": "results/real-data",
    "examples": "examples/index",
}
PICTURES = (".png", ".svg")
SOURCE = os.environ.get("FEWSOLVES_SOURCE", "").rstrip("/")
CHECKOUT = "../../.."  # as seen from build/docs/html
FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1[^\S\n]*$|^<!--.*?-->$", re.MULTILINE | re.DOTALL)
TARGET = re.compile(r"(\]\()([^)\s]+)(\))")
LISTED = re.compile(r"^- \[([^\]]+)\]\(([^)\s]+)\)", re.MULTILINE)
NAMED = re.compile(r"(?<!\[)`fs\.(\w+)[^`\n]*`(?!\])")
LINKED = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\([^)\s]*\)|^#.*$|^    .*$", re.MULTILINE)


class Section(NamedTuple):
    """A part of the navigation: a `##` section of the home that lists pages."""

    title: str
    text: str
    pages: tuple[str, ...]  # names on the site, without .md

    @property
    def name(self) -> str:
        """Its page on the site; where the section lists a single page, that page."""
        return self.pages[0] if len(self.pages) == 1 else f"sections/{self.title.lower().replace(' ', '-')}"


def place(path: str) -> str | None:
    """Where a file of the repository is on the site; None where it is no page or picture of it."""
    if path in PLACES:
        return PLACES[path]
    if (ROOT / path / "README.md").is_file():
        return place(f"{path}/README.md")
    if path in _pages():
        return re.sub(r"README\.md$", "index.md", path).removeprefix("docs/")
    if re.fullmatch(r"examples/\d\d_\w+\.py", path):
        return f"{path.removesuffix('.py')}.md"
    return path if path.endswith(PICTURES) else None


@cache
def _pages() -> frozenset[str]:
    """The Markdown of the repository that is shown as a page under its own name."""
    guide = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")]
    return frozenset([*guide, "examples/README.md", *research()])


@cache
def research() -> tuple[str, ...]:
    """The research pages: results/README.md, the pages that it lists, and those in a folder beside such a page."""
    listed = [_target("results/README.md", link)[0] for _, link in LISTED.findall(_text("results/README.md"))]
    beside = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "results" / "real").glob("*.md"))
    return ("results/README.md", *listed, *beside)


def _text(page: str) -> str:
    return (ROOT / page).read_text()


def sections(text: str | None = None) -> list[Section]:
    """The parts of the navigation, as the home lists them."""
    text = _text(HOME) if text is None else text
    found = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        pages = [_target(HOME, link)[0] for _, link in LISTED.findall(body)]
        if pages:
            places = [place(page) or page for page in pages]
            found.append(Section(title.strip(), body, tuple(one.removesuffix(".md") for one in places)))
    return found


def _target(page: str, link: str) -> tuple[str, str]:
    """The path in the repository that a link of a page means, and its anchor."""
    path, _, anchor = link.partition("#")
    inside = os.path.normpath(PurePosixPath(page).parent / path) if path else page
    return PurePosixPath(inside).as_posix(), f"#{anchor}" if anchor else ""


class Site:
    """Lays out a page and all that it leads to."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names` are public names and the pages that describe them, which pages then link."""
        self.names = names
        self.pages: dict[str, str] = {}  # by name on the site, without .md
        self.files: dict[str, Path] = {}  # pictures, tables and the like, by name on the site
        self._seen: set[str] = set()
        self._ahead: list[str] = []

    def add(self, path: str) -> None:
        """A page of the repository, and the pages and pictures that it leads to."""
        self._ahead.append(path)
        while self._ahead:
            one = self._ahead.pop()
            where = place(one)
            if where is None or one in self._seen:
                continue
            self._seen.add(one)
            if one.endswith(PICTURES):
                self.files[where] = ROOT / one
            elif (ROOT / one).is_dir():
                self._ahead.append(f"{one}/README.md")
            elif one.endswith(".md"):  # others are made by `reference` and `gallery`
                text = _text(one)
                if one in TITLES:
                    text = re.sub(r"^# .*", f"# {TITLES[one]}", text)
                self.put(where, self.rewritten(one, text))

    def put(self, where: str, text: str) -> None:
        """Add a page, or replace it."""
        self.pages[where.removesuffix(".md")] = text

    def rewritten(self, page: str, text: str, where: str | None = None) -> str:
        """Text of a page of the repository with links that lead to the site, to stand at `where`; code stays."""
        where = where or place(page) or page
        cuts, parts = [0, *(at for match in FENCED.finditer(text) for at in match.span()), len(text)], []
        for k, (begin, end) in enumerate(pairwise(cuts)):
            part = text[begin:end]
            parts.append(part if k % 2 else self._named(where, self._links(page, where, part)))
        return "".join(parts)

    def _links(self, page: str, where: str, text: str) -> str:
        def turned(match: re.Match[str]) -> str:
            link = match[2]
            if re.match(r"[a-z]+:", link) or link.startswith("#"):
                return match[0]
            path, anchor = _target(page, link)
            target = place(path)
            if target is None:
                return f"{match[1]}{_source(where, path)}{match[3]}"
            self._ahead.append(path)
            return f"{match[1]}{_between(where, target)}{anchor}{match[3]}"

        return TARGET.sub(turned, text)

    def _named(self, where: str, text: str) -> str:
        """`fs.NAME` leads to its reference, outside of links, headings and code."""
        own = [match.span() for match in LINKED.finditer(text)]

        def linked(match: re.Match[str]) -> str:
            named = self.names.get(match[1])
            if named is None or any(begin <= match.start() < end for begin, end in own):
                return match[0]
            return f"[{match[0]}]({_between(where, named)})"

        return NAMED.sub(linked, text)

    def finish(self) -> None:
        """Write the navigation: the parts below the home, the pages of a part below it, folders below their page."""
        parts = sections()
        for part in parts:
            if len(part.pages) > 1:
                text = self.rewritten(HOME, part.text, f"{part.name}.md").rstrip()
                self.put(f"{part.name}.md", f"# {part.title}\n{text}\n\n{_toctree(part.pages)}")
        for folder, parent in BELOW.items():
            children = [name for name in self.pages if str(PurePosixPath(name).parent) == folder and name != parent]
            children.sort(key=lambda name: (_named_at(self.pages.get(parent, ""), name), name))
            listed = {name for part in parts for name in part.pages}
            if parent in self.pages:
                inside = [name for name in children if name not in listed]
                self.put(f"{parent}.md", self.pages[parent].rstrip() + "\n\n" + _toctree(inside))
        self.put("index.md", self.pages["index"].rstrip() + "\n\n" + _toctree([part.name for part in parts]))

    def write(self, folder: Path) -> None:
        """Write all of it; what is there and the same is left alone, what is no more is removed."""
        texts = {f"{name}.md": with_keywords(text).encode() for name, text in self.pages.items()}
        contents = texts | {name: path.read_bytes() for name, path in self.files.items()}
        for old in [path for path in folder.rglob("*") if path.is_file()]:
            if old.relative_to(folder).as_posix() not in contents:
                old.unlink()
        for name, content in contents.items():
            file = folder / name
            if not file.exists() or file.read_bytes() != content:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)


def _named_at(text: str, page: str) -> int:
    """Where a page links another first; those that it does not link come last."""
    at = text.find(f"{PurePosixPath(page).name}.md)")
    return len(text) if at < 0 else at


def _toctree(pages: list[str] | tuple[str, ...]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", "", *(f"/{page}" for page in pages), "```", ""])


def _between(page: str, target: str) -> str:
    return PurePosixPath(os.path.relpath(target, PurePosixPath(page).parent)).as_posix()


def _source(page: str, path: str) -> str:
    """The link of a page of the site to a file of the repository that is no page; conf.py knows the scheme."""
    if SOURCE:
        return f"{SOURCE}/{path}"
    up = "../" * (len(PurePosixPath(page).parts) - 1)
    return f"source:{up}{CHECKOUT}/{path}"
