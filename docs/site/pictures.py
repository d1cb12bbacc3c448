"""The picture of docs/results.md: `python docs/site/pictures.py` draws the four figures of `fs.plot` side by side.

The runs are those of that page, so that the picture shows what its code gives.
"""

from __future__ import annotations

import io
import re
import tempfile
from contextlib import chdir

from PIL import Image

import fewsolves as fs
from pages import ROOT

PAGE, PICTURE = ROOT / "docs" / "results.md", ROOT / "docs" / "pictures" / "figures.png"
BLOCK = re.compile(r"^(?:```python|<!-- invisible-code-block: python)\n(.*?)^(?:```|-->)$", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Run the page, draw, and put the figures into one file."""
    made: dict[str, fs.DecisionRegressor] = {}
    with tempfile.TemporaryDirectory() as empty, chdir(empty):
        for block in BLOCK.findall(PAGE.read_text()):
            exec(block, made)
    model, other = made["model"], made["other"]
    figures = [
        fs.plot.training(model),
        fs.plot.frontier([model, other]),
        fs.plot.calibration(model),
        fs.plot.landscape(model, solves=41),
    ]
    shots = [_drawn(figure) for figure in figures]
    width, height = (max(shot.size[k] for shot in shots) for k in (0, 1))
    sheet = Image.new("RGB", (2 * width, 2 * height), "white")
    for k, shot in enumerate(shots):
        sheet.paste(shot, (k % 2 * width + (width - shot.width) // 2, k // 2 * height + (height - shot.height) // 2))
    PICTURE.parent.mkdir(exist_ok=True)
    sheet.quantize(64).save(PICTURE, optimize=True)


def _drawn(figure) -> Image.Image:  # type: ignore[no-untyped-def]
    file = io.BytesIO()
    figure.savefig(file, dpi=110, format="png", bbox_inches="tight", pad_inches=0.25, facecolor="white")
    shot = Image.open(file).convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", shot.size, "white"), shot).convert("RGB")


if __name__ == "__main__":
    main()
