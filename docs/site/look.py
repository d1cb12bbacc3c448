"""Look at the built site in Chromium: every page in light and dark, wide and as on a phone; and at what it loads.

    python docs/site/look.py [PAGE ...]      screenshots in build/docs/look, and a contact sheet of each kind

Fails where a page asks another host for something, is wider than a phone, cuts off a line of code on a wide screen,
logs an error, or where the search does not put the right page first. Pillow makes the sheets.
"""

from __future__ import annotations

import sys
from pathlib import Path

from browser import Chromium
from PIL import Image, ImageDraw

BUILT = Path(__file__).resolve().parents[2] / "build" / "docs"
HTML, LOOK = BUILT / "html", BUILT / "look"
WIDTHS = {"wide": 1280, "phone": 390}
SHEET = {"wide": (5, 320), "phone": (10, 150)}  # pages in a row of a contact sheet, and the width of each


FIRST = {  # words, and the page that the search must put first
    "budget": "budgets",
    "calls_": "results",
    "retrain": "refit",
    "drift": "refit",
    "resume": "ledger",
    "crash": "ledger",
    "LightGBM": "predictors",
    "XGBoost": "predictors",
    "Gurobi": "modelling-layers",
    "Pyomo": "modelling-layers",
    "OR-tools": "modelling-layers",
    "instances": "problem",
    "time order": "validation",
    "SLURM": "cluster",
}
CUT = """[...document.querySelectorAll(".bd-article pre")].filter(one => one.scrollWidth > one.clientWidth + 1)
    .map(one => one.textContent.split("\\n").reduce((a, b) => a.length < b.length ? b : a).slice(0, 100))"""


def main() -> None:
    """Go over the pages; tell what is wrong with any."""
    pages = sys.argv[1:] or sorted(
        path.relative_to(HTML).as_posix() for path in HTML.rglob("*.html") if "_static" not in path.parts
    )
    if missing := [page for page in pages if not (HTML / page).is_file()]:
        sys.exit(f"no such page in {HTML}: {', '.join(missing)}; names are as api/fit.html")
    chromium, wrong = Chromium(), []
    try:
        for scheme in ("light", "dark"):
            for kind, width in WIDTHS.items():
                chromium.look_as(width, scheme)
                for page in pages:
                    wrong += [f"{page} ({kind}, {scheme}): {one}" for one in _looked_at(chromium, page, kind, scheme)]
        chromium.look_as(WIDTHS["wide"], "light")
        wrong += _searched(chromium)
    finally:
        chromium.close()
    for kind in WIDTHS:
        for scheme in ("light", "dark"):
            _sheets(kind, scheme, pages)
    print(f"{len(pages)} pages looked at: {LOOK}")
    if wrong:
        raise SystemExit("\n".join(wrong))


def _looked_at(chromium: Chromium, page: str, kind: str, scheme: str) -> list[str]:
    """What is wrong with a page."""
    chromium.open(f"file://{HTML / page}")
    width = WIDTHS[kind]
    wide = int(chromium.value("document.documentElement.scrollWidth"))
    chromium.picture(LOOK / f"{kind}-{scheme}" / f"{page.removesuffix('.html')}.png", width)
    others = sorted({url for url in chromium.requested if not url.startswith(("file:", "data:", "blob:"))})
    found = [f"asks {url}" for url in others] + chromium.errors
    if kind == "wide":
        found += [f"cuts off its code: {line}" for line in chromium.value(CUT)]
    return found + ([f"is {wide} pixels wide, the window {width}"] if wide > width else [])


def _searched(chromium: Chromium) -> list[str]:
    """The search works from disk, without a network, and puts the page that answers first."""
    wrong = []
    for words, page in FIRST.items():
        chromium.open(f"file://{HTML}/search.html?q={words}")
        found = (
            "new Promise(done => { let n = 0; const look = () => { const hits = document.querySelectorAll("
            "'ul.search li a'); (hits.length || n++ > 60) ? done(hits.length ? hits[0].getAttribute('href') : '') : "
            "setTimeout(look, 100) }; look() })"
        )
        first = str(chromium.value(found)).partition("?")[0].partition("#")[0]
        if first != f"{page}.html":
            wrong.append(f"the search for {words!r} puts {first or 'nothing'} first, not {page}.html")
    return wrong


def _sheets(kind: str, scheme: str, pages: list[str]) -> None:
    """Contact sheets: the first screen or two of each page, side by side."""
    columns, width = SHEET[kind]
    height = width * 5 // 4 if kind == "wide" else width * 2
    files = [LOOK / f"{kind}-{scheme}" / f"{page.removesuffix('.html')}.png" for page in pages]
    files = [file for file in files if file.exists()]
    for number, first in enumerate(range(0, len(files), columns * 4)):
        some = files[first : first + columns * 4]
        sheet = Image.new("RGB", (columns * (width + 8), -(-len(some) // columns) * (height + 22)), "#888")
        draw = ImageDraw.Draw(sheet)
        for k, file in enumerate(some):
            with Image.open(file) as shot:
                small = shot.convert("RGB").resize((width, max(1, shot.height * width // shot.width)))
            at = (k % columns * (width + 8), k // columns * (height + 22))
            sheet.paste(small.crop((0, 0, width, height)), (at[0], at[1] + 14))
            draw.text(at, str(file.relative_to(LOOK / f"{kind}-{scheme}"))[: width // 6], fill="white")
        sheet.save(LOOK / f"sheet-{kind}-{scheme}-{number}.png")


if __name__ == "__main__":
    main()
