"""`fewsolves ledger`: look into the ledger of a run, check it, take its evaluations out, put history in."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, TextIO

import click

from fewsolves._internal.files import check_regular
from fewsolves._internal.text import clean, csv_cell
from fewsolves.errors import InputError

EXPORTED = ("example", "phase", "run", "status")  # the first columns of an export
ENCODED = "encoded"
LISTED_ITEMS = 20  # that are not compared
PLACE = click.Path(path_type=Path, exists=True)


@click.group(short_help="Show, verify, export or import paid evaluations.")
def ledger() -> None:
    """Show, verify, export or import paid evaluations."""


@ledger.command()
@click.argument("folder", type=PLACE)
def show(folder: Path) -> None:
    """Count recorded calls by run and phase; list failures."""
    from fewsolves.ledger.reading import open_to_read, summary

    file = open_to_read(folder)
    found = summary(file)
    file.close()
    name, rows, n_y = (clean(str(found["meta"].get(name, "?")), 200) for name in ("problem", "rows", "n_y"))
    click.echo(f"problem {name!r}, {rows} rows, n_y = {n_y}")
    for number, about, began in found["runs"]:
        click.echo(
            f"run {clean(str(number), 40)}: {clean(_run_description(about), 200)}, begun {clean(str(began), 60)}"
        )
        mine = {key[1:]: n for key, n in found["counts"].items() if key[0] == number}
        for kind in ("solve", "cost"):
            phases: Counter[str] = Counter()
            for (this, phase, status), n in mine.items():
                if this == kind:
                    phases[str(phase) if status == "ok" else f"{phase}, {status}"] += n
            listed = " · ".join(f"{clean(name, 60)} {n:,}" for name, n in sorted(phases.items()))
            click.echo(f"  {kind:5s} {sum(phases.values()):9,}   {listed}")
    click.echo(f"{found['seconds']:,.1f} seconds inside the solver")
    for failure in found["failures"]:
        row, kind, status, message = (clean(str(one), 200) for one in failure.values())
        click.echo(f"  row {row}: {kind} {status}: {message}")
    if found["not_followed"]:
        items, more = found["not_followed"][:LISTED_ITEMS], len(found["not_followed"]) - LISTED_ITEMS
        listed = ", ".join(clean(item, 100) for item in items) + f" and {more} more" * (more > 0)
        click.echo(f"not compared when a run is started again, because it cannot be inspected: {listed}")


def _run_description(about: Any) -> str:
    """The description of a run, cleaned: a ledger may hold any text."""
    try:
        facts = dict(json.loads(about))
    except (ValueError, TypeError, RecursionError):
        return "of a kind that cannot be read"
    return "imported" if facts.get("imported") else f"{facts.get('method', '?')}, seed {facts.get('seed', '?')}"


@ledger.command(short_help="Check every row against its checksum.")
@click.argument("folder", type=PLACE)
def verify(folder: Path) -> None:
    """Check every row against its checksum; the exit code is 1 if something is damaged."""
    from fewsolves.ledger.reading import open_to_read
    from fewsolves.ledger.reading import verify as check

    file = open_to_read(folder)
    found = check(file)
    file.close()
    if not found.damaged and found.fault is None:
        click.echo(f"{found.rows:,} rows, all intact")
        return
    if found.fault is not None:
        click.echo(f"SQLite finds the file damaged: {clean(found.fault)}")
    click.echo(f"{found.rows:,} rows, {len(found.damaged):,} damaged: {', '.join(map(str, found.damaged[:20]))}")
    click.echo("a run with this folder skips these and pays for them again")
    raise click.exceptions.Exit(1)


@ledger.command()
@click.argument("folder", type=PLACE)
@click.option("--out", type=click.Path(path_type=Path), help="The file to write.  [default: the terminal]")
def export(folder: Path, out: Path | None) -> None:
    """Write all evaluations as CSV."""
    from fewsolves.ledger.reading import open_to_read

    file = open_to_read(folder)
    try:
        if out is None:
            _write(sys.stdout, file)
        elif out.exists() and any(out.samefile(one) for one in folder.glob("ledger.*")):
            raise InputError(f"{out} is a part of the ledger, which is not overwritten; give another file")
        else:
            with out.open("w", newline="") as stream:
                click.echo(f"wrote {_write(stream, file):,} evaluations to {out}")
    except OSError as error:
        if out is None:
            raise  # of the terminal, or of a program that has ended
        raise InputError(f"{clean(str(out), 300)} cannot be written: {error.strerror}; give another file") from error
    finally:
        file.close()


@ledger.command(name="import", short_help="Add what was paid elsewhere, from CSV or NPZ.")
@click.argument("folder", type=PLACE)
@click.argument("history", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def import_(folder: Path, history: Path) -> None:
    """Add evaluations that were paid elsewhere, from a CSV or NPZ file, to the ledger of FOLDER.

    CSV: what `ledger export` writes, or columns row, y_hat_0.., z_0.., cost. NPZ: arrays row (N,), y_hat (N, n_y),
    decision (N, ..), cost (N,).
    """
    from fewsolves.ledger.reading import import_into

    evaluations = _read_npz(history) if history.suffix == ".npz" else _read_csv(history)
    click.echo(f"{import_into(folder, **evaluations):,} new evaluations")


def _write(stream: TextIO, file: Any) -> int:
    from fewsolves.ledger.reading import Evaluation, evaluations

    """The columns of `Evaluation`; arrays are JSON, and other decisions are an object with their text."""
    writer, written = csv.writer(stream), 0
    writer.writerow(Evaluation._fields)
    for one in evaluations(file):
        writer.writerow([_cell(value) for value in one._replace(decision=_decision_cell(one.decision))])
        written += 1
    return written


def _decision_cell(z: Any) -> Any:
    from fewsolves.execution.encoding import encode

    if z is None or hasattr(z, "dtype"):
        return z
    return json.dumps({ENCODED: json.loads(encode(z))})


def _decision(cell: str) -> Any:
    """The decision of a cell that `_decision_cell` wrote."""
    import numpy as np

    from fewsolves.execution.encoding import decode

    parsed = json.loads(cell.removeprefix("'"))
    return decode(json.dumps(parsed[ENCODED]).encode()) if isinstance(parsed, dict) else np.array(parsed)


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return csv_cell(json.dumps(value.tolist()) if hasattr(value, "tolist") else value)


def _read_npz(path: Path) -> dict[str, Any]:
    from fewsolves.tables import npz_arrays

    named = {"rows": "row", "y_hat": "y_hat", "decisions": "decision", "cost": "cost"}
    try:
        check_regular(path)
        arrays = npz_arrays(path)
        return {name: arrays[key] for name, key in named.items()}
    except Exception as error:  # numpy evaluates a header, and any error may come of that
        raise InputError(
            f"{path} is not a history: {error}; it needs the arrays row, y_hat, decision and cost"
        ) from error


def _read_export(header: list[str], lines: list[list[str]]) -> dict[str, Any]:
    """Those of the evaluations that have a cost; the same one may have been made by several runs."""
    import numpy as np

    paid = [
        one for one in (dict(zip(header, line, strict=True)) for line in lines) if one["status"] == "ok" and one["cost"]
    ]
    return {
        "rows": np.array([int(one["example"]) for one in paid], dtype=int),
        "y_hat": np.array([json.loads(one["y_hat"].removeprefix("'")) for one in paid], dtype=float),
        "decisions": [_decision(one["decision"]) for one in paid],
        "cost": np.array([float(one["cost"]) for one in paid]),
    }


def _read_csv(path: Path) -> dict[str, Any]:
    import numpy as np

    try:
        check_regular(path)
        with path.open(newline="") as stream:
            header, *lines = list(csv.reader(stream))
        if len(set(header)) < len(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise ValueError(f"the column {clean(twice, 60)!r} is there twice")
        if header[: len(EXPORTED)] == list(EXPORTED):
            return _read_export(header, lines)
        values = np.array([[float(cell) for cell in line] for line in lines]).reshape(len(lines), len(header))
        columns = {name: values[:, k] for k, name in enumerate(header)}
        numbered = {
            letter: sorted(
                (name for name in columns if name.startswith(letter)), key=lambda name: int(name[len(letter) :])
            )
            for letter in ("y_hat_", "z_")
        }
        y_hat, z = (np.stack([columns[name] for name in names], axis=1) for names in numbered.values())
        rows = columns["row"]
        whole = np.abs(rows) < 2**53
        whole[whole] = rows[whole] == np.rint(rows[whole])
        if not whole.all():
            raise ValueError(f"row {rows[~whole][0]:g} is not a whole number")
        rows = rows.astype(int)
    except (LookupError, TypeError, ValueError, OSError, OverflowError, RecursionError, csv.Error) as error:
        raise InputError(
            f"{path} is not a history: {error}; it needs the columns row, y_hat_0.., z_0.. and cost"
        ) from error
    return {"rows": rows, "y_hat": y_hat, "decisions": z, "cost": columns["cost"]}
