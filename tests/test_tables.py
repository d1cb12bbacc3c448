import contextlib
import os
import shutil
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

import fewsolves as fs
from fewsolves import tables
from fewsolves.errors import InputError
from fewsolves.tables import read_table

pytestmark = pytest.mark.portable

CORPUS = Path(__file__).parent / "faults" / "fuzz" / "corpus" / "parquet_table"
TEXT = "day,temp,demand_a,demand_b,site\n2026-01-01,3.5,10,20,north\n2026-01-02,-1,11,,south\n"


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text(TEXT)
    return file


def parquet_of(path):
    import pyarrow.csv
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.csv.read_csv(path), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def test_tables_columns_are_chosen_by_names_and_patterns_each_once(path):
    table = read_table(path)
    assert len(table) == 2
    assert table.names("temp, demand_*,demand_a") == ["temp", "demand_a", "demand_b"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_tables_csv_and_parquet_say_the_same(path, form):
    table = read_table(path if form == "csv" else parquet_of(path))
    assert np.array_equal(table.matrix(["temp", "demand_a"]), [[3.5, 10.0], [-1.0, 11.0]])
    assert table.records(["site", "demand_a"]) == [{"site": "north", "demand_a": 10}, {"site": "south", "demand_a": 11}]
    with pytest.raises(fs.InputError, match="column 'demand_b' has no finite number in row 1; drop or fill"):
        table.matrix(["temp", "demand_b"])
    with pytest.raises(fs.InputError, match="column 'site' has no number in row 0, but 'north'; give numbers"):
        table.matrix(["site"])


def test_tables_npz_has_columns_and_matrices(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.arange(6.0).reshape(3, 2), demand=np.arange(3))
    table = read_table(tmp_path / "t.npz")
    assert np.array_equal(table.matrix(table.names("X,demand")), [[0, 1, 0], [2, 3, 1], [4, 5, 2]])


def test_tables_npz_is_never_unpickled(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.array([{}, {}], dtype=object))
    with pytest.raises(fs.InputError, match="without unpickling"):
        read_table(tmp_path / "t.npz")


def test_tables_an_unknown_column_is_answered_with_those_that_are_near(path):
    with pytest.raises(fs.InputError, match="no column 'demnd_a'; it has 'demand_a', 'demand_b'"):
        read_table(path).names("demnd_a")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no rows"),
        ("a,b\n", "has no rows"),
        ("a,a\n1,2\n", "two columns are named 'a'"),
        ("a,\n1,2\n", "a column has no name"),
        ("a,b\n1,2\n3\n", "row 1 has 1 entries, the header has 2"),
    ],
)
def test_tables_a_csv_that_is_not_whole_is_refused(text, says, path):
    path.write_text(text)
    with pytest.raises(fs.InputError, match=says):
        read_table(path)


def test_tables_a_header_of_many_columns_is_read_in_no_time(path):
    names = [f"x{k}" for k in range(50_000)]
    path.write_text(f"{','.join(names)}\n{','.join('1' for _ in names)}\n")
    began = time.perf_counter()
    assert len(read_table(path).columns) == len(names)
    assert time.perf_counter() - began < 10, "names were compared with each other"


def test_tables_files_that_are_missing_broken_or_unknown_are_named(tmp_path):
    for name in ("t.csv", "t.parquet", "t.npz"):
        with pytest.raises(fs.InputError, match="cannot be read"):
            read_table(tmp_path / name)
        (tmp_path / name).write_bytes(b"\xff\xfe\x00 no table")
        with pytest.raises(fs.InputError, match="cannot be read"):
            read_table(tmp_path / name)
    with pytest.raises(fs.InputError, match=r"ends in \.csv, \.parquet, \.npz"):
        read_table(tmp_path / "t.xlsx")


