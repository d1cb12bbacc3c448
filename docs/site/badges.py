"""The badges of README: `python docs/site/badges.py` draws docs/pictures/*.svg from what the project says of itself.

They are files of the repository, so they load from no other host; `tests/test_site.py` fails where one is not true.
"""

from __future__ import annotations

import re
import tomllib

import fewsolves
from pages import ROOT

FOLDER = ROOT / "docs" / "pictures"
CHARACTER, PAD, HEIGHT = 6.6, 7, 20  # pixels
BLUE, GREEN = "#0b6fb3", "#2f7d32"
BADGE = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" aria-label="{label}: {value}">
<rect width="{width}" height="{height}" rx="3" fill="#555"/>
<rect x="{left}" width="{right}" height="{height}" rx="3" fill="{colour}"/>
<rect x="{left}" width="4" height="{height}" fill="{colour}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{pad}" y="14">{label}</text>
<text x="{start}" y="14">{value}</text>
</g>
</svg>
"""


def badges() -> dict[str, str]:
    """The pictures by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", one) for one in _classifiers(project)]
    systems = [one.rpartition(" :: ")[2] for one in _classifiers(project) if one.startswith("Operating System")]
    strict = "mypy --strict" if project["tool"]["mypy"]["strict"] else "mypy"
    return {
        "version": _drawn("version", fewsolves.__version__, BLUE),
        "python": _drawn("Python", " | ".join(match[1] for match in found if match), BLUE),
        "platform": _drawn("platform", ", ".join(systems), BLUE),
        "types": _drawn("types", strict, GREEN),
        "licence": _drawn("licence", project["project"]["license"], GREEN),
    }


def _classifiers(project: dict[str, dict[str, list[str]]]) -> list[str]:
    return project["project"]["classifiers"]


def _drawn(label: str, value: str, colour: str) -> str:
    left, right = (round(CHARACTER * len(text)) + 2 * PAD for text in (label, value))
    sizes = {"width": left + right, "height": HEIGHT, "left": left, "right": right, "pad": PAD, "start": left + PAD}
    return BADGE.format(label=label, value=value, colour=colour, **sizes)


if __name__ == "__main__":
    for name, picture in badges().items():
        (FOLDER / f"{name}.svg").write_text(picture)
