"""Build the documentation site: `make docs`, or python docs/site/build.py [--kept].

    build/docs/pages      what Sphinx reads: the pages of the repository, laid out by `pages`, `gallery`, `reference`
    build/docs/html       the site; open index.html
    build/docs/examples   what examples printed, by a digest of their code: they run again only when it changes

With --kept only what changed is built, and what examples printed before is shown though code has changed: for who
writes pages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import gallery
import reference
import search
from pages import HOME, ROOT, Site, research

BUILT = ROOT / "build" / "docs"
HOST = r"""["']?(?:https?:)?//[^"'\s>)]+"""
IN_PAGES = rf"""<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc={HOST}
    | <link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|icon|preconnect|dns-prefetch))[^>]*\bhref={HOST}"""
IN_STYLES = rf"@import\s+(?:url\()?{HOST} | url\({HOST}"


def main() -> None:
    """Lay out, run Sphinx with warnings as errors, and see that the site needs no other host."""
    kept = "--kept" in sys.argv
    if not kept:
        for old in ("pages", "html", "doctrees"):
            shutil.rmtree(BUILT / old, ignore_errors=True)
    source, html = BUILT / "pages", BUILT / "html"
    site = lay_out(gallery.pages(BUILT / "examples", jobs=os.cpu_count() or 1, kept=kept))
    site.files |= gallery.figures(BUILT / "examples")
    site.write(source)
    (BUILT / "scorer.js").write_text(search.scorer(site.pages))
    here = Path(__file__).parent
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-c", str(here)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(here), str(ROOT / "src"), str(ROOT / "studies" / "src")])
    }  # for conf.py
    ended = subprocess.run([*command, "-d", str(BUILT / "doctrees"), str(source), str(html)], env=environment)
    if ended.returncode:
        raise SystemExit(ended.returncode)
    if found := requests_elsewhere(html):
        raise SystemExit("the site asks other hosts: " + ", ".join(sorted(found)))
    print(f"{len(list(html.rglob('*.html')))} pages: {html / 'index.html'}")


def lay_out(examples: dict[str, str]) -> Site:
    """All pages."""
    site = Site(reference.names())
    for where, text in (reference.pages() | examples).items():
        site.put(where, text)
    for page in (HOME, "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"):
        site.add(page)
    for path in sorted((ROOT / "docs").rglob("*.md")):
        site.add(path.relative_to(ROOT).as_posix())
    for page in research():
        site.add(page)
    site.finish()
    return site


def requests_elsewhere(html: Path) -> set[str]:
    """What a browser would load from elsewhere by itself, for pages and styles; `look` sees what scripts ask for."""
    found = set()
    for suffix, pattern in ((".html", IN_PAGES), (".css", IN_STYLES)):
        for path in html.rglob(f"*{suffix}"):
            found |= {match[0][-120:] for match in re.finditer(pattern, path.read_text(), re.VERBOSE)}
    return found


if __name__ == "__main__":
    main()