def test_tables_arrays_of_two_lengths_and_single_numbers_are_refused(tmp_path):
    np.savez(tmp_path / "t.npz", a=np.zeros(2), b=np.zeros(3))
    with pytest.raises(fs.InputError, match="'a' has 2 rows, 'b' has 3 rows"):
        read_table(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", a=np.zeros(()))
    with pytest.raises(fs.InputError, match="'a' is a single number"):
        read_table(tmp_path / "t.npz")


def test_tables_rows_are_ordered_by_numbers_dates_and_times(tmp_path):
    path = tmp_path / "t.csv"
    rows = ["n,date,time", "3,2026-01-10,2026-01-10 08:30", "1,2025-12-31,2026-01-10T08:29", "2,2026-01-09,2025-01-01"]
    path.write_text("\n".join(rows))
    table = read_table(path)
    assert table.order("n").tolist() == [1, 2, 0]
    assert table.order("date").tolist() == [1, 2, 0]
    assert table.order("time").tolist() == [2, 1, 0]
    assert read_table(parquet_of(path)).order("date").tolist() == [1, 2, 0]


def test_tables_a_time_that_is_missing_is_reported(path):
    with pytest.raises(fs.InputError, match="column 'demand_b' has no time in row 1"):
        read_table(path).order("demand_b")
    with pytest.raises(fs.InputError, match="column 'site' has no time in row 0, but 'north'"):
        read_table(path).order("site")


def test_tables_a_pattern_for_one_column_means_one(tmp_path):
    (tmp_path / "t.csv").write_text("lag_1,lag_2,*\n1,2,3\n")
    table = read_table(tmp_path / "t.csv")
    assert table.name("*_1") == "lag_1"
    assert table.order("*").tolist() == [0], "a column is named so"
    with pytest.raises(fs.InputError, match=r"'lag_\*' means 2 columns; name one, such as 'lag_1'"):
        table.name("lag_*")


def test_tables_parquet_text_that_is_none_is_refused(path):
    broken = parquet_of(path)
    broken.write_bytes(broken.read_bytes().replace(b"north", b"n\xd2\x7fth"))
    with pytest.raises(fs.InputError, match=r"table\.parquet cannot be read as Parquet: .*failed"):
        read_table(broken)


def lying(shape):
    """An NPZ file whose array is not as large as it says."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (64 - (11 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(80)


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(10**12,)", "(-1,)", "'a'", "(11,)", "(2,)), }"])
def test_tables_a_header_that_lies_is_refused_before_memory_is_taken(shape, tmp_path):
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("x.npy", lying(shape))
    with pytest.raises(InputError, match="cannot be read"):
        read_table(tmp_path / "t.npz")


def test_tables_a_parquet_file_that_lies_about_its_rows_is_refused_before_memory_is_taken(tmp_path):
    """733 bytes that say they have 50,040,075,901 rows: pyarrow alone takes all memory for them."""
    shutil.copy(CORPUS / "rows-that-lie", tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"says that it has 2 rows, and its groups have 50,040,075,901"):
        read_table(tmp_path / "t.parquet")


def test_tables_a_parquet_file_with_damaged_statistics_does_not_end_the_process(tmp_path):
    shutil.copy(CORPUS / "odd-histogram", tmp_path / "t.parquet")
    with contextlib.suppress(InputError):
        read_table(tmp_path / "t.parquet")


def test_tables_a_parquet_file_with_more_rows_than_memory_is_refused(path, monkeypatch):
    monkeypatch.setattr(tables, "memory_bytes", lambda: 100)
    with pytest.raises(InputError, match=r"rows take \d+ bytes, at most 50 are read"):
        read_table(parquet_of(path))


def test_tables_parquet_of_several_groups_and_of_lists_is_read(tmp_path):
    import pyarrow.parquet

    rows = pyarrow.table({"x": [1.0, 2.0, 3.0], "several": [[1], [], [2, 3]]})
    pyarrow.parquet.write_table(rows, tmp_path / "t.parquet", row_group_size=2)
    assert read_table(tmp_path / "t.parquet").columns["x"].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["t.csv", "t.npz", "t.parquet"])
@pytest.mark.parametrize("device", [None, "/dev/zero"])
def test_tables_pipes_and_devices_are_refused(name, device, tmp_path):
    if device is None:
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).symlink_to(device)
    with pytest.raises(InputError, match="no regular file"):
        read_table(tmp_path / name)
