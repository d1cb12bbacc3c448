"""Settings of Sphinx for the documentation site; `build.py` lays out its pages."""

import dataclasses
import re
from pathlib import Path

from sphinx.ext.napoleon import Config, GoogleDocstring

import fewsolves
from pages import ROOT, place

project, author = "fewsolves", "The fewsolves authors"
copyright = "the fewsolves authors, MIT licence"
version = release = fewsolves.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 4
myst_url_schemes = {"http": None, "https": None, "mailto": None, "source": {"url": "{{path}}"}}  # `pages` makes these
add_module_names = False
python_maximum_signature_line_length = 80
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "fewsolves"
html_static_path = [str(Path(__file__).parent / "style.css")]
html_css_files = ["style.css"]
html_search_scorer = str(ROOT / "build" / "docs" / "scorer.js")
html_copy_source = html_show_sourcelink = False
html_domain_indices = False
html_sidebars = {"index": [], "overview": []}
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "search_bar_text": "Search these pages ...",
}


def _docstring(app: object, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Docstrings are plain text: `code` in single backticks, pages as docs/NAME.md; what a module indents is code."""
    text = re.sub(
        r"\bdocs/[\w/-]+\.md",
        lambda match: f":doc:`/{(place(match[0]) or match[0]).removesuffix('.md')}`",
        "\n".join(lines),
    )
    text = "\n\n".join(
        part if ">>> " in part else re.sub(r"(?<![`:\w])`([^`\n]+)`(?!`)", _code, part) for part in text.split("\n\n")
    )
    if what == "module":
        text = re.sub(r"(?<=\n\n)((?: {4}.*\n|\n)+)", r"::\n\n\1", text + "\n")
    lines[:] = text.split("\n")
    if what not in ("attribute", "property"):  # napoleon takes "one line: what it does" of an attribute for its type
        lines[:] = GoogleDocstring(lines, Config()).lines()


def _code(match: re.Match[str]) -> str:
    """A public class is a link to its page."""
    named = match[1].removeprefix("fewsolves.")
    known = named in fewsolves.__all__ and (named[0].isupper() or named != match[1])
    return f":py:obj:`{match[1]} <fewsolves.{named}>`" if known else f"``{match[1]}``"


def _signature(app: object, what: str, name: str, value: object, *rest: object) -> tuple[str, str] | None:
    """A dataclass that tells its fields one by one needs no line of their defaults."""
    fields_alone = what == "class" and dataclasses.is_dataclass(value) and "Args:" not in (value.__doc__ or "")
    return ("", "") if fields_alone else None


def setup(app) -> None:  # type: ignore[no-untyped-def]
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-process-docstring", _docstring, priority=100)
