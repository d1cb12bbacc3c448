"""A figure as text for a page, or as a file: the same figure gives the same bytes."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from xml.etree import ElementTree as Xml

import matplotlib
from matplotlib.figure import Figure

from fewsolves._internal.text import clean
from fewsolves.errors import InputError
from fewsolves.reporting.figures.canvas import ThemedFigure, house_style, png
from fewsolves.reporting.looks import GRID, INK, MUTED, PAPER

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
_TONES = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper"}
_FONTS = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"


def svg(figure: Figure, *, label: str = "", values: Mapping[str, str] = MappingProxyType({})) -> str:
    """An `<svg>` element to put into HTML: real text, unique ids, no metadata; `label` is read to who cannot see it.

    `values` are texts by the gid of an artist, which a browser shows where the pointer rests on it.
    """
    root = Xml.fromstring(_render(figure, "none"))  # our own renderer's output; the parser drops its comments
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    themed = isinstance(figure, ThemedFigure)
    prefix = "f" + hashlib.sha256(Xml.tostring(root) + label.encode("utf-8", "replace")).hexdigest()[:10]
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', Xml.tostring(root, encoding="unicode")))
    for element in list(root.iter()):
        if (value := values.get(element.attrib.get("id", ""))) is not None:
            title = Xml.Element(f"{{{_SVG}}}title")
            title.text = clean(value)
            element.insert(0, title)
    for element in root.iter():
        _localise(element, prefix, used, themed)
    for name in ("width", "height"):  # the page decides, the viewBox keeps the proportions
        root.attrib.pop(name, None)
    root.attrib["style"] = f"--points: {72 * figure.get_figwidth():g}"
    root.attrib |= {"xmlns": _SVG, "stroke-linejoin": "round", "role": "img", "aria-label": clean(label)}
    return Xml.tostring(root, encoding="unicode")


def save(figure: Figure, path: str | Path) -> Path:
    """Write the figure as .svg (letters as outlines: looks the same everywhere) or .png (on white, 200 dpi)."""
    path = Path(path)
    if path.suffix == ".svg":
        path.write_text(_render(figure, "path"), encoding="utf-8", newline="\n")
    elif path.suffix == ".png":
        path.write_bytes(png(figure))
    else:
        raise InputError(f"figures are saved as .svg or .png, got {path.name!r}")
    return path


@house_style
def _render(figure: Figure, letters: str) -> str:
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": letters}):
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA)
    return buffer.getvalue()


def _localise(element: Xml.Element, prefix: str, used: set[str], themed: bool) -> None:
    """Ids of their own for each figure of a page, links only within it, tones that follow the page."""
    attributes = element.attrib
    link = attributes.pop(f"{{{_XLINK}}}href", attributes.pop("href", ""))
    if link.startswith("#"):
        attributes["href"] = f"#{prefix}-{link[1:]}"
    elif link.startswith("data:image/png;base64,"):
        attributes["href"] = link
    name = attributes.pop("id", "")
    if name in used:
        attributes["id"] = f"{prefix}-{name}"
    for key in ("clip-path", "style", "fill", "stroke"):
        if key in attributes:
            value = attributes[key].replace("url(#", f"url(#{prefix}-")
            if themed:
                for tone, variable in _TONES.items():
                    value = value.replace(tone, f"var(--{variable}, {tone})")
                value = re.sub(r"font-family: [^;]*", f"font-family: {_FONTS}", value)
            attributes[key] = value
    if "d" in attributes:
        attributes["d"] = " ".join(attributes["d"].split())
    element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    element.text = element.text if (element.text or "").strip() else None
    element.tail = element.tail if (element.tail or "").strip() else None
