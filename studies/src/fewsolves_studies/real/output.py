"""The files of a study: table.csv, table.md, frontier and day as SVG and PNG."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from fewsolves_studies.real.cell import Done
from fewsolves_studies.real.study import RealStudy
from fewsolves_studies.real.tables import HEADS, lines, markdown


def write(study: RealStudy, done: Sequence[Done], folder: Path, command: str) -> str:
    """Everything that the runs give; the table as text."""
    from fewsolves.reporting import figures
    from fewsolves_studies.real.figures import frontier

    rows = lines(study, done)
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, HEADS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    sentences = study.sentences(done)
    text = f"# {study.title}\n\n{study.about}\n\nMade by `{command}`.\n\n{markdown(rows)}"
    text += "".join(f"\n- {sentence}" for sentence in sentences) + ("\n" if sentences else "")
    (folder / "table.md").write_text(text, encoding="utf-8")
    drawn = {"frontier": frontier(study, done), "day": study.picture(done)}
    for name, figure in drawn.items():
        if figure is not None:
            figures.save(figure, folder / f"{name}.png")
            figures.save(figure, folder / f"{name}.svg")
    return text
