import csv
import io
import subprocess
import sys
import zipfile

import numpy as np
import pytest

SCRIPT = "fewsolves_studies.measure.leaking_lags"


def write(folder, name, heads, rows):
    text = io.StringIO()
    csv.writer(text).writerows([heads, *rows])
    with zipfile.ZipFile(folder / f"{name}.csv.zip", "w") as archive:
        archive.writestr(f"{name}.csv", text.getvalue())


@pytest.mark.parametrize(
    ("last", "ending"),
    [(1, "20 contain the day itself, 0 end the day before"), (0, "0 contain the day itself, 20 end the day before")],
)
def test_leaking_lags_tells_where_windows_end(tmp_path, last, ending):
    demand = 2.0 ** np.arange(27)  # no two sums are the same
    sums = [demand[max(0, t - 7 + last) : t + last].sum() for t in range(27)]
    write(tmp_path, "yaz_data", ["item", "demand__sum_values_7"], [["soup", one] for one in sums])
    write(tmp_path, "yaz_target", ["demand"], [[one] for one in demand])
    done = subprocess.run([sys.executable, "-m", SCRIPT, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"soup: of 20 sums {ending}", f"all: of 20 sums {ending}"]
