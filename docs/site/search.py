"""Order of the search results: pages that a word is about first, then the guide, the reference, and research last.

A page names the words that it is about in a comment below its title, which readers of the page do not see:

    <!-- keywords: resume, crash, checkpoint -->

The site finds the page by these words, whether or not its text contains them, and puts it first. The index of Sphinx
knows which pages contain a word but not how often, so without this most results would be in alphabetical order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

KEYWORDS = re.compile(r"^<!-- keywords: (.+?) -->\n", re.MULTILINE | re.DOTALL)
LOWER = ("results/", "changelog", "contributing", "security", "glossary", "architecture")  # after the guide
SCORER = """// made by docs/site/search.py
const ABOUT = %s;
const LOWER = %s;
const words = () => (new URLSearchParams(location.search).get("q") || "").toLowerCase().split(/[^\\w+-]+/);
const alike = (asked, about) =>
  asked === about || (Math.min(asked.length, about.length) > 3 && (asked.startsWith(about) || about.startsWith(asked)));
var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    const about = ABOUT[page] || [];
    const own = words().filter((asked) => about.some((one) => alike(asked, one))).length;
    const part = LOWER.some((start) => page.startsWith(start)) ? -200 : page.startsWith("api/") ? -50 : 0;
    return score + 300 * own + part;
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
"""


def keywords(text: str) -> list[str]:
    """The words that a page is about, as its comment lists them."""
    found = KEYWORDS.search(text)
    return [] if found is None else [" ".join(word.split()) for word in found[1].split(",")]


def with_keywords(text: str) -> str:
    """A page as Sphinx reads it: the comment becomes metadata, which the search of Sphinx indexes."""
    words = keywords(text)
    if not words:
        return text
    listed = json.dumps(", ".join(words))
    return f'---\nmyst:\n  html_meta:\n    "keywords": {listed}\n---\n\n{KEYWORDS.sub("", text, count=1)}'


def scorer(pages: Mapping[str, str]) -> str:
    """The JavaScript that orders the results, for pages by name."""
    about = {name: [word.lower() for word in keywords(text)] for name, text in pages.items()}
    named = {name: words for name, words in sorted(about.items()) if words}
    return SCORER % (json.dumps(named), json.dumps(LOWER))
