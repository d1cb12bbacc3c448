"""E: input that means harm.

Files from others are refused with a clear error and run no code; names lead nowhere; text from solvers is only text, in
a terminal and in a table. `tests/reporting/test_hostile.py` does the HTML page, `test_banned.py` reads the source.
"""

import io
import json
import os
import pickle
import random
import re
import struct
from hashlib import sha256

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from safetensors.numpy import load, save

import fewsolves as fs
from fewsolves._internal.text import clean, csv_cell
from fewsolves.cli import main
from fewsolves.errors import InputError
from fewsolves.fitting.checkpoint import read_pair
from fewsolves.ledger.sqlite.rows import Call, value_of
from fewsolves.methods.gp_surrogate.gp.blocks import _whole_tiles, triangle_size
from fewsolves.methods.gp_surrogate.surrogate.export import NUMBERS, SETTINGS, _digest
from fewsolves.methods.registry import METHODS
from fewsolves.reporting import read_run
from fewsolves.training.history import EpochRecord, csv_text
from fewsolves.training.progress import Progress
from fewsolves_studies.benchmarks import catalogue as benchmark
from fewsolves_studies.benchmarks import plugin
from problems_of_users import NEWSVENDOR, demand_table


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The two files of a surrogate, as bytes."""
    Y = demand_table(8, 2)[1]
    loss = fs.GPSurrogateLoss(NEWSVENDOR, Y)
    loss.start(torch.as_tensor(Y + 0.5))
    folder = loss.save(tmp_path_factory.mktemp("surrogate"))
    return (folder / SETTINGS).read_bytes(), (folder / NUMBERS).read_bytes()


def put(folder, settings, numbers):
    folder.mkdir(exist_ok=True)
    (folder / SETTINGS).write_bytes(settings)
    (folder / NUMBERS).write_bytes(numbers)
    return folder


def signed(settings, numbers):
    """As an attacker would: the checksum fits what is there."""
    content = json.loads(settings)
    del content["sha256"]
    return json.dumps(content | {"sha256": _digest(content, numbers)}).encode(), numbers


def pair(folder, numbers, content="{}"):
    """Files as `write_pair` writes them, around any bytes."""
    folder.mkdir(exist_ok=True)
    digests = {"sha256": sha256(numbers).hexdigest(), "content_sha256": sha256(content.encode()).hexdigest()}
    (folder / "numbers").write_bytes(numbers)
    (folder / "facts").write_text(json.dumps(digests | {"content": content}))
    return folder / "numbers", folder / "facts"


# E1: pickles


class Bomb:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def by_torch(bomb):
    buffer = io.BytesIO()
    torch.save({"weight": bomb}, buffer)
    return buffer.getvalue()


def by_numpy(bomb):
    buffer = io.BytesIO()
    np.save(buffer, np.array([bomb], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def refused_by_load_surrogate(folder, content, exported):
    for settings, numbers in [(exported[0], content), (content, exported[1]), signed(exported[0], content)]:
        with pytest.raises(InputError, match="cannot be read"):
            fs.load_surrogate(put(folder, settings, numbers))


def refused_by_checkpoints(folder, content, exported):
    numbers, facts = pair(folder, content)
    with pytest.raises(ValueError, match="facts"):
        read_pair(numbers, facts)
    facts.write_bytes(content)
    with pytest.raises(ValueError):
        read_pair(numbers, facts)


def refused_by_load(folder, content, exported):
    folder.mkdir()
    (folder / "model.json").write_bytes(content)
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read"):
        fs.load(folder)


def refused_by_reports(folder, content, exported):
    folder.mkdir()
    (folder / "result.json").write_bytes(content)
    (folder / "history.csv").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read"):
        read_run(folder)


@pytest.mark.parametrize(
    "refused", [refused_by_load_surrogate, refused_by_load, refused_by_checkpoints, refused_by_reports]
)
@pytest.mark.parametrize("write", [pickle.dumps, by_torch, by_numpy], ids=["pickle", "torch", "numpy"])
def test_hostile_a_pickle_is_refused_and_runs_no_code(tmp_path, exported, write, refused):
    bomb = write(Bomb(tmp_path / "ran"))
    refused(tmp_path / "folder", bomb, exported)
    assert not (tmp_path / "ran").exists()


def test_hostile_the_bomb_would_have_gone_off(tmp_path):
    pickle.loads(pickle.dumps(Bomb(tmp_path / "ran")))
    assert (tmp_path / "ran").exists()


# E2: files that lie about themselves


def packed(header, body=b"\0" * 8, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def entry(dtype="F64", shape=(1,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


HEADERS = {
    "empty file": b"",
    "half a length": b"\x10\0\0",
    "endless header": packed({}, length=2**63),
    "header of 99 MB": packed({}, length=99_000_000),
    "header of 2 MB": packed(b" " * (2 << 20) + b"{}"),
    "deep list": packed(b"[" * 100_000),
    "deep object": packed(b'{"a":' * 100_000),
    "not an object": packed([1, 2]),
    "no UTF-8": packed(b"\xff\xfe{}"),
    "endless shape": packed({"points": entry(shape=(2**40, 2**40))}),
    "shape that wraps": packed({"points": entry(shape=(2**63, 2))}),
    "negative shape": packed({"points": entry(shape=(-1,))}),
    "many empty columns": packed({"points": entry(shape=(0, 2**40), offsets=(0, 0))}, b""),
    "overlap": packed({"points": entry(), "targets": entry()}),
    "beyond the end": packed({"points": entry(shape=(2**30,), offsets=(0, 2**33))}),
    "backwards": packed({"points": entry(offsets=(8, 0))}),
    "unknown type": packed({"points": entry(dtype="X99")}),
    "type numpy lacks": packed({"points": entry(dtype="F8_E4M3", shape=(8,))}),
    "wrong names": save({"weight": np.ones(3)}),
}


@pytest.mark.parametrize("numbers", HEADERS.values(), ids=HEADERS)
def test_hostile_a_header_that_lies_is_refused(tmp_path, exported, numbers):
    for files in [(exported[0], numbers), signed(exported[0], numbers)]:
        with pytest.raises(InputError, match="cannot be read as a surrogate"):
            fs.load_surrogate(put(tmp_path, *files))


@pytest.mark.parametrize(
    "numbers", [HEADERS[name] for name in HEADERS if name not in ("many empty columns", "wrong names")]
)
def test_hostile_a_checkpoint_with_a_false_header_is_refused(tmp_path, numbers):
    try:
        read_pair(*pair(tmp_path, numbers))
    except ValueError:
        return
    assert numbers == HEADERS["header of 2 MB"]  # long, and true


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "nonsense", "{} {}", "\ud800"])
def test_hostile_facts_of_a_checkpoint_that_are_not_facts(tmp_path, content):
    numbers, facts = pair(tmp_path, save({"a": np.ones(1)}), content.encode("utf-8", "replace").decode())
    with pytest.raises(ValueError):
        read_pair(numbers, facts)
    facts.write_text(content.encode("utf-8", "replace").decode())
    with pytest.raises(ValueError):
        read_pair(numbers, facts)


def test_hostile_sizes_with_an_overflowing_sum_are_refused(tmp_path, exported):
    numbers = load(exported[1])
    n = numbers["n_points"]
    total = int(n.sum())
    half = [total // 4] * 4
    numbers["factors"] = np.zeros(triangle_size(_whole_tiles(np.array(half))).sum())
    for sizes in ([2**62] * 4 + half, [total + 3, -3], [2**40, total - 2**40]):
        numbers["n_points"] = np.array(sizes + [0] * (len(n) - len(sizes)), dtype=np.int64)
        with pytest.raises(InputError, match="does not fit together"):
            fs.load_surrogate(put(tmp_path, *signed(exported[0], save(numbers))))


@pytest.mark.parametrize("name", ["endless header", "header of 99 MB", "header of 2 MB"])
def test_hostile_a_header_that_is_too_long_is_not_even_parsed(tmp_path, exported, name):
    with pytest.raises(InputError, match="header is too long"):
        fs.load_surrogate(put(tmp_path, exported[0], HEADERS[name]))


@pytest.mark.parametrize(
    "settings", [b"[" * 100_000, b'{"a":' * 100_000, b" " * (2 << 20) + b"{}", b"null", b'"text"', b"\xff"]
)
def test_hostile_settings_that_are_no_settings_are_refused(tmp_path, exported, settings):
    with pytest.raises(InputError, match="cannot be read as a surrogate"):
        fs.load_surrogate(put(tmp_path, settings, exported[1]))


@pytest.mark.parametrize("which", [0, 1], ids=["settings", "numbers"])
def test_hostile_every_cut_and_every_flipped_bit_is_found(tmp_path, exported, which):
    whole = fs.load_surrogate(put(tmp_path, *exported))
    content, choose = exported[which], random.Random(0)
    places = choose.sample(range(len(content)), 60)
    spoiled = [content[:place] for place in places]
    for place in places:
        spoiled.append(content[:place] + bytes([content[place] ^ 1 << choose.randrange(8)]) + content[place + 1 :])
    for other in spoiled:
        files = [*exported]
        files[which] = other
        try:
            loaded = fs.load_surrogate(put(tmp_path, *files))
        except InputError as error:
            assert str(tmp_path) in str(error)
        else:  # another way to write the same, as 1E5 for 1e5
            assert (loaded.mean_r, loaded.std_r, loaded.pessimism) == (whole.mean_r, whole.std_r, whole.pessimism)
            assert which == 0


# E3: rows of a ledger that would fill the memory


@pytest.mark.parametrize(
    "columns",
    [
        {"shape": json.dumps([2**60])},
        {"shape": json.dumps([2**32, 2**32])},
        {"shape": "[-1]"},
        {"shape": "[" * 100_000},
        {"shape": "nonsense"},
        {"shape": "[1e3]"},
        {"shape": json.dumps([1] * 40)},
        {"dtype": "O"},
        {"dtype": "V1000000"},
        {"dtype": "nonsense"},
        {"dtype": "f8,f8"},
        {"dtype": "(1000000,1000000)f8"},
        {"decision": None},
        {"decision": "text"},
        {"status": "paid"},
        {"kind": "shell"},
        {"kind": "cost", "value": float("nan")},
    ],
    ids=lambda columns: " ".join(f"{name}={value!r:.20}" for name, value in columns.items()),
)
def test_hostile_a_row_that_lies_about_its_size_is_no_answer(columns):
    row = {"seq": 1, "run": 1, "kind": "solve", "phase": "online", "row": 0, "k": 0, "key": b"", "status": "ok"}
    decision = {"dtype": "<f8", "shape": "[1]", "decision": b"\0" * 8, "decision_key": b"k" * 16}
    assert value_of(Call(**row | decision)).array() == 0.0
    with pytest.raises(ValueError):
        value_of(Call(**row | decision | columns))


# E4: text from solvers in a terminal

INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
TEXTS = [
    "\x1b[2J\x1b[31mfine",
    "\x1b]0;title\x07",
    "\x1b]8;;https://example.org\x07click\x1b]8;;\x07",
    "\x1b]52;c;cm0gLXJm\x07",
    "\x9b31mfine\x9b0m",
    "invoice\u202efdp.exe",
    "\u2066a\u2069\u200b\ufeff",
    "one\rtwo\x08\x08\x08three",
    "\x00\x07\x1bPq#0;2\x1b\\",
    "[bold red]markup[/bold red] [link=https://example.org]x[/link]",
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_hostile_an_error_of_the_solver_is_plain_text_on_the_command_line(tmp_path, monkeypatch, text):
    def solve(y_hat):
        raise RuntimeError(text)

    hostile = benchmark.load("toy-64", n=20)
    problem = fs.Problem(solve=solve, cost=lambda y, z: 0.0, name=text)
    object.__setattr__(hostile, "problem", problem)
    monkeypatch.setattr(plugin, "load", lambda *args, **options: hostile)
    done = CliRunner().invoke(main, ["train", "--benchmark", "toy-64", "--method", "pfl", "--out", str(tmp_path / "x")])
    assert done.exit_code == 1
    assert "RuntimeError" in done.output
    assert not INVISIBLE.search(done.output)
    shown = CliRunner().invoke(main, ["ledger", "show", str(tmp_path / "x")])
    assert shown.exit_code == 0, shown.output
    assert not INVISIBLE.search(shown.output)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_hostile_the_live_line_is_plain_text(monkeypatch, text):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "300")
    plain = fs.DecisionRegressor(NEWSVENDOR, method="pfl", settings={"start_epochs": 2}, verbose=False)
    (record, *_) = plain.fit(*demand_table(20)).history_
    with Progress(text) as progress:
        progress(record)
    shown = screen.getvalue()
    own = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)  # what moves the cursor is rich's
    assert not INVISIBLE.search(own.replace("\r", ""))
    assert "\x1b[31m" not in shown and "\x1b[1" not in shown.replace("\x1b[1A", "")
    assert clean(text).split(" ")[0] in own


# E5: names

NAMES = [
    "../../x", "..", ".", "/etc/passwd", "//host/share", "C:\\x", "..\\..\\x", "a/b", "a\\b", "~", "~root", "-rf",
    "$HOME", "`id`", "$(id)", ";id", "|id", "x\x00y", "\n", "", " ", "CON", "NUL.txt", "x" * 5000, "\u0440fl",
    "sfge\u200b", "\uff0e\uff0e/x", "%2e%2e%2f", "....//", "x\u202ey", "\ud800", "file:///etc/passwd", "pfl/../../x",
    "sfge\x00.py", "*", "?", "'", '"', "<script>", "kp-weights/../x",
]  # fmt: skip


def everything(folder):
    return sorted(str(path) for path in folder.rglob("*"))


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_hostile_a_name_is_looked_up_and_never_a_path(tmp_path, monkeypatch, name):
    inside = tmp_path / "a/b/c"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    before = everything(tmp_path)
    for arguments in (
        ["train", "--method", "pfl", f"--benchmark={name}"],
        ["train", "--benchmark", "toy-64", f"--method={name}"],
        ["demo", f"--benchmark={name}"],
    ):
        done = CliRunner().invoke(main, [*arguments, "--out", "out"])
        assert done.exit_code != 0
        assert not isinstance(done.exception, (OSError, UnicodeError)), "it was looked up, not opened"
        assert not INVISIBLE.search(done.output)
    assert everything(tmp_path) == before


def test_hostile_names_that_become_folders_are_plain():
    for name in (*METHODS, *benchmark.NAMES):
        assert re.fullmatch(r"[a-z0-9][a-z0-9+-]{0,63}", name)


@pytest.mark.parametrize("link", ["report.html", f".report.html.{os.getpid()}.part"], ids=["report", "draft"])
def test_hostile_a_report_is_not_written_through_a_link(tmp_path, link):
    run, victim = tmp_path / "run", tmp_path / "victim"
    victim.write_text("mine")
    done = CliRunner().invoke(
        main,
        [
            "train",
            "--benchmark",
            "toy-64",
            "--method",
            "pfl",
            "--data",
            "n=20",
            "--set",
            "start_epochs=1",
            "--out",
            str(run),
        ],
    )
    assert done.exit_code == 0, done.output
    result = json.loads((run / "result.json").read_text()) | {"benchmark": "../../x", "method": "/etc/passwd"}
    (run / "result.json").write_text(json.dumps(result))
    before = {*everything(tmp_path), str(run / "report.html")}
    (run / link).symlink_to(victim)
    done = CliRunner().invoke(main, ["report", str(run)])
    assert done.exit_code == 0, done.output
    assert victim.read_text() == "mine"
    assert not (run / "report.html").is_symlink()
    assert {*everything(tmp_path)} == before


# E7: tables


@pytest.mark.parametrize("text", ["=cmd()", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\uff1d1", "|cmd"])
def test_hostile_text_that_looks_like_a_formula_is_not_one_in_a_table(text):
    assert csv_cell(text) == f"'{text}"
    record = EpochRecord(
        stage=text, epoch=1, train_loss=-1.5, validation_regret=None, validation_error=None, trusted=None, seconds=0.0,
        solver_seconds=0.0,
    )  # fmt: skip
    line = csv_text([record]).split("\n", 1)[1]
    assert line.lstrip('"').startswith("'")
    assert ",-1.5," in line  # a number stays one


@pytest.mark.parametrize("value", ["fine", "a=b", "", "x-1", -1.5, 3, None, float("-inf")])
def test_hostile_everything_else_is_left_alone(value):
    assert csv_cell(value) is value
