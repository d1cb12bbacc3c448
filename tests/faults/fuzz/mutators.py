"""Changes of files with JSON inside that leave it JSON, so that what is behind the parser is reached; so with SQLite.

libFuzzer changes bytes, and nearly all of what comes of a JSON text is none. Here one value of it is replaced by an odd
one, by another one of the same text, or left out; in a ledger, cells of its tables, and in a CSV file, its entries.
Half of the ledgers get new checksums, so that what is behind these is reached: an attacker can write them too.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import sqlite3
from collections.abc import Callable
from typing import Any

from fewsolves.ledger.shared import ANSWER_COLUMNS
from fewsolves.ledger.sqlite.file import _COLUMNS
from fewsolves.ledger.sqlite.migrate import seal
from fewsolves.ledger.sqlite.rows import PAID, Call, checksum

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2, 1.5, 1e-320, 1e308, -1e308, 10**30, 10**400, math.nan, math.inf, -math.inf),
    *("", "x", "nan", "1e400", "\x1b[31m", "<b>", "\ud800", "9" * 60, [], {}, [[]], [None], [1, "x"], {"": 0}),
)
CELLS = (*(one for one in ODD if isinstance(one, str | float | None)), 0, -1, 2**63 - 1, -(2**63), "[]", "{}")
ENTRIES = (
    *(b"", b" ", b"nan", b"inf", b"-inf", b"1e400", b"-1", b"1e308", b"0x1", b"1_000", b"True", b"*", b'"', b'""'),
    *(b"9" * 400, b"\x1b[31m", b"\xff", "\u0661".encode(), b"2026-01-01", b"2026-13-01T25:00", b"=1+1", b"\r", b"\0"),
)
Change = Callable[[bytes, random.Random], bytes]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """All (container, key) below a value."""
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    found = [(value, key) for key in keys]
    for key in keys:
        if isinstance(value[key], dict | list):
            found += _places(value[key])
    return found


def changed_text(text: bytes, chance: random.Random) -> bytes:
    """A JSON text with one to three of its values changed; ValueError where it is none, or has no values."""
    value = json.loads(text)
    for _ in range(chance.randint(1, 3)):
        places = _places(value) if isinstance(value, dict | list) else []
        if not places:
            raise ValueError("nothing to change")
        (container, key), (other, name) = chance.choice(places), chance.choice(places)
        if chance.random() < 0.1:
            del container[key]
        else:
            put = json.loads(json.dumps(other[name])) if chance.random() < 0.2 else chance.choice(ODD)
            container[key] = put
    return json.dumps(value).encode()


def changed_pair(data: bytes, chance: random.Random) -> bytes:
    """A pair as `targets` takes it apart, with the header of its arrays or its facts changed."""
    length = int.from_bytes(data[:2], "little")
    packed, text = data[2 : 2 + length], data[2 + length :]
    if chance.random() < 0.5:
        end = 8 + int.from_bytes(packed[:8], "little")
        header = changed_text(packed[8:end], chance)
        packed = len(header).to_bytes(8, "little") + header + packed[end:]
    else:
        text = changed_text(text, chance)
    return min(len(packed), 65535).to_bytes(2, "little") + packed + text


def changed_database(data: bytes, chance: random.Random) -> bytes:
    """A database of SQLite with one to three of its cells changed."""
    with contextlib.closing(sqlite3.connect(":memory:")) as file:
        file.deserialize(data)
        tables = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        for _ in range(chance.randint(1, 3)):
            table = chance.choice(tables)
            columns = [row[1] for row in file.execute(f'PRAGMA table_info("{table}")')]
            rows = [row for (row,) in file.execute(f'SELECT rowid FROM "{table}"')]
            put = chance.choice([*CELLS, chance.randbytes(chance.randint(0, 40))])
            with contextlib.suppress(sqlite3.Error):  # a constraint of the table
                change = f'UPDATE "{table}" SET "{chance.choice(columns)}" = ? WHERE rowid = ?'
                file.execute(change, (put, chance.choice(rows)))
        if chance.random() < 0.5:
            with contextlib.suppress(sqlite3.Error, ValueError, TypeError):
                (sign_ledger if "calls" in tables else sign_answers)(file)
        file.commit()
        return file.serialize()


def sign_ledger(file: sqlite3.Connection) -> None:
    """New checksums of all calls, and of the description."""
    rows = file.execute(f"SELECT {_COLUMNS} FROM calls").fetchall()
    signed = [(checksum(Call(*row[:-1])), row[0]) for row in rows]
    file.executemany("UPDATE calls SET checksum = ? WHERE seq = ?", signed)
    seal(file)


def sign_answers(file: sqlite3.Connection) -> None:
    """New checksums of all remembered answers of the first problem."""
    for row in file.execute(f"SELECT {', '.join(ANSWER_COLUMNS)} FROM answers").fetchall():
        columns = dict(zip(ANSWER_COLUMNS, row, strict=True))
        kind = "solve" if columns["value"] is None else "cost"
        call = Call(0, 1, kind, "online", 0, 0, status=PAID, **{"solve": None, **columns})
        file.execute("UPDATE answers SET checksum = ? WHERE key = ?", (checksum(call), columns["key"]))


def changed_table(data: bytes, chance: random.Random) -> bytes:
    """A CSV text with one to three of its entries or lines changed."""
    lines = [line.split(b",") for line in data.split(b"\n")]
    for _ in range(chance.randint(1, 3)):
        line = chance.choice(lines)
        what = chance.random()
        if what < 0.1:
            lines.insert(chance.randrange(len(lines) + 1), list(line))
        elif what < 0.2:
            line.insert(chance.randrange(len(line) + 1), chance.choice(line))
        else:
            line[chance.randrange(len(line))] = chance.choice([*ENTRIES, chance.choice(chance.choice(lines))])
    return b"\n".join(b",".join(line) for line in lines)


CHANGES: dict[str, Change] = {
    "ledger": changed_database,
    "answers": changed_database,
    "result": changed_text,
    "model": changed_pair,
    "checkpoint": changed_pair,
    "history": changed_table,
    "csv_table": changed_table,
}


def changed_bytes(data: bytes, chance: random.Random) -> bytes:
    """Some bytes replaced, left out or doubled, wherever they are."""
    found = bytearray(data or b"{")
    for _ in range(chance.randint(1, 6)):
        at, length = chance.randrange(len(found)), chance.randint(1, 8)
        put = (chance.randbytes(length), b"", found[at : at + length] * 2)
        found[at : at + length] = chance.choice(put)
        found = found or bytearray(b"{")
    return bytes(found)


def mutate(name: str, data: bytes, longest: int, seed: int) -> bytes:
    """For libFuzzer: most of the time a change of values, else one of bytes."""
    chance = random.Random(seed)
    if chance.random() < 0.75:
        with contextlib.suppress(ValueError, LookupError, RecursionError, sqlite3.Error):
            return CHANGES[name](data, chance)[:longest]
    return changed_bytes(data, chance)[:longest]
